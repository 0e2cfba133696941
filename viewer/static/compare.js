import { clamp } from "./math.js";

// A photo laid exactly over the picture of its camera, wiped by a divider that can be dragged or moved with the arrow keys.
export class Compare {
  constructor(element) {
    this.element = element;
    this.image = element.querySelector("img");
    this.divider = element.querySelector(".divider");
    this.at = 50;
    this.divider.addEventListener("pointerdown", (e) => this.divider.setPointerCapture(e.pointerId));
    this.divider.addEventListener("pointermove", (e) => {
      if (!this.divider.hasPointerCapture(e.pointerId)) return;
      const box = element.getBoundingClientRect();
      this.wipe((100 * (e.clientX - box.left)) / box.width);
    });
    this.divider.addEventListener("keydown", (e) => {
      const step = { ArrowLeft: -2, ArrowRight: 2, Home: -100, End: 100 }[e.key];
      if (!step) return;
      e.preventDefault();
      e.stopPropagation();
      this.wipe(this.at + step);
    });
  }

  get open() {
    return !this.element.hidden;
  }

  wipe(at) {
    this.at = clamp(at, 0, 100);
    this.element.style.setProperty("--at", `${this.at}%`);
    this.divider.setAttribute("aria-valuenow", String(Math.round(this.at)));
  }

  // camera: an entry with a photo; lens: the same camera in window pixels, from fitLens.
  show(camera, lens) {
    if (this.image.src !== camera.photo) this.image.src = camera.photo;
    this.image.alt = camera.name;
    const { style } = this.element;
    style.left = `${lens.cx - camera.cx * lens.scale}px`;
    style.top = `${lens.cy - camera.cy * lens.scale}px`;
    style.width = `${camera.width * lens.scale}px`;
    style.height = `${camera.height * lens.scale}px`;
    this.element.hidden = false;
  }

  hide() {
    this.element.hidden = true;
  }
}
