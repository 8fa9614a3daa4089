// Reads the block of data: at once the parts that are drawn first, then the sources of the cells, a part at a time, so
// that the page always responds.
import { Page, Part } from "./block";
import { get, set } from "./state";
import { learn } from "./terms";

/** The block as it is in the page: columns of numbers are texts, and large parts are deflated. */
interface Written extends Omit<Page, "texts" | "rows" | "details" | "nodes" | "frames" | "timeline" | "sources"> {
  body: string;
  sources: { at: string; data: string }[];
}

/** Lets the browser run other tasks. */
export const pause = (): Promise<void> =>
  new Promise((done) => {
    const c = new MessageChannel();
    c.port1.onmessage = () => {
      c.port1.close();
      done();
    };
    c.port2.postMessage(0);
  });

/** Returns a part of the page that is deflated. */
async function inflated<T>(text: string): Promise<T> {
  const raw = atob(text),
    bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const json = await new Response(stream).text();
  await pause();
  return JSON.parse(json);
}

/**
 * Reads a column: each number is the difference from the one before, as a varint with the sign in its lowest bit. Exact
 * as far as numbers are.
 */
export function column(text: string): Float64Array {
  const s = atob(text);
  let n = 0;
  for (let i = 0; i < s.length; i++) if (s.charCodeAt(i) < 128) n++;
  const out = new Float64Array(n);
  let value = 0;
  for (let i = 0, at = 0; at < n; at++) {
    let b = s.charCodeAt(i++),
      size = (b & 126) / 2;
    const negative = b & 1;
    for (let by = 64; b > 127; by *= 128) {
      b = s.charCodeAt(i++);
      size += (b & 127) * by;
    }
    out[at] = value += negative ? -size - 1 : size;
  }
  return out;
}

/** Replaces all columns of an object by their numbers. */
function columns(o: any, ...but: string[]): void {
  for (const key of Object.keys(o)) if (typeof o[key] === "string" && !but.includes(key)) o[key] = column(o[key]);
}

/** Reads a page, except its sources. */
export async function read(text: string): Promise<Page> {
  const written: Written = JSON.parse(text);
  await pause();
  const body = await inflated<any>(written.body);
  for (const one of [body.rows, body.rows.trees, body.rows.unlisted, ...body.rows.figures, body.nodes, body.frames]) {
    columns(one);
    await pause();
  }
  for (const d of body.details) columns(d, "sampled");
  for (const t of body.timeline) columns(t, "kinds");
  const parts: Part[] = written.sources.map((p) => ({ at: column(p.at), data: p.data }));
  const page: any = { ...written, ...body, sources: [""], parts };
  delete page.body;
  learn(page.terms);
  return page;
}

/** Reads the next of the sources; reports whether there was one. */
export async function more(page: Page): Promise<boolean> {
  const part = page.parts.shift();
  if (!part) return false;
  const all = await inflated<string[]>(part.data);
  part.at.forEach((at, i) => {
    page.sources[at] = all[i];
  });
  return true;
}

/** Reads all sources, and notifies the drawing code after each part. */
export async function sources(page: Page): Promise<void> {
  while (await more(page)) {
    set({ read: get().read + 1 });
    await pause();
  }
}
