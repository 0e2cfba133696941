import { normalize } from "./math.js";
import { Pose } from "./pose.js";

// The view in the address: #view=target,turn,distance,lens (13 numbers). Lens: fx fy and principal offset, per longer side.

export function writeLink(pose, lens) {
  const side = Math.max(lens.width, lens.height);
  const numbers = [
    ...pose.target, ...pose.turn, pose.distance,
    lens.fx / side, lens.fy / side, lens.cx / lens.width, lens.cy / lens.height, lens.width / lens.height,
  ];
  return `#view=${numbers.map((x) => String(Number(x.toPrecision(6)))).join(",")}`;
}

// { pose, lens } or null when the address holds no usable view.
export function readLink(hash) {
  const match = /^#view=([-+.,e\d]+)$/i.exec(hash);
  const n = match ? match[1].split(",").map(Number) : [];
  if (n.length !== 13 || !n.every(Number.isFinite) || !(n[7] > 0 && n[8] > 0 && n[9] > 0 && n[12] > 0)) return null;
  const turn = n.slice(3, 7);
  if (!(Math.hypot(...turn) > 0.1)) return null;
  const [width, height] = n[12] > 1 ? [1000, 1000 / n[12]] : [1000 * n[12], 1000];
  const lens = { fx: 1000 * n[8], fy: 1000 * n[9], cx: width * n[10], cy: height * n[11], width, height };
  return { pose: new Pose(n.slice(0, 3), normalize(turn), n[7]), lens };
}
