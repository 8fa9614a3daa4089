// Text for VS Code: an item of a status bar takes $(name) for an icon, and a notebook may contain anything.

import { IPart } from "../../python/labextension/src/parts";

const MOST_TEXT = 300; // characters of an item
// Control characters, and what turns the direction of text.
const HIDDEN = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Returns a text as an item shows it: one line, no icons, not too long. */
export function plain(text: string): string {
  const one = lines(text).replace(/\n/g, " ").replace(/\$\(/g, "$ (");
  return one.length > MOST_TEXT ? one.slice(0, MOST_TEXT - 1) + "…" : one;
}

/** Returns a text of several lines as a tooltip shows it. */
export function lines(text: string): string {
  return text.replace(HIDDEN, "\ufffd");
}

/** Returns a part of a badge as text: "need 512.00 MiB". Its note is left to the tooltip: there is little room. */
export function said(part: IPart): string {
  return `${part.name} ${part.value}`.trim();
}
