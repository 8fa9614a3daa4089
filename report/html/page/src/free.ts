// What to type to free memory. Code is there as it is typed, whole, with a button that copies it.
import { Freeing } from "./block";
import { Session } from "./data";
import { button, h, size } from "./dom";

/** Code, and a button that copies it. */
export function code(text: string): HTMLElement {
  const shows = h("code", { class: "fix" }, text);
  const copy = button(
    "copy",
    () =>
      void copied(text, shows).then((ok) => {
        copy.textContent = ok ? "copied" : "press Ctrl-C";
        setTimeout(() => {
          copy.textContent = "copy";
        }, 2000);
      }),
    "copy the code",
    "copy",
  );
  return h("span", { class: "typed" }, shows, " ", copy);
}

/**
 * Puts code on the clipboard. Where a page may not, as one of a file in some browsers, the code is selected, and false
 * comes back.
 */
async function copied(text: string, shows: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(shows);
    return document.execCommand("copy");
  }
}

/** The list of what to type, most first; null where there is nothing. */
export function freeing(s: Session): HTMLElement | null {
  const all = s.page.toFree;
  if (all.length === 0) return null;
  const several = new Set(all.map((f) => f.pid)).size > 1;
  return h(
    "section",
    { class: "free" },
    h("h3", {}, "To free it, type into a cell"),
    h(
      "dl",
      {},
      ...all.flatMap((f) => [
        h("dt", {}, ...sizes(f)),
        h(
          "dd",
          {},
          code(f.type),
          h(
            "div",
            { class: "quiet" },
            (f.names || "what waits for the garbage collector") + (several ? ` · pid ${f.pid}` : ""),
          ),
        ),
      ]),
    ),
  );
}

function sizes(f: Freeing): (HTMLElement | string)[] {
  const least = f.exact ? "" : "≥",
    out: (HTMLElement | string)[] = [];
  if (f.bytes > 0 || !f.device)
    out.push(size(f.bytes, `free:${f.at}:predicted`, least, f.exact ? "" : "at least this"));
  if (f.device) out.push(out.length > 0 ? " + " : "", size(f.device, `free:${f.at}:predicted_device`, least), " GPU");
  return out;
}
