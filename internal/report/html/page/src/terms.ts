// What the words of the page mean: the sentences of `tracer explain`, which come with the page's data.
import { Term } from "./block";
import { h } from "./dom";

let all: Term[] = [];
const meanings = new Map<string, string>();

/** Takes in the words of a page and their meanings. */
export function learn(terms: Term[]): void {
  all = terms;
  meanings.clear();
  for (const { names, text } of terms) for (const name of names) meanings.set(name.toLowerCase(), text);
}

/** Returns what a word of the page means; "" for one that explains itself. */
export const meaning = (word: string): string => meanings.get(word.replace(/ at peak$/, "").toLowerCase()) ?? "";

/** Returns an element of a word, which says what it means where the pointer rests on it and to screen readers. */
export function word(tag: "th" | "dt" | "span", text: string, kind = ""): HTMLElement {
  const means = meaning(text);
  return h(tag, { class: kind, title: means !== "" && means, ...(tag === "th" ? { scope: "col" } : {}) }, text);
}

/** Returns all words with their meanings, for those who have no pointer. */
export const glossary = (): HTMLElement =>
  h(
    "dl",
    { class: "terms", tabindex: 0, "aria-label": "what the words mean" },
    ...all.flatMap((t) => [h("dt", {}, t.names.join(", ")), h("dd", {}, t.text)]),
  );
