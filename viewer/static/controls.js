import { clamp } from "./math.js";

const TURN = 0.0045; // radians per CSS pixel of drag
const TAP_MS = 300;
const TAP_PX = 12;
const WALK_KEYS = { KeyW: [0, 0, 1], KeyS: [0, 0, -1], KeyA: [-1, 0, 0], KeyD: [1, 0, 0], KeyQ: [0, 1, 0], KeyE: [0, -1, 0] };
const TURN_KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

// Turns mouse, touch, wheel and keys into calls on `rig`: drag(right, up), steer(right, up), pan(x, y), dolly(factor),
// walk(right, down, forward), focus(x, y), wake(). Left drag or one finger turns; right, middle or shift drag or two fingers pan; wheel and pinch dolly.
export class Controls {
  constructor(canvas, rig) {
    Object.assign(this, { canvas, rig, pointers: new Map(), held: new Set(), fast: false, lastTap: null, pinch: null });
    const on = (target, type, handler) => target.addEventListener(type, handler, { passive: false });
    on(canvas, "pointerdown", (e) => this.down(e));
    on(canvas, "pointermove", (e) => this.moved(e));
    on(canvas, "pointerup", (e) => this.up(e));
    on(canvas, "pointercancel", (e) => this.forget(e));
    on(canvas, "lostpointercapture", (e) => this.forget(e));
    on(window, "wheel", (e) => this.wheel(e));
    on(canvas, "contextmenu", (e) => e.preventDefault());
    on(window, "keydown", (e) => this.key(e, true));
    on(window, "keyup", (e) => this.key(e, false));
    on(window, "blur", () => this.held.clear());
  }

  get active() {
    return this.held.size > 0;
  }

  // Called once a frame with the seconds since the last one.
  step(seconds) {
    const sum = [0, 0, 0];
    const turn = [0, 0];
    for (const code of this.held) {
      (WALK_KEYS[code] || []).forEach((x, i) => (sum[i] += x));
      (TURN_KEYS[code] || []).forEach((x, i) => (turn[i] += x));
    }
    const pace = seconds * (this.fast ? 4 : 1);
    if (sum.some(Boolean)) this.rig.walk(...sum.map((x) => x * pace));
    if (turn.some(Boolean)) this.rig.steer(...turn.map((x) => x * 1.2 * seconds));
  }

  down(e) {
    e.preventDefault();
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(e.pointerId);
    const pans = e.button === 2 || e.button === 1 || e.shiftKey || e.ctrlKey || e.metaKey;
    this.pointers.set(e.pointerId, { x: e.clientX, y: e.clientY, startX: e.clientX, startY: e.clientY, time: e.timeStamp, pans });
    this.pinch = this.spread();
    if (this.pinch) this.lastTap = null;
  }

  moved(e) {
    const pointer = this.pointers.get(e.pointerId);
    if (!pointer) return;
    const [dx, dy] = [e.clientX - pointer.x, e.clientY - pointer.y];
    [pointer.x, pointer.y] = [e.clientX, e.clientY];
    if (this.pointers.size === 1) {
      if (pointer.pans) this.rig.pan(dx, dy);
      else this.rig.drag(dx * TURN, -dy * TURN);
      return;
    }
    const now = this.spread();
    this.rig.pan(now.x - this.pinch.x, now.y - this.pinch.y);
    this.rig.dolly(this.pinch.apart / now.apart);
    this.pinch = now;
  }

  // Middle and distance of the first two fingers.
  spread() {
    const [a, b] = [...this.pointers.values()];
    return b ? { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, apart: Math.max(20, Math.hypot(a.x - b.x, a.y - b.y)) } : null;
  }

  up(e) {
    const pointer = this.pointers.get(e.pointerId);
    this.forget(e);
    if (!pointer || this.pointers.size > 0 || pointer.pans) return;
    const still = Math.hypot(e.clientX - pointer.startX, e.clientY - pointer.startY) < TAP_PX;
    if (!still || e.timeStamp - pointer.time > TAP_MS) return;
    const last = this.lastTap;
    this.lastTap = { x: e.clientX, y: e.clientY, time: e.timeStamp };
    if (last && e.timeStamp - last.time < 1.5 * TAP_MS && Math.hypot(e.clientX - last.x, e.clientY - last.y) < 2 * TAP_PX) {
      this.lastTap = null;
      this.rig.focus(e.clientX, e.clientY);
    }
  }

  forget(e) {
    this.pointers.delete(e.pointerId);
    this.pinch = this.spread();
  }

  wheel(e) {
    if (e.target instanceof Element && e.target.closest(".strip, dialog")) return;
    e.preventDefault();
    const unit = [1, 16, 400][e.deltaMode];
    const steps = clamp(e.deltaY * unit, -240, 240);
    this.rig.dolly(Math.exp(steps * (e.ctrlKey ? 0.006 : 0.0015)));
  }

  key(e, isDown) {
    this.fast = e.shiftKey;
    const code = e.code;
    if (!(code in WALK_KEYS || code in TURN_KEYS)) return;
    const typing = e.target instanceof Element && e.target.closest("input, [role=listbox], .strip");
    if (isDown && (typing || e.ctrlKey || e.metaKey || e.altKey)) return;
    if (isDown) {
      e.preventDefault();
      this.held.add(code);
      this.rig.wake();
    } else {
      this.held.delete(code);
    }
  }
}
