"""The display of a window, as text and as HTML."""

import html.parser
import json
import re
import unittest

from ipytracer import _found, _html, _packets, _show, _text
from ipytracer._looked import Advice

from .fake import MIB, figure, window

HELLO = _packets.Hello("1", 1, 1024 * MIB, "container")
# Tags and attributes that JupyterLab's sanitiser keeps of notebooks that are not trusted, as far as used here
# (packages/apputils/src/sanitizer.ts).
KEPT = {
    "div": {"style"},
    "span": {"style"},
    "b": set(),
    "meter": {"min", "max", "high", "value"},
    "table": {"style"},
    "thead": set(),
    "tbody": set(),
    "tr": set(),
    "th": {"style"},
    "td": {"style"},
    "details": {"open"},
    "summary": set(),
}


def parsed(**more):
    return _packets.window(window(3, **more))


class _Reader(html.parser.HTMLParser):
    def __init__(self, test):
        super().__init__()
        self.test, self.open, self.said = test, [], ""

    def handle_starttag(self, tag, attrs):
        self.test.assertIn(tag, KEPT)
        self.test.assertLessEqual({name for name, _ in attrs}, KEPT[tag])
        for style in (value for name, value in attrs if name == "style"):
            self.test.assertNotRegex(style, r"#[0-9a-f]{3}|rgb|url|expression")
        self.open.append(tag)

    def handle_endtag(self, tag):
        self.test.assertEqual(self.open.pop(), tag)

    def handle_data(self, data):
        self.said += data


class Compact(unittest.TestCase):
    def test_exact(self):
        self.assertEqual(
            _text.compact(parsed()),
            "In[3]  need 512.00 MiB · consumed 1.00 MiB · peaked 511.00 MiB · total 101.00 MiB · "
            "numpy 512.00 MiB (line 1 › ones) · 1.47 s",
        )

    def test_not_exact(self):
        about = parsed(meters={"cpu.resident": figure(0, 5, 3, False, 4096)})
        self.assertIn("need ≈5 B · consumed ≈3 B · peaked ≈2 B · total ≈3 B", _text.compact(about))
        least = parsed(meters={"cpu.resident": figure(0, 5, 3, False, None)})
        self.assertIn("need ≥5 B · consumed ≈3 B · peaked ≥2 B · total ≈3 B", _text.compact(least))

    def test_gpus(self):
        meters = {
            "cpu.resident": figure(0, 5, 3),
            "gpu.0.driver": figure(0, 2 << 30, 1 << 30),
            "gpu.0.reserved": figure(0, 2 << 30, 1 << 30),
            "gpu.1.active": figure(0, 0, 0),
        }
        top = {"gpu.0.driver": {"at_peak": 2 << 30, "where": "In[1] line 2", "line": 2, "execution": 1}}
        self.assertTrue(
            _text.compact(parsed(meters=meters, top=top)).startswith(
                "In[3]  GPU 0 driver 2.00 GiB (total 1.00 GiB, In[1] line 2) · resident need 5 B · consumed 3 B · "
                "peaked 2 B · total 3 B · 1.47 s"
            )
        )
        meters["cpu.resident"] = figure(0, 3 << 30, 3)
        self.assertIn("In[3]  need 3.00 GiB · ", _text.compact(parsed(meters=meters, top=top)))
        self.assertIn(
            " · GPU 0 driver 2.00 GiB (total 1.00 GiB, In[1] line 2) · 1.47 s",
            _text.compact(parsed(meters=meters, top=top)),
        )

    def test_children(self):
        child = {"pid": 9, "command": "x", "meters": {}}
        shown = _text.compact(
            parsed(children=[child, child], children_unlisted=3, tree={"cpu.resident": figure(0, 3 << 30, 0)})
        )
        self.assertIn(" · tree 3.00 GiB (5 children) · ", shown)

    def test_mapped_where_nothing_else_explains_it(self):
        top = {"cpu.mapped": {"at_peak": 512 * MIB, "where": "In[3] line 1 › f", "line": 1, "execution": 3}}
        meters = {"cpu.resident": figure(0, 512 * MIB, 0), "cpu.mapped": figure(0, 512 * MIB, 0)}
        self.assertIn("mapped 512.00 MiB (line 1 › f)", _text.compact(parsed(meters=meters, top=top)))

        top["cpu.mapped"].update(where="(no Python code, or not known)", execution=0)
        self.assertNotIn("mapped", _text.compact(parsed(meters=meters, top=top)))
        self.assertEqual(_text.meters(parsed(meters=meters, top=top)).rows[1][-1], "no Python code, or not known")

    def test_limit(self):
        for peak, share, words in (
            (512, "█████░░░░░", "50 % of"),
            (8, "▏░░░░░░░░░", "<1 % of"),
            (1000, "█████████▊", "! 97 % of"),
            (4096, "██████████", "! 400 % of"),
            (0, "░░░░░░░░░░", "0 % of"),
        ):
            shown = _text.compact(parsed(meters={"cpu.resident": figure(0, peak * MIB, 0)}), HELLO)
            self.assertTrue(shown.endswith(" · %s %s 1.00 GiB (container)" % (share, words)), shown)
        self.assertTrue(_text.compact(parsed(), HELLO._replace(limit_of="cgroup")).endswith(" (container)"))
        self.assertNotIn("%", _text.compact(parsed(), HELLO._replace(limit=None)))

    def test_without_resident(self):
        self.assertEqual(_text.compact(parsed(meters={}, top={})), "In[3]  1.47 s")


class Html(unittest.TestCase):
    def check(self, markup):
        reader = _Reader(self)
        reader.feed(markup)
        reader.close()
        self.assertEqual(reader.open, [])
        return re.sub(r"\s+", " ", reader.said.replace("\xa0", " "))

    def test_same_as_text(self):
        """Without elements and styles it reads as the text does."""
        w = parsed(children=[{"pid": 9, "command": "x", "meters": {}}], status="error", error="E")
        bundle = _show.compact(w, HELLO)
        self.assertEqual(self.check(bundle["text/html"]), re.sub(r"\s+", " ", bundle["text/plain"]))

    def test_tables(self):
        bundle = _show.full(parsed(), HELLO)
        said = self.check(bundle["text/html"])
        for cell in _text.meters(parsed()).rows[0]:
            self.assertIn(cell, said)
            self.assertIn(cell, bundle["text/plain"])

    def test_hostile(self):
        evil = "</b><script>alert(1)</script><a href='javascript:x' onclick=\"y\">\x1b[2J\u202e&amp;"
        w = parsed(name=evil, kind="experiment", status="error", error=evil, source=evil,
                   top={"cpu.numpy": {"at_peak": 1 << 30, "where": evil, "line": 1, "execution": 3}})
        for bundle in (
            _show.compact(w, HELLO._replace(limit_of=evil)),
            _show.full(w, HELLO),
            _show.table(_text.cells([w])),
        ):
            self.check(bundle["text/html"])
            for item in bundle.values():
                text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
                self.assertNotRegex(text, "[\x1b\u202e]|\\\\u001b")

    def test_first_screen(self):
        """At most 12 lines are seen before something is opened, and all is there."""
        evil = "</pre><script>alert(1)</script>\x1b[2J"
        entry = _found.Entry("held by", "1.00 MiB", [("why", "it is"), ("type", "del x")])
        says = "tracer · advice\n\nhighest 1 GiB\n\n" + "\n\n".join(
            "%d  lower\n%s\n  -x\n  +y" % (i, evil) for i in range(1, 15)
        )
        for markup, every in (
            (_html.table(_text.cells([parsed()] * 19)), 19),
            (_html.table(_text.cells([parsed()] * 9)), 9),
            (_html.entries(_found.Entries("3 findings", [entry] * 17, ["not judged: a", "not judged: b"])), 17),
            (_show.advice(Advice(says, "", 0))["text/html"], 14),
        ):
            seen = self.closed(markup)
            lines = len(re.findall(r"<summary>|<p[ >]|<tr>", seen)) + sum(
                pre.count("\n") + 1 for pre in re.findall(r"(?s)<pre>(.*?)</pre>", seen)
            )
            self.assertLessEqual(lines, 12, seen)
            self.assertGreaterEqual(len(re.findall(r"<tr>.*?</tr>|<summary>\d+", markup)), every)
            self.assertNotIn("<script", markup)
            self.assertNotIn("\x1b", markup)

    @staticmethod
    def closed(markup):
        """Return HTML as it is seen before any details are opened."""
        while True:
            inner = r"(?s)<details>(<summary>(?:(?!<details>).)*?</summary>)(?:(?!<details>).)*?</details>"
            shut = re.sub(inner, r"\1", markup)
            if shut == markup:
                return shut
            markup = shut

    def test_part_of_a_row(self):
        self.check(_html.table(_text.cells([parsed()] * 30)))
        self.assertEqual(_text.table(_text.cells([parsed()] * 30)).split("\n")[-1], "… and 10 more cells")
