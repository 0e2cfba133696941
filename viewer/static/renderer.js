import DRAW_FRAGMENT from "./draw.frag.glsl";
import DRAW_VERTEX from "./draw.vert.glsl";
import FULLSCREEN_VERTEX from "./fullscreen.vert.glsl";
import PROJECT_FRAGMENT from "./project.frag.glsl";
import RESOLVE_FRAGMENT from "./resolve.frag.glsl";

const ROW = 2048; // splats in a texture row
const BATCH = 1024; // quads an instance draws, as in draw.vert.glsl

export const MODES = { colour: 0, depth: 1, points: 2 };

// Draws splats in three passes: project every splat once (into textures), blend their quads back to front in half floats,
// put the sum over the background. Knows nothing of files, workers or input.
export class Renderer {
  constructor(canvas, { count, degree, reach, background, near, antialiased, eps2d }) {
    const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false, powerPreference: "high-performance" });
    if (!gl) throw new Error("no-webgl2");
    Object.assign(this, { gl, canvas, degree, background, near, antialiased, eps2d });
    this.reach = [...reach, 1, 1, 1].slice(0, 3);
    this.halfFloats = Boolean(gl.getExtension("EXT_color_buffer_float") || gl.getExtension("EXT_color_buffer_half_float"));
    this.rows = Math.max(1, Math.ceil(count / ROW));
    if (this.rows > gl.getParameter(gl.MAX_TEXTURE_SIZE)) throw new Error("This device cannot hold so many splats.");
    this.visible = 0;
    this.range = [near, near * 1000];

    this.project = makeProgram(gl, FULLSCREEN_VERTEX, PROJECT_FRAGMENT);
    this.draw = makeProgram(gl, DRAW_VERTEX, DRAW_FRAGMENT);
    this.resolve = makeProgram(gl, FULLSCREEN_VERTEX, RESOLVE_FRAGMENT);
    const texture = () => makeTexture(gl, gl.RGBA32UI, ROW, this.rows, gl.NEAREST);
    this.geometry = texture();
    this.shape = texture();
    this.rest = Array.from({ length: [0, 1, 2, 3][degree] }, texture);
    this.projected = [texture(), texture()];
    this.projectedTarget = makeTarget(gl, this.projected);
    this.order = makeTexture(gl, gl.R32UI, ROW, this.rows, gl.NEAREST);
    this.empty = gl.createVertexArray();
    this.quads = gl.createVertexArray();
    gl.bindVertexArray(this.quads);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, quadIndices(BATCH), gl.STATIC_DRAW);
    this.picture = null;
  }

  addBlock({ first, count, geometry, shape, rest }) {
    const { gl } = this;
    const upload = (texture, texels) => {
      gl.bindTexture(gl.TEXTURE_2D, texture);
      gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, first / ROW, ROW, Math.ceil(count / ROW), gl.RGBA_INTEGER, gl.UNSIGNED_INT, texels);
    };
    upload(this.geometry, geometry);
    upload(this.shape, shape);
    rest.forEach((texels, i) => upload(this.rest[i], texels));
  }

  // order: splat indices, farthest first, `visible` of them, padded to whole rows. range: depths between which the depth mode
  // spreads its colours.
  setOrder({ order, visible, range }) {
    const { gl } = this;
    this.visible = visible;
    this.range = range;
    gl.bindTexture(gl.TEXTURE_2D, this.order);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, ROW, order.length / ROW, gl.RED_INTEGER, gl.UNSIGNED_INT, order);
  }

  // view: { viewmat [16] row-major world to camera, eye [3], fx, fy, cx, cy } in pixels of the canvas.
  // scale < 1 blends a smaller picture and enlarges it.
  render(view, mode = MODES.colour, scale = 1) {
    const { gl, canvas } = this;
    this.blend(view, mode, scale, null);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, canvas.width, canvas.height);
    const u = this.use(this.resolve);
    this.bind(u.picture, 0, this.picture.texture);
    gl.uniform2f(u.size, canvas.width, canvas.height);
    gl.uniform3fv(u.background, this.background);
    gl.uniform1i(u.mode, mode);
    gl.uniform2f(u.range, this.range[0], Math.max(this.range[1], this.range[0] * 1.01));
    gl.bindVertexArray(this.empty);
    gl.drawArrays(gl.TRIANGLES, 0, 3);
  }

  // Mean depth of what is seen at a canvas pixel (y down), or null where nothing is.
  depthAt(view, x, y) {
    const { gl, canvas } = this;
    if (!this.halfFloats) return null;
    const pixel = [Math.floor(x), canvas.height - 1 - Math.floor(y)];
    this.blend(view, MODES.depth, 1, pixel);
    const sum = new Float32Array(4);
    gl.readPixels(...pixel, 1, 1, gl.RGBA, gl.FLOAT, sum);
    return sum[3] > 0.1 ? sum[0] / sum[1] : null;
  }

  blend(view, mode, scale, onlyPixel) {
    const { gl } = this;
    const width = Math.max(1, Math.round(this.canvas.width * scale));
    const height = Math.max(1, Math.round(this.canvas.height * scale));
    const [sx, sy] = [width / this.canvas.width, height / this.canvas.height];
    this.resizePicture(width, height);

    gl.disable(gl.BLEND);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.projectedTarget);
    gl.viewport(0, 0, ROW, this.rows);
    let u = this.use(this.project);
    this.bind(u.geometry, 0, this.geometry);
    this.bind(u.shape, 1, this.shape);
    for (let i = 0; i < 3; i++) this.bind(u[`rest${i}`], 2 + i, this.rest[i] || this.shape);
    gl.uniformMatrix4fv(u.view, true, view.viewmat);
    gl.uniform3fv(u.eye, view.eye);
    gl.uniform4f(u.lens, view.fx * sx, view.fy * sy, view.cx * sx, view.cy * sy);
    gl.uniform2f(u.size, width, height);
    gl.uniform1f(u.near, this.near);
    gl.uniform1f(u.blur, this.eps2d);
    gl.uniform1i(u.antialiased, this.antialiased ? 1 : 0);
    gl.uniform1i(u.degree, this.degree);
    gl.uniform3fv(u.reach, this.reach);
    gl.uniform1i(u.mode, mode);
    gl.bindVertexArray(this.empty);
    gl.drawArrays(gl.TRIANGLES, 0, 3);

    gl.bindFramebuffer(gl.FRAMEBUFFER, this.picture.target);
    gl.viewport(0, 0, width, height);
    if (onlyPixel) {
      gl.enable(gl.SCISSOR_TEST);
      gl.scissor(...onlyPixel, 1, 1);
    }
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    u = this.use(this.draw);
    this.bind(u.place, 0, this.projected[0]);
    this.bind(u.look, 1, this.projected[1]);
    this.bind(u.order, 2, this.order);
    gl.uniform1i(u.visible, this.visible);
    gl.uniform2f(u.size, width, height);
    gl.bindVertexArray(this.quads);
    gl.drawElementsInstanced(gl.TRIANGLES, 6 * BATCH, gl.UNSIGNED_SHORT, 0, Math.ceil(this.visible / BATCH));
    gl.disable(gl.BLEND);
    gl.disable(gl.SCISSOR_TEST);
  }

  resizePicture(width, height) {
    const { gl } = this;
    if (this.picture && this.picture.width === width && this.picture.height === height) return;
    if (this.picture) {
      gl.deleteFramebuffer(this.picture.target);
      gl.deleteTexture(this.picture.texture);
    }
    const texture = makeTexture(gl, this.halfFloats ? gl.RGBA16F : gl.RGBA8, width, height, gl.LINEAR);
    this.picture = { width, height, texture, target: makeTarget(gl, [texture]) };
  }

  use({ program, uniforms }) {
    this.gl.useProgram(program);
    return uniforms;
  }

  bind(location, unit, texture) {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.uniform1i(location, unit);
  }
}

function makeProgram(gl, vertex, fragment) {
  const program = gl.createProgram();
  for (const [type, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(shader));
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(gl.getProgramInfoLog(program));
  const uniforms = {};
  const count = gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS);
  for (let i = 0; i < count; i++) {
    const { name } = gl.getActiveUniform(program, i);
    uniforms[name] = gl.getUniformLocation(program, name);
  }
  return { program, uniforms };
}

function quadIndices(count) {
  const indices = new Uint16Array(6 * count);
  for (let i = 0; i < count; i++) indices.set([0, 1, 2, 2, 1, 3].map((corner) => 4 * i + corner), 6 * i);
  return indices;
}

function makeTexture(gl, format, width, height, filter) {
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texStorage2D(gl.TEXTURE_2D, 1, format, width, height);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, filter);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, filter);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  return texture;
}

function makeTarget(gl, textures) {
  const target = gl.createFramebuffer();
  gl.bindFramebuffer(gl.FRAMEBUFFER, target);
  const points = textures.map((texture, i) => {
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0 + i, gl.TEXTURE_2D, texture, 0);
    return gl.COLOR_ATTACHMENT0 + i;
  });
  gl.drawBuffers(points);
  return target;
}
