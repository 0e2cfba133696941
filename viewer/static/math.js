// Vectors are [x, y, z]; quaternions [w, x, y, z] turn camera axes (x right, y down, z forward) into the world.

export const add = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
export const length = (a) => Math.hypot(...a);
export const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

export function normalize(a) {
  const n = Math.hypot(...a);
  return n > 0 ? a.map((x) => x / n) : a;
}

export function multiply(p, q) {
  const [a, b, c, d] = p;
  const [w, x, y, z] = q;
  return [
    a * w - b * x - c * y - d * z,
    a * x + b * w + c * z - d * y,
    a * y - b * z + c * w + d * x,
    a * z + b * y - c * x + d * w,
  ];
}

export function aroundAxis(axis, angle) {
  const s = Math.sin(angle / 2);
  return [Math.cos(angle / 2), s * axis[0], s * axis[1], s * axis[2]];
}

// The columns of the rotation matrix: where right, down and forward point.
export function axesOf([w, x, y, z]) {
  return [
    [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
    [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)],
    [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)],
  ];
}

export function quaternionOf([r, d, f]) {
  // Shepperd: divide by the largest component.
  const trace = r[0] + d[1] + f[2];
  const options = [trace, r[0], d[1], f[2]];
  switch (options.indexOf(Math.max(...options))) {
    case 0: return normalize([1 + trace, d[2] - f[1], f[0] - r[2], r[1] - d[0]]);
    case 1: return normalize([d[2] - f[1], 1 + r[0] - d[1] - f[2], d[0] + r[1], f[0] + r[2]]);
    case 2: return normalize([f[0] - r[2], d[0] + r[1], 1 - r[0] + d[1] - f[2], f[1] + d[2]]);
    default: return normalize([r[1] - d[0], f[0] + r[2], f[1] + d[2], 1 - r[0] - d[1] + f[2]]);
  }
}

export function slerp(p, q, t) {
  let c = p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3];
  const sign = c < 0 ? -1 : 1;
  c = Math.min(1, sign * c);
  const angle = Math.acos(c);
  const [a, b] = angle < 1e-4 ? [1 - t, t] : [Math.sin((1 - t) * angle) / Math.sin(angle), Math.sin(t * angle) / Math.sin(angle)];
  return normalize(p.map((x, i) => a * x + sign * b * q[i]));
}

// Camera that looks along `forward` with no roll against `up`.
export function lookAlong(forward, up) {
  const f = normalize(forward);
  let right = cross(f, up);
  if (length(right) < 1e-6) right = cross(f, Math.abs(f[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0]);
  right = normalize(right);
  return quaternionOf([right, cross(f, right), f]);
}
