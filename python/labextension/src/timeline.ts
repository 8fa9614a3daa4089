// The session as a picture: each cell is a bar from its start to its end, as high as its peak, with the memory that it
// left inside.

import { IRun } from "./figures";
import { bytes, duration, label, shown, together } from "./words";

const WIDTH = 1000;
const HEIGHT = 120;
const LEAST = 3; // of a bar's width
const SVG = "http://www.w3.org/2000/svg";

function element(name: string, attributes: { [name: string]: string | number }): SVGElement {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    node.setAttribute(key, String(value));
  }
  return node;
}

function bar(r: IRun, x: (ns: number) => number, y: (n: number) => number, go: (r: IRun) => void): SVGElement {
  const f = together(r)!;
  const group = element("g", { class: "jp-ipytracer-bar" + (r.status === "ok" ? "" : " jp-mod-bad") });
  const left = x(r.start);
  const width = Math.max(LEAST, x(r.start + r.duration) - left);
  group.append(
    element("rect", { class: "jp-ipytracer-hit", x: left, y: 0, width, height: HEIGHT }),
    element("rect", {
      class: "jp-ipytracer-peak",
      x: left,
      y: y(f.peak),
      width,
      height: Math.max(0, HEIGHT - y(f.peak)),
    }),
    element("rect", { class: "jp-ipytracer-end", x: left, y: y(f.end), width, height: Math.max(0, HEIGHT - y(f.end)) }),
  );
  const title = element("title", {});
  title.textContent = `${label(r)} · need ${shown(f, "need")} · peak ${shown(f, "peak")} · ${duration(r.duration)}`;
  group.append(title);
  group.addEventListener("click", () => go(r));
  return group;
}

/** Returns a picture of runs, of one process; go: called for a click on one. null where there is nothing to draw. */
export function timeline(runs: IRun[], limit: number | null, go: (r: IRun) => void): HTMLElement | null {
  const drawn = runs.filter((r) => together(r) !== undefined);
  if (drawn.length === 0) {
    return null;
  }
  const first = Math.min(...drawn.map((r) => r.start));
  const last = Math.max(...drawn.map((r) => r.start + r.duration));
  const most = Math.max(1, ...drawn.map((r) => together(r)!.peak));
  const top = limit !== null && limit < most * 1.5 ? Math.max(limit, most) : most;
  const x = (ns: number) => ((ns - first) / Math.max(1, last - first)) * (WIDTH - LEAST);
  const y = (n: number) => HEIGHT - (n / (top * 1.05)) * HEIGHT;
  const picture = element("svg", {
    class: "jp-ipytracer-timeline",
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: "none",
    role: "img",
    "aria-label":
      `memory over time: ${drawn.length} cells in ${duration(last - first)}, at most ${bytes(most)}; ` +
      "the same is in the table below",
  });
  picture.append(...drawn.map((r) => bar(r, x, y, go)));
  if (limit !== null && limit <= top) {
    picture.append(element("line", { class: "jp-ipytracer-limit", x1: 0, x2: WIDTH, y1: y(limit), y2: y(limit) }));
  }
  const box = document.createElement("figure");
  const words = document.createElement("figcaption");
  words.textContent = `${drawn.length} cells · ${duration(last - first)} · at most ${bytes(most)} resident`;
  box.append(picture, words);
  return box;
}
