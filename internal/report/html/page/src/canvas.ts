// Canvases: as large as they are on the screen, sharp on every display, drawn once a frame; and the tooltip for the
// place under the pointer.
import { fill, h } from "./dom";

export class Sheet {
  readonly canvas: HTMLCanvasElement;
  width = 0;
  height = 0;
  private asked = false;

  constructor(
    kind: string,
    label: string,
    private readonly paint: (c: CanvasRenderingContext2D, s: Sheet) => void,
  ) {
    this.canvas = h("canvas", { class: kind, tabindex: 0, role: "img", "aria-label": label });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /** Requests a drawing with the next frame. */
  draw(): void {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.now();
    });
  }

  now(): void {
    const scale = window.devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    if (this.width === 0 || this.height === 0) return;
    const w = Math.round(this.width * scale),
      hh = Math.round(this.height * scale);
    if (this.canvas.width !== w || this.canvas.height !== hh) {
      this.canvas.width = w;
      this.canvas.height = hh;
    }
    const c = this.canvas.getContext("2d")!;
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    c.font = "12px system-ui, sans-serif";
    c.textBaseline = "middle";
    this.paint(c, this);
  }
}

/** Returns a colour by its name in colours.css. */
export const color = (name: string): string =>
  getComputedStyle(document.documentElement)
    .getPropertyValue("--ipytracer-" + name)
    .trim();

/** Returns text cut to a width; "" where nothing fits. */
export function clipped(c: CanvasRenderingContext2D, text: string, width: number): string {
  if (width < 14) return "";
  if (text.length > 300) text = text.slice(0, 300);
  if (c.measureText(text).width <= width) return text;
  let low = 0,
    high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (c.measureText(text.slice(0, middle) + "…").width <= width) low = middle;
    else high = middle - 1;
  }
  return low < 2 ? "" : text.slice(0, low) + "…";
}

export const tip = h("div", { class: "tip", role: "status" });

/** Shows lines beside the pointer; an empty list hides them. */
export function say(e: MouseEvent | null, ...lines: (string | HTMLElement)[]): void {
  tip.classList.toggle("shown", e !== null && lines.length > 0);
  if (!e || lines.length === 0) return;
  fill(tip, ...lines.map((l) => h("div", {}, l)));
  const left = Math.min(e.clientX + 14, window.innerWidth - tip.offsetWidth - 8),
    below = e.clientY + 16;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = (below + tip.offsetHeight > window.innerHeight ? e.clientY - tip.offsetHeight - 10 : below) + "px";
}
