// Runs as a worker: unpacks blocks of splats into texels and keeps them sorted by depth. Block layout: viewer/payload.py.
"use strict";

const CHUNK = 256;
const WIDTH = 2048; // texels in a texture row; a block fills whole rows

let positions = new Float32Array(0); // [capacity, 3]
let loaded = 0;
let blocks = Promise.resolve(); // blocks are unpacked one after the other; sorting does not wait for them

self.onmessage = ({ data }) => {
  if (data.kind === "start") positions = new Float32Array(3 * data.count);
  if (data.kind === "block") blocks = blocks.then(() => addBlock(data)).catch(report);
  if (data.kind === "sort") sort(data);
};

function report(error) {
  self.postMessage({ kind: "error", text: String((error && error.message) || error) });
}

async function inflate(base64) {
  const text = atob(base64);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < packed.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function addBlock({ text, first, count, degree }) {
  const bytes = await inflate(text);
  const chunks = Math.ceil(count / CHUNK);
  const restBytes = 3 * ((degree + 1) ** 2 - 1);
  if (bytes.length !== 24 * chunks + count * (26 + restBytes)) throw new Error("a block of splats has the wrong size");
  const boxes = new Float32Array(bytes.buffer, 0, 6 * chunks);
  const planes = bytes.subarray(24 * chunks);
  const word = (plane, i) => planes[2 * plane * count + i] | (planes[(2 * plane + 1) * count + i] << 8);

  const texels = WIDTH * Math.ceil(count / WIDTH);
  const geometry = new Uint32Array(4 * texels);
  const shape = new Uint32Array(4 * texels);
  const asFloat = new Float32Array(geometry.buffer);
  for (let i = 0; i < count; i++) {
    const box = 6 * Math.floor(i / CHUNK);
    for (let axis = 0; axis < 3; axis++) {
      const low = boxes[box + axis];
      const x = low + (word(axis, i) / 65535) * (boxes[box + 3 + axis] - low);
      asFloat[4 * i + axis] = x;
      positions[3 * (first + i) + axis] = x;
    }
    geometry[4 * i + 3] = word(9, i) | (word(5, i) << 16);
    shape[4 * i] = word(3, i) | (word(4, i) << 16);
    shape[4 * i + 1] = word(6, i) | (word(7, i) << 16);
    shape[4 * i + 2] = word(8, i) | (word(10, i) << 16);
    shape[4 * i + 3] = word(11, i) | (word(12, i) << 16);
  }
  const rest = [];
  for (let start = 0; start < restBytes; start += 16) {
    const texel = new Uint8Array(16 * texels);
    for (let b = start; b < Math.min(start + 16, restBytes); b++) {
      const plane = planes.subarray((26 + b) * count, (27 + b) * count);
      for (let i = 0; i < count; i++) texel[16 * i + b - start] = plane[i];
    }
    rest.push(new Uint32Array(texel.buffer));
  }
  loaded = first + count;
  const arrays = [geometry, shape, ...rest];
  self.postMessage({ kind: "block", first, count, geometry, shape, rest }, arrays.map((a) => a.buffer));
}

let depths = new Float32Array(0);
let [indices, swap] = [new Uint32Array(0), new Uint32Array(0)];
const low = new Uint32Array(65536);
const high = new Uint32Array(65536);

// Farthest first, exactly: positive floats order like their bits, so two counting passes of 16 bits sort them.
function sort({ row, near }) {
  if (depths.length < loaded) {
    depths = new Float32Array(loaded);
    indices = new Uint32Array(loaded);
    swap = new Uint32Array(loaded);
  }
  const bits = new Uint32Array(depths.buffer);
  const [rx, ry, rz, rt] = row;
  low.fill(0);
  high.fill(0);
  let visible = 0;
  for (let i = 0, p = 0; i < loaded; i++, p += 3) {
    const z = rx * positions[p] + ry * positions[p + 1] + rz * positions[p + 2] + rt;
    if (!(z >= near)) continue;
    depths[i] = z;
    indices[visible++] = i;
    low[bits[i] & 65535]++;
    high[bits[i] >>> 16]++;
  }
  // Buckets run from the largest key down.
  for (let key = 65535, a = 0, b = 0; key >= 0; key--) {
    const [m, n] = [low[key], high[key]];
    [low[key], high[key]] = [a, b];
    a += m;
    b += n;
  }
  for (let k = 0; k < visible; k++) swap[low[bits[indices[k]] & 65535]++] = indices[k];
  const order = new Uint32Array(WIDTH * Math.ceil(visible / WIDTH));
  for (let k = 0; k < visible; k++) order[high[bits[swap[k]] >>> 16]++] = swap[k];
  const at = (share) => (visible ? depths[order[Math.min(visible - 1, Math.floor(share * visible))]] : near);
  self.postMessage({ kind: "order", order, visible, range: [at(0.98), at(0.02)] }, [order.buffer]);
}
