// The furniture around the picture: toolbar, film strip, help, readouts. Names reach the page as text, never as HTML.

const byId = (id) => document.getElementById(id);
const button = (name) => document.querySelector(`[data-do="${name}"]`);

export class Panel {
  // actions: { name: function } for every data-do; cameras: the page's list; choose(index).
  constructor({ cameras, actions, choose }) {
    this.cameras = cameras;
    for (const element of document.querySelectorAll("[data-do]")) {
      element.setAttribute("aria-label", element.title.replace(/ {2}.*/, ""));
      element.addEventListener("click", () => actions[element.dataset.do]());
    }
    byId("camera-group").hidden = cameras.length === 0;
    this.tiles = cameras.map((camera, i) => makeTile(camera, i, () => choose(i)));
    byId("strip").append(...this.tiles);
    byId("strip").addEventListener("keydown", (e) => this.walkStrip(e));
    const help = byId("help");
    help.addEventListener("click", (e) => e.target === help && help.close());
  }

  walkStrip(e) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    const at = this.tiles.indexOf(document.activeElement);
    if (!step || at < 0) return;
    e.preventDefault();
    this.tiles[(at + step + this.tiles.length) % this.tiles.length].focus();
  }

  toggleStrip(open = byId("strip").hidden) {
    byId("strip").hidden = !open;
    button("strip").setAttribute("aria-expanded", String(open));
    if (open) this.tiles.find((tile) => tile.ariaSelected === "true")?.scrollIntoView({ inline: "center", block: "nearest" });
  }

  showCamera(index, canCompare) {
    this.tiles.forEach((tile, i) => tile.setAttribute("aria-selected", String(i === index)));
    this.tiles[index]?.scrollIntoView({ inline: "center", block: "nearest" });
    const camera = this.cameras[index];
    byId("where").textContent = camera ? `${index + 1} / ${this.cameras.length}  ${camera.name}${camera.heldOut ? "  (held out)" : ""}` : "";
    button("compare").hidden = !canCompare;
  }

  showPressed(name, on) {
    button(name).setAttribute("aria-pressed", String(on));
  }

  showStats(text) {
    byId("stats").textContent = text;
  }

  showProgress(share) {
    byId("progress").firstElementChild.style.transform = `scaleX(${share})`;
    byId("progress").classList.toggle("done", share >= 1);
  }

  toggleHelp() {
    const help = byId("help");
    if (help.open) help.close();
    else help.showModal();
  }
}

export function showMessage(text) {
  byId("message").textContent = text;
  byId("message").hidden = false;
}

function makeTile(camera, i, onclick) {
  const tile = document.createElement("button");
  tile.role = "option";
  tile.title = camera.name;
  tile.setAttribute("aria-selected", "false");
  tile.classList.toggle("held-out", Boolean(camera.heldOut));
  tile.style.aspectRatio = String(camera.width / camera.height);
  if (camera.photo) {
    const image = new Image();
    image.src = camera.photo;
    image.alt = camera.name;
    image.draggable = false;
    tile.append(image);
  } else {
    tile.textContent = String(i + 1);
  }
  tile.addEventListener("click", onclick);
  return tile;
}
