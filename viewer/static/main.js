import { Compare } from "./compare.js";
import { Controls } from "./controls.js";
import { Panel, showMessage } from "./panel.js";
import { readLink, writeLink } from "./permalink.js";
import { Pose, poseAround, upOf } from "./pose.js";
import { MODES, Renderer } from "./renderer.js";
import { Rig } from "./rig.js";
import { Splats } from "./splats.js";

const MAX_PIXEL_RATIO = 2;
const SLOW_MS = 40; // frames longer than this while moving are drawn smaller
const LINK_MS = 250; // the address is written when the view has rested so long: browsers limit how often
const PLAIN_LENS = { fx: 850, fy: 850, cx: 600, cy: 400, width: 1200, height: 800 };

function start() {
  const meta = JSON.parse(document.getElementById("meta").textContent);
  const canvas = document.getElementById("canvas");
  document.body.style.background = `rgb(${meta.background.map((x) => Math.round(255 * x)).join(" ")})`;
  document.body.classList.toggle("bright", meta.background.reduce((sum, x) => sum + x) > 1.8); // dark text over it
  if (typeof DecompressionStream === "undefined") throw new Error("This browser is too old for this page. Any browser of 2023 or later will do.");
  const viewer = new Viewer(canvas, meta);
  viewer.splats.load([...document.querySelectorAll("script.block")]);
  window.sceneloom = viewer.hooks();
}

class Viewer {
  constructor(canvas, meta) {
    Object.assign(this, { canvas, meta, cameras: meta.cameras, camera: -1, shading: MODES.colour });
    this.renderer = new Renderer(canvas, meta);
    this.splats = new Splats(meta);
    this.compare = new Compare(document.getElementById("compare"));
    this.up = upOf(this.cameras);
    this.fixed = null; // { lens, width, height }: an exact picture size, for tests
    this.scale = this.drawnScale = 1;
    this.frames = [];
    this.pending = false;
    this.sortedFor = "";
    this.ready = new Promise((resolve) => (this.nowReady = resolve));

    this.home = this.firstView();
    this.rig = new Rig({
      up: this.up, pose: this.home.pose, lens: this.home.lens, near: meta.near,
      wake: () => this.wake(), onmove: () => this.leaveCamera(), onwalk: () => this.setMode("fly"),
      focus: (x, y) => this.focus(x, y),
    });
    const actions = {
      previous: () => this.step(-1), next: () => this.step(1), strip: () => this.panel.toggleStrip(),
      compare: () => this.toggleCompare(), mode: () => this.setMode(this.rig.mode === "orbit" ? "fly" : "orbit"),
      shading: () => this.shade((this.shading + 1) % 3), reset: () => this.reset(), picture: () => this.savePicture(),
      fullscreen: () => toggleFullscreen(), help: () => this.panel.toggleHelp(),
    };
    this.panel = new Panel({ cameras: this.cameras, actions, choose: (i) => this.goTo(i) });
    this.controls = new Controls(canvas, this.rig);
    this.bindKeys(actions);
    this.splats.onblock = (block) => this.blockArrived(block);
    this.splats.onorder = (order) => {
      this.renderer.setOrder(order);
      this.wake(true);
    };
    this.splats.onerror = (text) => showMessage(`The scene could not be unpacked.\n${text}`);
    addEventListener("resize", () => this.wake(true));
    addEventListener("hashchange", () => this.openLink());
    canvas.addEventListener("webglcontextlost", () => showMessage("The graphics device was lost. Reload the page to go on."));
    if (!this.home.linked && this.cameras.length) this.showCamera(0);
    this.panel.showProgress(0);
    this.wake(true);
  }

  firstView() {
    const linked = readLink(location.hash);
    const lens = this.cameras[0] || PLAIN_LENS;
    const { centre, radius } = this.meta;
    const pose = this.cameras.length
      ? Pose.fromViewmat(this.cameras[0].viewmat, this.distanceAhead(this.cameras[0], radius))
      : poseAround(centre, radius, this.up);
    return linked ? { ...linked, start: { pose, lens }, linked: true } : { pose, lens, start: { pose, lens } };
  }

  // A first guess of what a camera looks at: the depth of the middle of the splats, kept sensible.
  distanceAhead({ viewmat: m }, radius) {
    const c = this.meta.centre;
    const z = m[8] * c[0] + m[9] * c[1] + m[10] * c[2] + m[11];
    return Math.max(z, 0.25 * radius, 4 * this.meta.near);
  }

  blockArrived(block) {
    this.renderer.addBlock(block);
    this.panel.showProgress(this.splats.loaded / this.meta.count);
    this.splats.sort(this.rig.shown.viewmat).then(() => {
      if (this.splats.loaded === this.meta.count && this.nowReady) {
        if (!this.home.linked) this.settleDistance();
        this.linkedPose ??= this.home.start.pose; // the first view needs no link
        this.draw();
        this.nowReady();
        this.nowReady = null;
      }
    });
  }

  // Orbits start around what lies in the middle of the first view.
  settleDistance() {
    const depth = this.renderer.depthAt(this.view(this.rig.shown), this.canvas.width / 2, this.canvas.height / 2);
    if (!depth || this.rig.goal !== this.home.pose) return;
    this.home.start.pose = this.home.pose.withDistance(depth);
    this.rig.jump(this.home.start.pose);
    this.rig.pace = depth;
  }

  // ---- moving

  goTo(index) {
    const camera = this.cameras[index];
    this.rig.travel(Pose.fromViewmat(camera.viewmat, this.distanceAhead(camera, this.meta.radius)), camera);
    this.showCamera(index);
  }

  step(by) {
    const n = this.cameras.length;
    if (n) this.goTo((Math.max(this.camera, by > 0 ? -1 : 0) + by + n) % n);
  }

  showCamera(index) {
    const comparing = this.compare.open;
    this.camera = index;
    this.compare.hide();
    const camera = this.cameras[index];
    this.panel.showCamera(index, Boolean(camera && camera.photo));
    this.panel.showPressed("compare", false);
    if (comparing && camera && camera.photo) this.toggleCompare();
  }

  leaveCamera() {
    if (this.camera >= 0) this.showCamera(-1);
  }

  toggleCompare() {
    const camera = this.cameras[this.camera];
    if (!camera || !camera.photo) return;
    if (this.compare.open) this.compare.hide();
    else this.compare.show(camera, this.rig.windowLens());
    this.panel.showPressed("compare", this.compare.open);
  }

  setMode(mode) {
    if (mode === this.rig.mode) return;
    this.rig.mode = mode;
    this.panel.showPressed("mode", mode === "fly");
    if (mode === "orbit") this.focusAhead();
  }

  // When orbiting begins again: turn around what is in the middle of the view.
  focusAhead() {
    const depth = this.renderer.depthAt(this.view(this.rig.shown), this.canvas.width / 2, this.canvas.height / 2);
    if (depth) this.rig.jump(this.rig.shown.withDistance(depth));
    this.wake(true);
  }

  focus(clientX, clientY) {
    const view = this.view(this.rig.shown);
    const ratio = this.canvas.width / this.canvas.clientWidth;
    const [x, y] = [clientX * ratio, clientY * ratio];
    const depth = this.renderer.depthAt(view, x, y);
    this.wake(true);
    if (!depth) return;
    const [right, down, forward] = this.rig.shown.axes;
    const ray = [((x - view.cx) / view.fx) * depth, ((y - view.cy) / view.fy) * depth, depth];
    const point = [0, 1, 2].map((i) => view.eye[i] + ray[0] * right[i] + ray[1] * down[i] + ray[2] * forward[i]);
    this.setMode("orbit");
    this.leaveCamera();
    this.rig.travel(this.rig.shown.facing(point, this.up));
  }

  reset() {
    const { pose, lens } = this.home.start;
    this.setMode("orbit");
    this.rig.travel(pose, lens);
    this.showCamera(this.cameras.length ? 0 : -1);
  }

  openLink() {
    const linked = readLink(location.hash);
    if (!linked) return;
    this.leaveCamera();
    this.rig.travel(linked.pose, linked.lens);
  }

  shade(mode) {
    this.shading = mode;
    this.wake(true);
  }

  bindKeys(actions) {
    const keys = {
      "[": actions.previous, "]": actions.next, ",": actions.previous, ".": actions.next, l: actions.strip, p: actions.compare,
      m: actions.mode, r: actions.reset, Home: actions.reset, i: actions.picture, f: actions.fullscreen, "?": actions.help,
      1: () => this.shade(MODES.colour), 2: () => this.shade(MODES.depth), 3: () => this.shade(MODES.points),
      "+": () => this.rig.dolly(0.85), "=": () => this.rig.dolly(0.85), "-": () => this.rig.dolly(1 / 0.85),
      c: () => this.focus(this.canvas.clientWidth / 2, this.canvas.clientHeight / 2),
      h: () => document.body.classList.toggle("bare"),
    };
    addEventListener("keydown", (e) => {
      const action = keys[e.key.length === 1 ? e.key.toLowerCase() : e.key];
      if (!action || e.ctrlKey || e.metaKey || e.altKey || (document.getElementById("help").open && e.key !== "?")) return;
      e.preventDefault();
      action();
    });
  }

  // ---- drawing

  // What the renderer needs of a pose, in pixels of the canvas.
  view(pose) {
    if (this.fixed) return { viewmat: this.fixed.viewmat, eye: pose.eye, ...this.fixed.lens };
    const ratio = this.canvas.width / innerWidth;
    const lens = this.rig.windowLens();
    return { viewmat: pose.viewmat, eye: pose.eye, fx: lens.fx * ratio, fy: lens.fy * ratio, cx: lens.cx * ratio, cy: lens.cy * ratio };
  }

  wake(redraw = false) {
    this.redraw ||= redraw;
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame((now) => this.frame(now));
  }

  frame(now) {
    this.pending = false;
    const seconds = this.lastFrame ? Math.min(0.1, (now - this.lastFrame) / 1000) : 1 / 60;
    this.controls.step(seconds);
    const moving = this.rig.step(seconds) || this.controls.active;
    this.measure(now, moving);
    this.requestSort();
    const resized = this.fitCanvas();
    const scale = moving ? this.scale : 1;
    if (moving || this.redraw || resized || this.drawnScale < scale) {
      this.redraw = false;
      this.draw(scale);
    }
    this.lastFrame = moving ? now : 0;
    clearTimeout(this.linkTimer);
    if (moving) this.wake();
    else this.linkTimer = setTimeout(() => this.saveLink(), LINK_MS);
  }

  requestSort() {
    const row = this.rig.shown.viewmat.slice(8, 12).map((x) => x.toPrecision(6)).join();
    if (row === this.sortedFor || this.fixed) return;
    this.sortedFor = row;
    this.splats.sort(this.rig.shown.viewmat);
  }

  draw(scale = 1) {
    this.drawnScale = scale;
    this.renderer.render(this.view(this.rig.shown), this.shading, scale);
    if (this.compare.open && this.camera >= 0) this.compare.show(this.cameras[this.camera], this.rig.windowLens());
  }

  fitCanvas() {
    const ratio = Math.min(devicePixelRatio || 1, MAX_PIXEL_RATIO);
    const [width, height] = this.fixed
      ? [this.fixed.width, this.fixed.height]
      : [Math.max(1, Math.round(innerWidth * ratio)), Math.max(1, Math.round(innerHeight * ratio))];
    if (this.canvas.width === width && this.canvas.height === height) return false;
    this.canvas.width = width;
    this.canvas.height = height;
    return true;
  }

  // Frame rate over the last second of motion; slow devices get fewer pixels until the view rests.
  measure(now, moving) {
    if (!moving) this.frames = [];
    else this.frames.push(now);
    while (this.frames.length && now - this.frames[0] > 1000) this.frames.shift();
    const count = `${this.splats.loaded.toLocaleString("en")} splats`;
    const n = this.frames.length;
    if (n < 3) return this.panel.showStats(count);
    const interval = (now - this.frames[0]) / (n - 1);
    if (n > 4 && interval > SLOW_MS) this.scale = Math.max(0.35, this.scale * 0.85);
    if (n > 4 && interval < SLOW_MS / 2) this.scale = Math.min(1, this.scale * 1.02);
    return this.panel.showStats(`${count}  ·  ${Math.round(1000 / interval)} fps`);
  }

  saveLink() {
    if (this.fixed || this.nowReady || this.rig.goal === this.linkedPose) return;
    this.linkedPose = this.rig.goal;
    history.replaceState(null, "", writeLink(this.rig.goal, this.rig.lens));
  }

  savePicture() {
    this.fitCanvas();
    this.draw();
    this.canvas.toBlob((blob) => {
      const link = document.createElement("a");
      link.download = `${this.meta.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "scene"}.png`;
      link.href = URL.createObjectURL(blob);
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
  }

  // ---- for scripts and tests: window.sceneloom

  hooks() {
    return {
      ready: this.ready,
      meta: this.meta,
      // { viewmat [16] row-major, fx, fy, cx, cy, width, height } draws exactly that picture; null goes back to the window.
      setCamera: (camera) => {
        this.fixed = null;
        if (camera) {
          const { viewmat, fx, fy, cx, cy, width, height } = camera;
          this.fixed = { viewmat: Array.from(viewmat), lens: { fx, fy, cx, cy }, width, height };
          this.rig.jump(Pose.fromViewmat(this.fixed.viewmat, 1), camera);
        }
        this.wake(true);
      },
      // Resolves once the current camera is sorted and drawn.
      renderOnce: async () => {
        await this.splats.sort(this.fixed ? this.fixed.viewmat : this.rig.shown.viewmat);
        this.fitCanvas();
        this.draw();
        this.renderer.gl.finish();
      },
      // { width, height, data: RGBA bytes, top row first } of a fresh drawing.
      readPixels: () => {
        const { gl } = this.renderer;
        this.draw();
        const { width, height } = this.canvas;
        const rows = new Uint8Array(4 * width * height);
        gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, rows);
        const data = new Uint8Array(rows.length);
        for (let y = 0; y < height; y++) data.set(rows.subarray(4 * width * y, 4 * width * (y + 1)), 4 * width * (height - 1 - y));
        return { width, height, data };
      },
      state: () => ({
        viewmat: this.rig.shown.viewmat, distance: this.rig.shown.distance, mode: this.rig.mode, camera: this.camera,
        loaded: this.splats.loaded, still: this.rig.shown === this.rig.goal,
        linked: this.linkedPose === this.rig.goal, width: this.canvas.width, height: this.canvas.height,
      }),
    };
  }
}

function toggleFullscreen() {
  if (document.fullscreenElement) document.exitFullscreen();
  else document.documentElement.requestFullscreen?.().catch(() => {});
}

try {
  start();
} catch (error) {
  const old = "This page needs WebGL 2, which this browser or device does not offer.\nTry a current Chrome, Firefox, Edge or Safari with hardware acceleration switched on.";
  showMessage(error.message === "no-webgl2" ? old : `The scene could not be shown.\n${error.message}`);
}
