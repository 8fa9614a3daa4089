// The pages of the site: docs/README.md and every page that a link leads to from there, as they are in the repository.
// Only their links are changed: README.md is a folder's index, and a file that is no page is copied into files/.
import { cpSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";

export const root = join(import.meta.dirname, "../..");
const START = "docs/README.md";
const LINK = /(!\[[^\]]*)?(\]\()([^()\s]+)(\))/g; // as docs_test.go finds them; a picture with its text

/** Calls change with each part of a page that is no code, and returns the page with the answers in their places. */
function outsideCode(text, change) {
  const code = /^ *```[^\n]*\n[\s\S]*?^ *```[^\n]*$|`[^`\n]+`/gm;
  const left = [];
  const hidden = text.replace(code, (found) => `\u0000${left.push(found) - 1}\u0000`);
  return change(hidden).replace(/\u0000(\d+)\u0000/g, (_, at) => left[at]);
}

const WHERE = "docs/where.md";
const MINUTE = "docs/pictures/one-minute.svg";
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path fill="#7a7a7a" ' +
  'd="M3 20h18v2H3zM4 18V9h3v9zm5 0V3h3v15zm5 0v-6h3v6zm5 0v-9h2v9z"/></svg>';

const outside = (link) => /^[a-z]+:/.test(link);
const picture = (path) => /\.(png|svg)$/.test(path);
const renamed = (path) => (path === "README.md" ? "readme.md" : path.replace(/\/README\.md$/, "/index.md"));
/** A source is shown as text by any web server. */
const copied = (path) => "files/" + path + (/\.(json|ipynb|txt|png|svg)$/.test(path) ? "" : ".txt");

/** Returns the paths that a page links to, without anchors. */
function targets(path, text) {
  const found = [];
  outsideCode(text, (rest) => {
    for (const [, , , link] of rest.matchAll(LINK)) {
      const file = link.split("#")[0];
      if (file && !outside(link)) {
        found.push(normalize(join(dirname(path), file)));
      }
    }
    return rest;
  });
  return found;
}

/** Returns the texts of all pages, and the paths of all other files that they link to. */
export function collect() {
  const pages = new Map();
  const files = new Set([MINUTE]);
  for (const next = [START, "README.md"]; next.length > 0; ) {
    const path = next.shift();
    if (pages.has(path) || files.has(path)) {
      continue;
    }
    if (path.startsWith("..") || !existsSync(join(root, path)) || !statSync(join(root, path)).isFile()) {
      throw new Error(`${path} is linked to, and is no file`);
    }
    if (path.endsWith(".md")) {
      pages.set(path, readFileSync(join(root, path), "utf8"));
      next.push(...targets(path, pages.get(path)));
    } else {
      files.add(path);
    }
  }
  return { pages, files };
}

/** Returns a page with links for the site. from: the place of the text if it is shown in another page. */
function linked(path, text, from = path) {
  return outsideCode(text, (rest) =>
    rest.replace(LINK, (whole, shown, open, link, close) => {
      const [file, anchor] = link.split("#");
      if (!file || outside(link)) {
        return whole;
      }
      const to = normalize(join(dirname(from), file));
      const hash = anchor ? "#" + anchor : "";
      if (to.endsWith(".md") || shown) {
        const near = relative(dirname(renamed(path)), renamed(to));
        return (shown ?? "") + open + (near.startsWith(".") ? near : "./" + near) + hash + close;
      }
      return open + "pathname:///" + copied(to) + close;
    }),
  );
}

/** Returns the groups of the contents, docs/README.md: a bold word, and links behind it. */
export function groups(text) {
  const found = [];
  for (const paragraph of text.split(/\n\n+/)) {
    const name = /^\*\*(?:\[([^\]]*)\]\([^)]*\)|([^*]*))\*\*/.exec(paragraph);
    if (name) {
      const items = [...paragraph.matchAll(/\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)/g)];
      const entry = ([, words, link, anchor]) => ({
        text: words.replace(/\s+/g, " ").replace(/^./, (first) => first.toUpperCase()),
        link: "/" + renamed(normalize(join("docs", link))).replace(/(index)?\.md$/, "") + (anchor ?? ""),
      });
      found.push({ text: name[1] ?? name[2], items: items.map(entry) });
    }
  }
  return found;
}

/** Returns the first page: the README's first words, the picture of one minute, and where it runs. */
function landing(pages) {
  const [, question, rest] = /^# .*\n\n\*\*([^*]+)\*\* ([\s\S]*?)\n\n/.exec(pages.get("README.md"));
  const minute = `![One minute: tracer attach in a terminal, then JupyterLab](./${MINUTE})`;
  const links = [
    ["Your first leak", "./docs/tutorial.md"],
    ["Install", "./docs/howto/install.md"],
    ["Questions", "./docs/faq.md"],
    ["All pages", "./docs/index.md"],
    ["Open a recording", "pathname:///open/index.html"],
  ];
  return [
    `---\n${JSON.stringify({ title: "ipytracer", titleTemplate: false, sidebar: false, aside: false })}\n---`,
    `# ${question}`,
    rest,
    links.map(([words, to]) => `[${words}](${to})`).join(" · "),
    minute,
    linked("index.md", pages.get(WHERE).replace(/^#/, "##"), WHERE),
  ].join("\n\n");
}

/** Writes the pages and files into a folder that VitePress builds from; returns the contents. */
export function stage(folder) {
  const { pages, files } = collect();
  const put = (path, text) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  for (const [path, text] of pages) {
    put(renamed(path), linked(path, text));
  }
  put("index.md", landing(pages));
  for (const path of files) {
    for (const to of [join(folder, "public", copied(path)), ...(picture(path) ? [join(folder, path)] : [])]) {
      mkdirSync(dirname(to), { recursive: true });
      cpSync(join(root, path), to);
    }
  }
  put("public/icon.svg", ICON);
  return groups(pages.get(START));
}
