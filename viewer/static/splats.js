import WORKER_TEXT from "./sort_worker.js?text";

// The splats' worker: feeds it the page's blocks and asks it for depth orders, one at a time, the newest wish winning.
export class Splats {
  constructor({ count, counts, degree, near }) {
    Object.assign(this, { count, counts, degree, near });
    this.loaded = 0;
    this.busy = false;
    this.wish = null;
    this.waiting = [];
    this.onblock = this.onorder = this.onerror = () => {};
    this.worker = new Worker(URL.createObjectURL(new Blob([WORKER_TEXT], { type: "text/javascript" })));
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = (event) => this.onerror(event.message || "the worker stopped");
    this.worker.postMessage({ kind: "start", count });
  }

  // elements: the <script> elements that hold the base64 of each block, in order.
  load(elements) {
    let first = 0;
    elements.forEach((element, i) => {
      this.worker.postMessage({ kind: "block", text: element.textContent.trim(), first, count: this.counts[i], degree: this.degree });
      element.remove(); // its text is held once, by the worker
      first += this.counts[i];
    });
  }

  // Resolves when the order for this view (or a newer one) has been handed to onorder.
  sort(viewmat) {
    this.wish = Array.from(viewmat.slice(8, 12));
    const done = new Promise((resolve) => this.waiting.push(resolve));
    this.next();
    return done;
  }

  next() {
    if (this.busy || !this.wish) return;
    this.busy = true;
    this.answering = this.waiting;
    this.waiting = [];
    this.worker.postMessage({ kind: "sort", row: this.wish, near: this.near });
    this.wish = null;
  }

  receive(data) {
    if (data.kind === "error") this.onerror(data.text);
    if (data.kind === "block") {
      this.loaded += data.count;
      this.onblock(data);
    }
    if (data.kind === "order") {
      this.busy = false;
      this.onorder(data);
      this.answering.forEach((resolve) => resolve());
      this.next();
    }
  }
}
