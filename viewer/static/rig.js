import { clamp } from "./math.js";
import { fitLens } from "./pose.js";

const SETTLE = 0.075; // seconds in which the shown pose covers 63% of the way to the wanted one
const TRAVEL = 0.22; // the same for jumps between cameras

// The camera in the user's hand: a wanted pose that input changes and a shown pose that follows it smoothly.
export class Rig {
  constructor({ up, lens, pose, near, wake, onmove, onwalk, focus }) {
    Object.assign(this, { up, lens, near, wake, onmove, onwalk, focus, goal: pose, shown: pose, settle: SETTLE, mode: "orbit", zoom: 1 });
    this.pace = pose.distance; // walking speed, world units a second
    this.stillness = matchMedia("(prefers-reduced-motion: reduce)");
  }

  // The gaze turns by radians to the right and up: around the target when orbiting, around the eye when flying.
  drag(right, up) {
    this.change(this.mode === "orbit" ? this.goal.orbit(right, up, this.up) : this.goal.look(right, up, this.up));
  }

  // By key: the camera itself goes to that side when orbiting.
  steer(right, up) {
    const sign = this.mode === "orbit" ? -1 : 1;
    this.drag(sign * right, sign * up);
  }

  pan(x, y) {
    const unit = this.goal.distance / this.windowLens().fx;
    this.change(this.goal.move(-x * unit, -y * unit, 0));
  }

  dolly(factor) {
    const pose = this.mode === "orbit" ? this.goal.dolly(factor, 2 * this.near) : this.goal.move(0, 0, -Math.log(factor) * this.pace);
    this.change(pose);
  }

  walk(right, down, forward) {
    this.onwalk();
    this.change(this.goal.move(right * this.pace, down * this.pace, forward * this.pace));
  }

  change(pose) {
    this.settle = SETTLE;
    this.goal = pose;
    this.wake();
    this.onmove();
  }

  // To another place, gently; with another lens if given.
  travel(pose, lens = this.lens) {
    this.settle = TRAVEL;
    this.goal = pose;
    this.lens = lens;
    this.wake();
  }

  jump(pose, lens = this.lens) {
    this.travel(pose, lens);
    this.shown = pose;
  }

  // One frame; returns whether the shown pose still moves.
  step(seconds) {
    if (this.shown === this.goal) return false;
    const share = this.stillness.matches ? 1 : 1 - Math.exp(-clamp(seconds, 0.001, 0.25) / this.settle);
    this.shown = this.shown.towards(this.goal, share);
    if (share === 1 || this.shown.near(this.goal)) this.shown = this.goal;
    return true;
  }

  windowLens() {
    return fitLens(this.lens, innerWidth, innerHeight, this.zoom);
  }
}
