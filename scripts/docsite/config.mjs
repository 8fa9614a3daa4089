// VitePress: its own theme and its own search, and a policy by which the browser asks nobody but the site's server.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const contents = JSON.parse(process.env.SITE_CONTENTS ?? "[]");
const policy =
  "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "object-src 'none'; base-uri 'none'; form-action 'none'";

/** Returns the name that GitHub gives a heading, as docs_test.go has it. */
export function slug(text) {
  const kept = text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "");
  return kept.replace(/ /g, "-");
}

/** Links to files that are no pages go past VitePress, which knows pages only. */
function files(md) {
  const before = md.renderer.rules.link_open;
  md.renderer.rules.link_open = (tokens, at, options, env, self) => {
    const href = tokens[at].attrGet("href") ?? "";
    if (!href.startsWith("pathname://")) {
      return before ? before(tokens, at, options, env, self) : self.renderToken(tokens, at, options);
    }
    tokens[at].attrSet("href", href.slice("pathname://".length));
    tokens[at].attrSet("target", "_self");
    return self.renderToken(tokens, at, options);
  };
}

const ALLOWED = new Set(["MIT", "ISC", "BSD-3-Clause", "BSD-2-Clause", "Apache-2.0"]);

/** Collects the libraries of the site's programs, and writes their licences beside them. */
const libraries = new Set();
const collects = {
  name: "licences",
  generateBundle(_options, bundle) {
    for (const part of Object.values(bundle)) {
      for (const id of Object.keys(part.modules ?? {})) {
        const found = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(id);
        if (found) {
          libraries.add(found[1]);
        }
      }
    }
  },
};

function licences({ outDir }) {
  let text = "Libraries that the programs of this site contain, and their licences.\n";
  for (const name of [...libraries].sort()) {
    const folder = join(import.meta.dirname, "node_modules", name);
    const { version, license, author } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    if (!ALLOWED.has(license)) {
      throw new Error(`${name} ${version}: its licence is ${license}, which nobody has looked at`);
    }
    const terms = file ? readFileSync(join(folder, file), "utf8").trim() : `Copyright ${author.name ?? author}`;
    text += `\n${"=".repeat(80)}\n${name} ${version} (${license})\n\n${terms}\n`;
  }
  if (!libraries.has("vue") || !libraries.has("minisearch")) {
    throw new Error(`only ${[...libraries]} were found in the site's programs`);
  }
  writeFileSync(join(outDir, "licenses.txt"), text);
}

export default {
  vite: { plugins: [collects] },
  buildEnd: licences,
  title: "ipytracer",
  description: "Which cell of the notebook used the memory, and which line?",
  lang: "en",
  head: [
    ["meta", { "http-equiv": "Content-Security-Policy", content: policy }],
    ["link", { rel: "icon", type: "image/svg+xml", href: "/icon.svg" }],
  ],
  ignoreDeadLinks: false,
  metaChunk: true,
  markdown: {
    anchor: { slugify: slug },
    config: files,
    languageAlias: { promql: "text" },
  },
  themeConfig: {
    nav: [
      { text: "Questions", link: "/docs/faq" },
      { text: "All pages", link: "/docs/" },
      { text: `${process.env.SITE_VERSION}`, link: "/CHANGELOG" },
    ],
    sidebar: contents,
    outline: [2, 3],
    search: { provider: "local" },
  },
};
