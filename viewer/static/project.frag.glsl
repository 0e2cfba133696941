#version 300 es
// One fragment per splat: projects it, evaluates its colour and writes both to two integer textures (16 bytes each).
// Same formulas as the training renderer: EWA projection with the clamped Jacobian (Zwicker et al. 2001, Kerbl et al. 2023).
precision highp float;
precision highp int;
precision highp usampler2D;

uniform usampler2D geometry;  // x y z as float bits | alpha unorm16, third rotation word << 16
uniform usampler2D shape;     // rotation words 0, 1 | log scale xy | log scale z, dc r | dc g, dc b   (halves)
uniform usampler2D rest0, rest1, rest2;  // SH bytes 0..15, 16..31, 32..47
uniform mat4 view;            // world to camera, OpenCV axes
uniform vec3 eye;
uniform vec4 lens;            // fx fy cx cy, pixels
uniform vec2 size;            // pixels
uniform float near, blur;
uniform bool antialiased;
uniform int degree;
uniform vec3 reach;           // largest magnitude of each SH band
uniform int mode;             // 0 colour, 1 depth (r = z, g = 1), 2 points

layout(location = 0) out uvec4 place;  // centre xy | one-sigma axis 1 xy, float bits, pixels (y down)
layout(location = 1) out uvec4 look;   // one-sigma axis 2 xy, float bits | r g | b alpha (halves)

const float MIN_ALPHA = 1.0 / 255.0;
const float SQRT2 = 1.4142135623730951;

vec4 quaternion(uint w0, uint w1, uint w2) {  // (w, x, y, z)
  vec3 r = (vec3(w0 & 32767u, w1 & 32767u, w2 & 32767u) / 32767.0 * 2.0 - 1.0) / SQRT2;
  float largest = sqrt(max(0.0, 1.0 - dot(r, r)));
  switch ((w0 >> 15) | ((w1 >> 15) << 1)) {
    case 0u: return vec4(largest, r);
    case 1u: return vec4(r.x, largest, r.yz);
    case 2u: return vec4(r.xy, largest, r.z);
    default: return vec4(r, largest);
  }
}

mat3 rotation(vec4 q) {  // columns: where the splat's axes point
  float w = q.x, x = q.y, y = q.z, z = q.w;
  return mat3(
    1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y),
    2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x),
    2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y));
}

uint bytes[12 * 4];

vec3 coefficient(int k) {  // k = 0 is the first of band 1; undoes the square-root steps
  vec3 v = (vec3(bytes[3 * k], bytes[3 * k + 1], bytes[3 * k + 2]) - 128.0) / 127.0;
  return v * abs(v);
}

void unpack(int at, uvec4 texel) {
  for (int i = 0; i < 16; i++) bytes[at + i] = (texel[i >> 2] >> (8 * (i & 3))) & 255u;
}

vec3 harmonics(ivec2 at, vec3 d) {  // real SH without the constant band, sign convention of 3DGS
  if (degree < 1) return vec3(0.0);
  unpack(0, texelFetch(rest0, at, 0));
  if (degree > 1) unpack(16, texelFetch(rest1, at, 0));
  if (degree > 2) unpack(32, texelFetch(rest2, at, 0));
  float x = d.x, y = d.y, z = d.z;
  vec3 c = reach.x * 0.4886025119029199 * (-y * coefficient(0) + z * coefficient(1) - x * coefficient(2));
  if (degree < 2) return c;
  float xx = x * x, yy = y * y, zz = z * z;
  c += reach.y * (
    1.0925484305920792 * x * y * coefficient(3) - 1.0925484305920792 * y * z * coefficient(4)
    + 0.31539156525252005 * (2.0 * zz - xx - yy) * coefficient(5)
    - 1.0925484305920792 * x * z * coefficient(6) + 0.5462742152960396 * (xx - yy) * coefficient(7));
  if (degree < 3) return c;
  return c + reach.z * (
    -0.5900435899266435 * y * (3.0 * xx - yy) * coefficient(8) + 2.890611442640554 * x * y * z * coefficient(9)
    - 0.4570457994644658 * y * (4.0 * zz - xx - yy) * coefficient(10)
    + 0.3731763325901154 * z * (2.0 * zz - 3.0 * xx - 3.0 * yy) * coefficient(11)
    - 0.4570457994644658 * x * (4.0 * zz - xx - yy) * coefficient(12)
    + 1.445305721320277 * z * (xx - yy) * coefficient(13)
    - 0.5900435899266435 * x * (xx - 3.0 * yy) * coefficient(14));
}

void main() {
  ivec2 at = ivec2(gl_FragCoord.xy);
  uvec4 g = texelFetch(geometry, at, 0);
  uvec4 s = texelFetch(shape, at, 0);
  place = uvec4(0u);
  look = uvec4(0u);  // axes of length zero: an empty quad

  float alpha = float(g.w & 65535u) / 65535.0;
  vec3 mean = uintBitsToFloat(g.xyz);
  vec3 t = (view * vec4(mean, 1.0)).xyz;
  if (alpha < MIN_ALPHA || t.z < near) return;

  vec2 slope = t.xy / t.z;
  vec2 centre = lens.xy * slope + lens.zw;
  vec2 half_fov = 0.5 * size / lens.xy;
  vec2 clamped = clamp(slope, -(lens.zw / lens.xy + 0.3 * half_fov), (size - lens.zw) / lens.xy + 0.3 * half_fov);
  // Rows of the Jacobian of the projection, then carried into the splat's own axes.
  vec3 jx = lens.x / t.z * vec3(1.0, 0.0, -clamped.x);
  vec3 jy = lens.y / t.z * vec3(0.0, 1.0, -clamped.y);
  vec2 s01 = unpackHalf2x16(s.y), s2r = unpackHalf2x16(s.z);
  vec3 scale = exp(vec3(s01, s2r.x));
  mat3 turn = mat3(view) * rotation(quaternion(s.x & 65535u, s.x >> 16, g.w >> 16));
  vec3 px = (jx * turn) * scale, py = (jy * turn) * scale;
  float a = dot(px, px), b = dot(px, py), c = dot(py, py);
  if (mode == 2) { a = c = 0.4; b = 0.0; alpha = max(alpha, 0.6); }
  if (antialiased) {
    float before = a * c - b * b, after = (a + blur) * (c + blur) - b * b;
    alpha *= sqrt(max(0.0, before / after));
    if (alpha < MIN_ALPHA) return;
  }
  a += blur;
  c += blur;

  float reach_sigma = sqrt(2.0 * log(alpha / MIN_ALPHA));  // beyond this, alpha is below 1/255
  vec2 extent = reach_sigma * sqrt(vec2(a, c));
  if (any(lessThan(centre + extent, vec2(0.0))) || any(greaterThan(centre - extent, size))) return;

  float mid = 0.5 * (a + c), radius = length(vec2(0.5 * (a - c), b));
  float angle = radius > 0.0 ? 0.5 * atan(2.0 * b, a - c) : 0.0;
  vec2 axis = vec2(cos(angle), sin(angle));
  vec2 major = sqrt(mid + radius) * axis;
  vec2 minor = sqrt(max(mid - radius, blur)) * vec2(-axis.y, axis.x);

  vec3 colour = vec3(t.z, 1.0, 0.0);
  if (mode != 1) {
    vec3 dc = vec3(s2r.y, unpackHalf2x16(s.w));
    colour = max(0.5 + 0.28209479177387814 * dc + harmonics(at, normalize(mean - eye)), 0.0);
  }
  place = floatBitsToUint(vec4(centre, major));
  look = uvec4(floatBitsToUint(minor), packHalf2x16(colour.rg), packHalf2x16(vec2(colour.b, alpha)));
}
