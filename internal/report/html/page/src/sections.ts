// The memory that the session left behind, by name, by line and by process; and its certainty.
import { Verdict } from "./block";
import { advice } from "./advice";
import { Session, estimated, figuresIn } from "./data";
import { opener } from "./cell";
import { figure, h, size, table } from "./dom";
import { code, freeing } from "./free";
import { count, duration, plural } from "./format";
import { frameName, frameWhere } from "./tree";
import { word } from "./terms";

/** A part of the page beside the cells: its id, its title, and the number of its items. */
export interface Section {
  id: string;
  name: string;
  draw(s: Session): HTMLElement;
  count(s: Session): string;
}

export const sections: Section[] = [
  { id: "advice", name: "Advice", draw: advice, count: (s) => String(s.page.advice?.items.length || "") },
  { id: "leaks", name: "Leaks", draw: leaks, count: (s) => (s.page.audit ? String(s.page.audit.verdicts.length) : "") },
  { id: "variables", name: "Variables", draw: variables, count: (s) => String(s.page.variables.length || "") },
  { id: "lines", name: "Lines", draw: lines, count: (s) => String(s.page.lines.length || "") },
  { id: "processes", name: "Processes", draw: processes, count: (s) => String(s.page.processes.length || "") },
  {
    id: "certificate",
    name: "Certificate",
    draw: certificate,
    count: (s) => (s.page.doubts.length === 0 ? "✓" : "!" + s.page.doubts.length),
  },
];

function leaks(s: Session): HTMLElement {
  const a = s.page.audit;
  if (!a)
    return h(
      "div",
      {},
      h(
        "p",
        {},
        "Nobody looked for leaks in this page: ",
        h("code", {}, "tracer report FILE --format html"),
        " of a recording does.",
      ),
      freeing(s),
    );
  return h(
    "div",
    {},
    h("h2", {}, a.verdicts.length > 0 ? plural(a.verdicts.length, "verdict") : (a.allClear ?? "")),
    freeing(s),
    ...a.verdicts.map((v, i) => verdict(s, v, i)),
    a.more! > 0 && h("p", { class: "quiet" }, `… and ${plural(a.more!, "verdict")} more, all smaller`),
    a.not.length > 0 && h("h3", {}, "Not judged"),
    a.not.length > 0 && h("ul", {}, ...a.not.map((t) => h("li", {}, t))),
    a.held.length > 0 && h("h3", {}, "Still there at the end, by what holds it"),
    a.held.length > 0 &&
      table(
        ["meter", ">bytes", ">blocks", "held by", "name"],
        a.held.map((x, i) => [x.meter, size(x.bytes, `held:${i}:bytes`), count(x.count), x.by, x.holder]),
      ),
    a.moreHeld! > 0 && h("p", { class: "quiet" }, `… and ${a.moreHeld} more, all smaller`),
  );
}

function verdict(s: Session, v: Verdict, at: number): HTMLElement {
  const row = (name: string, value: Node | string | null) => (value ? [word("dt", name), h("dd", {}, value)] : []);
  return h(
    "article",
    { class: "verdict" },
    h("h3", {}, `${at + 1}. ${v.title}: ${v.meter} `, size(v.bytes, `verdict:${at}:bytes`)),
    h(
      "dl",
      {},
      ...row("line", v.line),
      ...row("cells", v.cells ? opener(s, v.pid, v.execution, v.cells) : null),
      ...row("held by", v.holder ? (v.probable ? "probably " : "") + v.holder : null),
      ...row("oldest", v.age > 0 ? duration(v.age) : null),
      ...row("why", v.evidence),
      ...row("try", v.advice),
      ...row("type it", v.fix ? code(v.fix) : null),
    ),
  );
}

function variables(s: Session): HTMLElement {
  const all = s.page.variables;
  if (all.length === 0)
    return h(
      "p",
      {},
      "Variables were not looked at: the process had ended before the session did, or the session was not recorded.",
    );
  const rest = s.page.names;
  return h(
    "div",
    {},
    h("h2", {}, "Variables at the end"),
    h("p", { class: "quiet" }, "alone: freed with the name · reaches: shared ones, too"),
    freeing(s),
    table(
      [">alone", ">GPU", ">reaches", "name", "type", "shape", "made by"],
      all.map((v) => [
        v.bytes === 0 && v.reaches > 0
          ? h("span", {}, size(0, `v:${v.at}:bytes`, v.exact ? "" : "≥"), h("span", { class: "quiet" }, " (shared)"))
          : size(v.bytes, `v:${v.at}:bytes`, v.exact ? "" : "≥", v.exact ? "" : "at least this"),
        v.device ? size(v.device, `v:${v.at}:device`, v.exact ? "" : "≥") : "",
        size(v.reaches, `v:${v.at}:reaches`),
        h(
          "span",
          {},
          h("b", {}, v.name),
          v.also ? h("span", { class: "quiet" }, " = " + v.also) : null,
          v.kind === "variable" ? null : h("span", { class: "quiet" }, ` (${v.kind})`),
        ),
        v.type,
        v.shape,
        v.maker ? opener(s, v.pid, v.execution ?? 0, v.maker, v.line) : v.before ? "before the attach" : "",
      ]),
    ),
    rest.unlisted > 0 &&
      h(
        "p",
        { class: "quiet" },
        `… and ${plural(rest.unlisted, "name")} more, with `,
        size(rest.bytes, "names:bytes"),
        " together",
      ),
    !rest.complete && h("p", { class: "inexact" }, "≥ marks a lower bound: there was no time to look at all objects."),
    ...s.page.resident.map((r) =>
      h(
        "section",
        {},
        h("h3", {}, `Resident memory of pid ${r.pid} at the end, where it is: `, size(r.total, `r:${r.at}:total`)),
        table(
          [">bytes", "what"],
          [...r.parts].sort((a, b) => b.bytes - a.bytes).map((p) => [size(p.bytes, `r:${r.at}:part`), p.text]),
        ),
        r.trim > 0 && h("p", { class: "quiet" }, "malloc_trim(0) would give back ", size(r.trim, `r:${r.at}:trim`)),
        !r.complete &&
          h(
            "p",
            { class: "inexact" },
            "≈ There was more than could be looked at in time: it is in what is not explained.",
          ),
      ),
    ),
    s.page.tensors.length > 0 && h("h3", {}, "PyTorch's blocks at the end"),
    s.page.tensors.length > 0 &&
      table(
        ["meter", ">bytes", ">blocks", ">of", "who"],
        s.page.tensors.map((t) => [
          s.page.meters[t.meter].name,
          size(t.bytes, `tensor:${t.at}:bytes`),
          count(t.count),
          size(t.size, `tensor:${t.at}:size`),
          t.who,
        ]),
      ),
  );
}

function lines(s: Session): HTMLElement {
  const f = s.page.frames;
  const own = s.page.lines.filter((l) => f.kind[l.frame] <= 1),
    shown = (own.length > 0 ? own : s.page.lines).slice(0, 200);
  if (shown.length === 0) return h("p", {}, "Who allocated is not known in this session.");
  return h(
    "div",
    {},
    h("h2", {}, "Lines of the session"),
    h(
      "p",
      { class: "quiet" },
      "Each with all that it called. At peak: there at the session's highest moment of the meter. " +
        "Your own lines; the graphs of the cells have the libraries'.",
    ),
    table(
      ["meter", ">at peak", ">allocated", ">freed", ">left", ">times", "line", "file"],
      shown.map((l) => [
        s.page.meters[l.meter].name,
        size(l.atPeak, `l:${l.at}:at_peak`, estimated(l)),
        size(l.allocated, `l:${l.at}:allocated`, estimated(l)),
        size(l.freed, `l:${l.at}:freed`, estimated(l)),
        size(l.left, `l:${l.at}:left`, estimated(l)),
        count(l.count),
        opener(s, l.pid, f.execution[l.frame], frameName(s, l.frame), f.line[l.frame]),
        h("span", { class: "quiet" }, frameWhere(s, l.frame)),
      ]),
    ),
    own.length > shown.length &&
      own.length > 0 &&
      h("p", { class: "quiet" }, `… and ${plural(own.length - shown.length, "lighter line")}`),
  );
}

function processes(s: Session): HTMLElement {
  const meters = s.moving().filter((m) => !s.page.meters[m].part);
  return h(
    "div",
    {},
    h("h2", {}, "Processes"),
    table(
      [">pid", ">parent", "command", ...meters.map((m) => ">" + s.page.meters[m].name), ">from", ">to"],
      s.page.processes.map((p) => {
        const all = figuresIn(p.figures);
        const about = [
          p.python && "Python " + p.python,
          p.ipython && "IPython " + p.ipython,
          p.late && "ran before",
          p.ended,
        ]
          .filter(Boolean)
          .join(" · ");
        return [
          String(p.pid),
          p.parent ? String(p.parent) : "–",
          h(
            "span",
            {},
            p.command,
            about ? h("span", { class: "quiet" }, " · " + about) : null,
            ...p.limits.map((l) =>
              h(
                "div",
                { class: "quiet" },
                "limit: ",
                size(l.bytes, "limit"),
                ` of ${s.page.meters[l.meter].name}, ${l.text}`,
              ),
            ),
          ),
          ...meters.map((m) =>
            figure(all.find((f) => f.meter === m) ?? null, "peak", `p:${p.at}:${s.page.meters[m].id}`),
          ),
          "+" + duration(p.start),
          "+" + duration(p.end),
        ];
      }),
    ),
  );
}

function certificate(s: Session): HTMLElement {
  const p = s.page.proof,
    host = s.page.host;
  return h(
    "div",
    {},
    h("h2", {}, "Certificate"),
    p.complete
      ? h(
          "p",
          { class: "good" },
          "✓ complete: every change made in the kernel reached this page, and no window is missing.",
        )
      : h("p", { class: "inexact" }, "✗ not complete:"),
    s.page.doubts.length > 0 && h("ul", {}, ...s.page.doubts.map((t) => h("li", {}, t))),
    s.page.unnamed.length > 0 &&
      h("p", {}, "Who allocated is not known in full; no figure and no window depends on that:"),
    s.page.unnamed.length > 0 && h("ul", {}, ...s.page.unnamed.map((t) => h("li", {}, t))),
    h(
      "p",
      {},
      `${count(p.made)} changes made, ${count(p.delivered)} delivered, ${p.losses}.`,
      p.defects! > 0 && ` ${count(p.defects!)} boundaries lost: this is a defect of ipytracer, please report it.`,
      p.finished && ` The session ended: ${p.finished}.`,
    ),
    ...p.frees.map(([title, text]) => h("p", {}, `${title}: ${text}`)),
    h(
      "p",
      { class: "quiet" },
      "Peaks are kept by the kernel and computed again from the stream of changes; " +
        "a window is proven where both agree to the byte.",
    ),
    table(["meter", "figures are", "windows proven", "served by"], p.meters),
    p.problems.length > 0 && h("h3", {}, "What else to know"),
    p.problems.length > 0 && h("ul", {}, ...p.problems.map((t) => h("li", {}, t))),
    s.page.left.length > 0 && h("h3", {}, "Not in this page"),
    s.page.left.length > 0 && h("ul", {}, ...s.page.left.map((t) => h("li", {}, t))),
    p.probes.length > 0 &&
      h(
        "details",
        {},
        h("summary", {}, plural(p.probes.length, "probe")),
        table(
          ["probe", ">fired", "where"],
          p.probes.map((x) => [x.name, count(x.hits), x.site]),
        ),
      ),
    h(
      "p",
      { class: "quiet" },
      [
        host.name,
        host.kernel && "Linux " + host.kernel,
        host.cpus > 0 && plural(host.cpus, "CPU"),
        host.tracer && "ipytracer " + host.tracer,
        host.started,
      ]
        .filter(Boolean)
        .join(" · "),
      " ",
    ),
    host.memory > 0 && h("p", { class: "quiet" }, size(host.memory, "host:memory"), " of memory"),
  );
}
