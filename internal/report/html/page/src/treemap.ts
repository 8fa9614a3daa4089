// A treemap: areas as large as their bytes. By the lines that made the memory at a peak, or by names at the end.
import { hierarchy, treemap as squares } from "d3-hierarchy";
import { Sheet, clipped, color, say } from "./canvas";
import { h } from "./dom";
import { bytes, share } from "./format";
import { legend } from "./flame";
import { Leaf } from "./tree";

interface Node {
  leaf?: Leaf;
  children?: Node[];
}

/** Draws the treemap of leaves, the largest first; those too many to see are one. */
export function treemap(
  leaves: Leaf[],
  label: string,
  chosen?: (at: number) => void,
  kinds?: [number, string][],
): HTMLElement {
  const most = 400;
  const all =
    leaves.length > most
      ? [
          ...leaves.slice(0, most),
          {
            name: `${leaves.length - most} smaller`,
            where: "",
            kind: 4,
            bytes: leaves.slice(most).reduce((n, l) => n + l.bytes, 0),
          },
        ]
      : leaves;
  const whole = all.reduce((n, l) => n + l.bytes, 0);
  let boxes: { x0: number; x1: number; y0: number; y1: number; leaf: Leaf }[] = [];
  const sheet = new Sheet(
    "treemap",
    `treemap, ${label}: ` +
      all
        .slice(0, 5)
        .map((l) => `${l.name} ${bytes(l.bytes)}`)
        .join(", "),
    (c, s) => {
      const root = hierarchy<Node>({ children: all.map((leaf) => ({ leaf })) }).sum((n) => n.leaf?.bytes ?? 0);
      boxes = squares<Node>()
        .size([s.width, s.height])
        .paddingInner(1)(root)
        .leaves()
        .filter((n) => n.data.leaf)
        .map((n) => ({ x0: n.x0, x1: n.x1, y0: n.y0, y1: n.y1, leaf: n.data.leaf! }));
      const ink = color("box-ink");
      for (const b of boxes) {
        const w = b.x1 - b.x0,
          height = b.y1 - b.y0;
        c.fillStyle = color("box-" + b.leaf.kind);
        c.fillRect(b.x0, b.y0, w, height);
        c.fillStyle = ink;
        if (height > 16) c.fillText(clipped(c, b.leaf.name, w - 8), b.x0 + 4, b.y0 + 10);
        if (height > 32) c.fillText(clipped(c, bytes(b.leaf.bytes), w - 8), b.x0 + 4, b.y0 + 26);
      }
    },
  );
  const at = (e: MouseEvent) =>
    boxes.findIndex((b) => e.offsetX >= b.x0 && e.offsetX < b.x1 && e.offsetY >= b.y0 && e.offsetY < b.y1);
  sheet.canvas.addEventListener("mousemove", (e) => {
    const b = boxes[at(e)];
    if (b) say(e, b.leaf.name, b.leaf.where, `${bytes(b.leaf.bytes)} · ${share(b.leaf.bytes, whole)}`);
    else say(null);
  });
  sheet.canvas.addEventListener("mouseleave", () => say(null));
  if (chosen)
    sheet.canvas.addEventListener("click", (e) => {
      const b = boxes[at(e)];
      if (b) chosen(all.indexOf(b.leaf));
    });
  return h("div", { class: "graph" }, sheet.canvas, legend(kinds));
}
