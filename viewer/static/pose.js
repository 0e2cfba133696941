import { add, aroundAxis, axesOf, clamp, cross, dot, length, lookAlong, multiply, normalize, quaternionOf, slerp } from "./math.js";

const STEEPEST = 1.48; // radians above or below the horizon at which turning stops: 85 degrees

// Where the camera is: it looks from `distance` in front of `target`, turned by `turn`. Poses are never changed in place.
export class Pose {
  constructor(target, turn, distance) {
    Object.assign(this, { target, turn, distance });
  }

  static fromViewmat(m, distance) {
    const rows = [m.slice(0, 3), m.slice(4, 7), m.slice(8, 11)];
    const t = [m[3], m[7], m[11]];
    const eye = [0, 1, 2].map((i) => -(rows[0][i] * t[0] + rows[1][i] * t[1] + rows[2][i] * t[2]));
    return new Pose(add(eye, rows[2], distance), quaternionOf(rows), distance);
  }

  get axes() {
    return axesOf(this.turn);
  }

  get eye() {
    return add(this.target, this.axes[2], -this.distance);
  }

  // [16] row-major world to camera.
  get viewmat() {
    const { axes, eye } = this;
    return [...axes.flatMap((axis) => [...axis, -dot(axis, eye)]), 0, 0, 0, 1];
  }

  // Around the target, by radians to the right and up; levels the horizon as it goes.
  orbit(right, up_, up) {
    return new Pose(this.target, this.turned(right, up_, up), this.distance);
  }

  // Around the eye.
  look(right, up_, up) {
    const turn = this.turned(right, up_, up);
    return new Pose(add(this.eye, axesOf(turn)[2], this.distance), turn, this.distance);
  }

  turned(right, up_, up) {
    const turn = multiply(aroundAxis(up, -right), this.turn);
    const elevation = Math.asin(clamp(dot(axesOf(turn)[2], up), -1, 1));
    const limit = Math.max(STEEPEST, Math.abs(elevation));
    const pitch = clamp(elevation + up_, -limit, limit) - elevation;
    const pitched = multiply(aroundAxis(axesOf(turn)[0], pitch), turn);
    const forward = axesOf(pitched)[2];
    if (Math.abs(dot(forward, up)) > 0.999) return pitched; // looking straight up or down: no horizon to level
    return slerp(pitched, lookAlong(forward, up), clamp(3 * (Math.abs(right) + Math.abs(up_)), 0, 1));
  }

  // By world units along right, down, forward.
  move(right, down, forward) {
    const { axes } = this;
    return new Pose(add(add(add(this.target, axes[0], right), axes[1], down), axes[2], forward), this.turn, this.distance);
  }

  // Closer to the target (factor < 1) or away from it.
  dolly(factor, nearest) {
    return new Pose(this.target, this.turn, Math.max(nearest, this.distance * factor));
  }

  // The same eye and direction, turning around what lies `distance` ahead from now on.
  withDistance(distance) {
    return new Pose(add(this.eye, this.axes[2], distance), this.turn, distance);
  }

  // Turned towards a point, which becomes the target.
  facing(point, up) {
    const forward = add(point, this.eye, -1);
    return new Pose(point, lookAlong(forward, up), length(forward));
  }

  towards(goal, share) {
    const target = add(this.target, add(goal.target, this.target, -1), share);
    return new Pose(target, slerp(this.turn, goal.turn, share), this.distance + share * (goal.distance - this.distance));
  }

  near(goal) {
    const turn = Math.abs(this.turn.reduce((sum, x, i) => sum + x * goal.turn[i], 0));
    const scale = Math.max(goal.distance, 1e-9);
    return turn > 1 - 1e-9 && length(add(this.eye, goal.eye, -1)) < 1e-4 * scale && Math.abs(this.distance - goal.distance) < 1e-4 * scale;
  }
}

// Up of a capture: the mean of what its cameras hold up.
export function upOf(cameras) {
  const sum = cameras.reduce((total, { viewmat: m }) => add(total, [-m[4], -m[5], -m[6]]), [0, 0, 0]);
  return length(sum) > 1e-3 ? normalize(sum) : [0, -1, 0];
}

// A pose that shows a ball of splats from slightly above, for scenes without cameras.
export function poseAround(centre, radius, up) {
  const side = Math.abs(up[0]) < 0.9 ? [1, 0, 0] : [0, 0, 1];
  const forward = normalize(add(normalize(cross(side, up)), up, -0.35));
  return new Pose(centre, lookAlong(forward, up), 2.2 * radius);
}

const WIDEST = 0.5; // focal length as a share of the longer side of the window: at most 90 degrees

// The lens of a photo put into a window so that the whole photo shows, in window pixels; not wider than 90 degrees.
export function fitLens({ fx, fy, cx, cy, width, height }, windowWidth, windowHeight, zoom = 1) {
  const whole = Math.min(windowWidth / width, windowHeight / height);
  const scale = zoom * Math.max(whole, (WIDEST * Math.max(windowWidth, windowHeight)) / Math.max(fx, fy), 0);
  return {
    fx: fx * scale,
    fy: fy * scale,
    cx: windowWidth / 2 + (cx - width / 2) * scale,
    cy: windowHeight / 2 + (cy - height / 2) * scale,
    scale,
  };
}
