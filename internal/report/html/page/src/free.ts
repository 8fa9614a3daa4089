// Code that frees memory. It is shown in full, as it is typed, with a button that copies it.
import { Freeing } from "./block";
import { Session } from "./data";
import { button, h, size } from "./dom";

/** Returns code with a button that copies it. */
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
 * Copies code to the clipboard. Where a page may not (a file in some browsers), it selects the code and returns false.
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

/** Returns the list of code, most bytes first; null if it is empty. */
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
    out.push(
      f.objects ? "objects of " : "",
      size(f.bytes, `free:${f.at}:predicted`, least, f.exact ? "" : "at least this"),
    );
  if (f.device) out.push(out.length > 0 ? " + " : "", size(f.device, `free:${f.at}:predicted_device`, least), " GPU");
  return out;
}
