// A flame graph of one cell's peak, or an icicle: boxes as wide as their bytes. One canvas, as large as it is on the
// screen.
import { Call, KINDS } from "./tree";
import { Sheet, clipped, color, say } from "./canvas";
import { fill, h, size } from "./dom";
import { bytes, share } from "./format";

const LEVEL = 20; // pixels
const NARROW = 1.5; // boxes narrower than this are drawn as one

interface Box {
  call: Call;
  x: number;
  width: number;
  depth: number;
  many: number;
}

export interface Flame {
  element: HTMLElement;
  search(query: string): void;
}

/** Returns the graph of a tree. upside: the root at the bottom. of: the name of the sum of the boxes that match. */
export function flame(root: Call, upside: boolean, of: string, before: string): Flame {
  let top = root,
    boxes: Box[] = [],
    scroll = 0,
    chosen: Box | null = null,
    query = "";
  const matched = h("p", { class: "quiet matched", "aria-live": "polite" });
  const parents = new Map<Call, Call>();
  (function walk(c: Call) {
    for (const k of c.children) {
      parents.set(k, c);
      walk(k);
    }
  })(root);
  const deep = (c: Call): number => 1 + c.children.reduce((d, k) => Math.max(d, deep(k)), 0);
  const sheet = new Sheet(
    "flame",
    `${upside ? "flame graph" : "icicle"} of ${root.name}, ${bytes(root.value)}; ` +
      "the lines beside the source have the same figures",
    paint,
  );

  function layout(width: number): void {
    boxes = [];
    const above: Call[] = [];
    for (let p = parents.get(top); p; p = parents.get(p)) above.unshift(p);
    above.forEach((c, depth) => boxes.push({ call: c, x: 0, width, depth, many: 0 }));
    const put = (c: Call, x: number, w: number, depth: number) => {
      boxes.push({ call: c, x, width: w, depth, many: 0 });
      let at = x,
        small = 0,
        value = 0;
      for (const k of c.children) {
        const kw = c.value > 0 ? (w * k.value) / c.value : 0;
        if (kw >= NARROW) {
          put(k, at, kw, depth + 1);
          at += kw;
        } else {
          small++;
          value += k.value;
        }
      }
      if (small > 0 && c.value > 0) {
        const many: Call = {
          name: `${small} smaller`,
          where: "",
          kind: 4,
          value,
          count: 0,
          line: 0,
          execution: 0,
          children: [],
        };
        boxes.push({ call: many, x: at, width: (w * value) / c.value, depth: depth + 1, many: small });
      }
    };
    put(top, 0, width, above.length);
  }

  const matches = (c: Call) => query !== "" && (c.name + " " + c.where).toLowerCase().includes(query);

  function paint(c: CanvasRenderingContext2D, s: Sheet): void {
    layout(s.width);
    const deepest = boxes.reduce((d, b) => Math.max(d, b.depth), 0) + 1;
    scroll = Math.max(0, Math.min(scroll, deepest * LEVEL - s.height));
    const ink = color("box-ink"),
      line = color("page"),
      faint = color("box-faint");
    const fills = [0, 1, 2, 3, 4, 5].map((k) => color("box-" + k));
    for (const b of boxes) {
      const y = top_(b, s);
      if (y + LEVEL < 0 || y > s.height || b.width < 0.3) continue;
      c.fillStyle = query !== "" && !matches(b.call) ? faint : fills[b.call.kind];
      c.fillRect(b.x, y, Math.max(0.5, b.width - 1), LEVEL - 1);
      if (b.call.kind === 5 && b.width > 6) hatch(c, b.x, y, b.width - 1, LEVEL - 1, line);
      if (b === chosen) {
        c.strokeStyle = color("ink");
        c.lineWidth = 2;
        c.strokeRect(b.x + 1, y + 1, b.width - 3, LEVEL - 3);
      }
      const text = clipped(c, `${b.call.name}  ${bytes(b.call.value)}`, b.width - 8);
      if (text) {
        c.fillStyle = ink;
        c.fillText(text, b.x + 4, y + LEVEL / 2);
      }
    }
  }
  const top_ = (b: Box, s: Sheet) => (upside ? s.height - (b.depth + 1) * LEVEL + scroll : b.depth * LEVEL - scroll);
  const at = (x: number, y: number) =>
    boxes.find((b) => x >= b.x && x < b.x + b.width && y >= top_(b, sheet) && y < top_(b, sheet) + LEVEL) ?? null;
  const zoom = (c: Call) => {
    if (c.kind < 4 || c === root) {
      top = c;
      scroll = 0;
      chosen = null;
      sheet.draw();
    }
  };

  sheet.canvas.addEventListener("mousemove", (e) => {
    const b = at(e.offsetX, e.offsetY);
    if (!b) say(null);
    else
      say(
        e,
        b.call.name,
        b.call.where,
        `${bytes(b.call.value)} · ${share(b.call.value, root.value)} of the peak`,
        b.call.count > 0 ? `${b.call.count} allocations in the cell` : "",
      );
  });
  sheet.canvas.addEventListener("mouseleave", () => say(null));
  sheet.canvas.addEventListener("click", (e) => {
    const b = at(e.offsetX, e.offsetY);
    if (b) zoom(b.call);
  });
  sheet.canvas.addEventListener(
    "wheel",
    (e) => {
      const before = scroll;
      scroll += upside ? -e.deltaY : e.deltaY;
      sheet.now();
      if (scroll !== before) e.preventDefault();
    },
    { passive: false },
  );
  sheet.canvas.addEventListener("keydown", (e) => {
    if (boxes.length === 0) return;
    const here = chosen ?? boxes.find((b) => b.call === top)!;
    const outer = () => boxes.find((b) => b.call === parents.get(here.call));
    const level = boxes.filter((b) => b.depth === here.depth).sort((a, b) => a.x - b.x);
    const inner = () =>
      boxes
        .filter((b) => b.depth === here.depth + 1 && b.x >= here.x - 0.01 && b.x < here.x + here.width)
        .sort((a, b) => b.width - a.width)[0];
    const go = {
      ArrowLeft: () => level[level.indexOf(here) - 1],
      ArrowRight: () => level[level.indexOf(here) + 1],
      ArrowUp: upside ? inner : outer,
      ArrowDown: upside ? outer : inner,
    }[e.key];
    if (go) chosen = go() ?? here;
    else if (e.key === "Enter") zoom(here.call);
    else if (e.key === "Escape" && top !== root) zoom(root);
    else return;
    e.preventDefault();
    e.stopPropagation();
    if (chosen)
      fill(
        matched,
        `${chosen.call.name} ${chosen.call.where} · `,
        bytes(chosen.call.value),
        ` · ${share(chosen.call.value, root.value)}`,
      );
    sheet.draw();
  });

  /** Returns the bytes of the outermost boxes that match: boxes within one do not count again. */
  function sum(c: Call): number {
    return matches(c) ? c.value : c.children.reduce((n, k) => n + sum(k), 0);
  }
  const search = (text: string) => {
    query = text.toLowerCase();
    const n = query === "" ? 0 : root.children.reduce((all, k) => all + sum(k), 0);
    fill(
      matched,
      query !== "" && "matched: ",
      query !== "" && size(n, of, before),
      query !== "" && ` · ${share(n, root.value)} of the peak`,
    );
    sheet.draw();
  };
  sheet.canvas.style.height = Math.max(100, Math.min(deep(root) * LEVEL + 4, 420)) + "px";
  return { element: h("div", { class: "graph" }, sheet.canvas, matched, legend()), search };
}

function hatch(c: CanvasRenderingContext2D, x: number, y: number, w: number, height: number, ink: string): void {
  c.save();
  c.beginPath();
  c.rect(x, y, w, height);
  c.clip();
  c.strokeStyle = ink;
  c.globalAlpha = 0.5;
  for (let at = x - height; at < x + w; at += 7) {
    c.beginPath();
    c.moveTo(at, y + height);
    c.lineTo(at + height, y);
    c.stroke();
  }
  c.restore();
}

export function legend(kinds = KINDS.map((text, i): [number, string] => [i, text])): HTMLElement {
  return h(
    "p",
    { class: "legend quiet" },
    ...kinds.map(([i, text]) => h("span", {}, h("span", { class: `swatch swatch-${i}`, "aria-hidden": "true" }), text)),
  );
}
