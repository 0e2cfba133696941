#version 300 es
// A quad around one projected splat, along its axes and just large enough for alpha >= 1/255. Four vertices a quad, many quads
// an instance: drivers that treat each instance as a draw call stay fast.
precision highp float;
precision highp int;
precision highp usampler2D;

uniform usampler2D place, look;
uniform usampler2D order;  // splats, farthest first
uniform int visible;
uniform vec2 size;
out vec2 sigmas;
flat out vec4 colour;

const int BATCH = 1024;  // quads an instance draws

void main() {
  int rank = gl_InstanceID * BATCH + (gl_VertexID >> 2);
  if (rank >= visible) {
    gl_Position = vec4(2.0, 2.0, 0.0, 1.0);
    return;
  }
  uint index = texelFetch(order, ivec2(rank & 2047, rank >> 11), 0).r;
  ivec2 at = ivec2(index & 2047u, index >> 11);
  uvec4 p = texelFetch(place, at, 0);
  uvec4 l = texelFetch(look, at, 0);
  colour = vec4(unpackHalf2x16(l.z), unpackHalf2x16(l.w));
  vec2 corner = vec2(gl_VertexID & 1, (gl_VertexID >> 1) & 1) * 2.0 - 1.0;
  sigmas = corner * sqrt(2.0 * log(max(colour.a * 255.0, 1.0)));
  vec2 pixel = uintBitsToFloat(p.xy) + sigmas.x * uintBitsToFloat(p.zw) + sigmas.y * uintBitsToFloat(l.xy);
  gl_Position = vec4(pixel / size * 2.0 - 1.0, 0.0, 1.0);
  gl_Position.y = -gl_Position.y;
}
