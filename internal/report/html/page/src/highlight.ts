// Python source in colours: pieces of text with the name of a class, never markup.
import { parser } from "@lezer/python";
import { highlightCode, tagHighlighter, tags } from "@lezer/highlight";

const classes = tagHighlighter([
  { tag: tags.keyword, class: "k" },
  { tag: tags.controlKeyword, class: "k" },
  { tag: tags.operatorKeyword, class: "k" },
  { tag: tags.definitionKeyword, class: "k" },
  { tag: tags.moduleKeyword, class: "k" },
  { tag: tags.modifier, class: "k" },
  { tag: tags.self, class: "k" },
  { tag: tags.bool, class: "k" },
  { tag: tags.null, class: "k" },
  { tag: tags.string, class: "s" },
  { tag: tags.special(tags.string), class: "s" },
  { tag: tags.number, class: "n" },
  { tag: tags.comment, class: "c" },
  { tag: tags.lineComment, class: "c" },
  { tag: tags.function(tags.variableName), class: "f" },
  { tag: tags.function(tags.definition(tags.variableName)), class: "f" },
  { tag: tags.definition(tags.className), class: "f" },
  { tag: tags.meta, class: "f" },
]);

// Longer sources are shown without colours: a cell that holds a data set as text takes seconds to parse.
const LONGEST = 50_000;

/** Returns the lines of a source, each a list of text and class ("" for none). */
export function highlight(source: string): [string, string][][] {
  if (source.length > LONGEST) return source.split("\n").map((l) => [[l, ""]]);
  const lines: [string, string][][] = [[]];
  highlightCode(
    source,
    parser.parse(source),
    classes,
    (text, name) => lines[lines.length - 1].push([text, name]),
    () => lines.push([]),
  );
  return lines;
}
