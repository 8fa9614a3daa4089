"""The page of JupyterHub's users: what agents answer, whatever they answer, and how it is shown."""

import asyncio
import hashlib
import json
import logging
import os
import re
import tempfile
import unittest
from unittest import mock

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_unix_socket
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from ipytracer import _hub_answers, _hub_ask, _hub_door, _hub_page

TOKEN = "0123456789abcdef0123456789abcdef"
TIME = "2026-11-26T12:00:07.123456789Z"
GIB = 1 << 30
OWN = "7" * 80    # an agent's nonce


def setUpModule():
    """Tornado logs each request that the tests have refused."""
    log = logging.getLogger("tornado")
    unittest.addModuleCleanup(log.setLevel, log.level)
    log.setLevel(logging.CRITICAL)


def kernel(**other):
    return dict({
        "pid": 42, "server": "", "notebook": "/home/ada/train.ipynb", "frontend": "ipykernel", "python": "3.11.2",
        "joined": TIME, "resident": 3 * GIB + 1, "highest": 2 * GIB, "limit": {"kind": "cgroup", "bytes": 12 * GIB},
        "gpus": [{"number": 1, "bytes": GIB}],
    }, **other)


def cell(n, need, **other):
    return dict({
        "name": "In[%d]" % n, "notebook": "/home/ada/train.ipynb", "pid": 42, "began": TIME,
        "duration_ns": 2_410_000_000, "outcome": "ok", "start": GIB, "peak": GIB + need, "need": need, "exact": True,
        "bound": None,
    }, **other)


def death(**other):
    window = {"name": "In[7]", "line": 3, "start": GIB, "peak": 12 * GIB, "need": 11 * GIB, "exact": True, "bound": 0}
    return dict({
        "at": TIME, "pid": 42, "cause": "out-of-memory", "says": "the kernel was killed at 12.00 GiB of 12.00 GiB",
        "notebook": "train.ipynb", "limit": {"kind": "cgroup", "bytes": 12 * GIB}, "used": 12 * GIB, "cell": window,
        "statement": window,
    }, **other)


def answer(n=1, user="ada", **other):
    return json.dumps(dict({
        "format": _hub_answers.FORMAT, "agent": "%016x" % n, "node": "node-%d" % n, "user": user, "since": TIME,
        "kernels": [kernel()], "cells": [cell(3, 5 * GIB + 7)], "deaths": [death()],
    }, **other)).encode()


def found(*answers):
    return _hub_answers.join(a and _hub_answers.answer(a, "ada") for a in answers)


class Answers(unittest.TestCase):
    def test_several_nodes(self):
        """The heaviest cells of all come first, and an agent that answers twice counts once."""
        one = answer(1, cells=[cell(n, n * 1000) for n in range(20)])
        two = answer(2, cells=[cell(n, n * 1000 + 500) for n in range(20)], since="2026-11-25T12:00:00Z")
        all_of_them = found(one, two, one, None)
        self.assertEqual((all_of_them.asked, all_of_them.silent, len(all_of_them.kernels)), (3, 1, 2))
        self.assertEqual([c.need for c in all_of_them.cells[:3]], [19_500, 19_000, 18_500])
        self.assertEqual(len(all_of_them.cells), 20)
        self.assertEqual(all_of_them.since, ("2026-11-25 12:00:00", "2026-11-26 12:00:07"))

    def test_nonsense(self):
        """Whatever comes instead of an answer is refused by one of three exceptions."""
        for nonsense in (
            b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b"null", b" " * 300_000, answer(user="bob"), answer(format="x"),
            answer(agent=7), answer(agent="../x"), answer(kernels={}), answer(kernels=[7]), answer(since=7),
            answer(cells=[cell(1, -1)]), answer(cells=[cell(1, 1.5)]), answer(cells=[cell(1, 1 << 63)]),
            answer(cells=[cell(1, 1, exact=1)]), answer(cells=[cell(1, 1, began="<script>")]),
            answer(kernels=[kernel(limit=[])]), answer(deaths=[death(statement={})]), answer(deaths=[death(says=None)]),
            answer(node=None), answer(kernels=[kernel(gpus=[{"number": "1"}])]),
            answer(cells=[cell(1, 1, name=["x"])]), b'{"format": NaN}',
        ):
            with self.subTest(nonsense[:40]), self.assertRaises((ValueError, KeyError, TypeError)):
                _hub_answers.answer(nonsense, "ada")

    def test_bounds(self):
        """More kernels, cells, deaths and text than there can be is cut."""
        much = found(*(answer(n, kernels=[kernel(server="s" * 600)] * 99, cells=[cell(1, 1)] * 99,
                              deaths=[death()] * 99) for n in range(9)))
        self.assertEqual((len(much.kernels), len(much.cells), len(much.deaths)), (200, 20, 5))
        self.assertEqual(len(much.kernels[0].server), 400)
        self.assertLess(len(_hub_page.page("ada", much)), 400_000)


class Page(unittest.TestCase):
    def test_figures(self):
        """Each figure is there for people, with the exact bytes as its title."""
        page = _hub_page.page("ada", found(answer(cells=[
            cell(3, 5 * GIB + 7), cell(4, 1, exact=False, bound=4096), cell(5, 0, exact=False)])))
        for text in (
            "Memory of ada", '<span title="5,368,709,127 bytes">5.00 GiB</span>',
            '<span title="3,221,225,473 bytes">3.00 GiB</span>', '<span title="1 bytes">≈1 B</span> ± ',
            '<span title="0 bytes">≥0 B</span>', 'value="25"', "25 % of", "(container)",
            '1: <span title="1,073,741,824 bytes">1.00 GiB</span>', "In[7], line 3", "2.41 s",
            "the kernel was killed at 12.00 GiB", '<span title="/home/ada/train.ipynb">train.ipynb</span>',
            "since 2026-11-26 12:00",
        ):
            self.assertIn(text, page)
        self.assertNotIn("did not answer", page)

    def test_what_is_missing(self):
        nothing = answer(kernels=[], cells=[], deaths=[])
        for of, text in (
            (found(nothing, None, None), "2 of 3 nodes did not answer"),
            (found(None, None), "None of 2 nodes answered"), (found(None), "The node did not answer"),
            (found(), "No agent was found"),
            (found(nothing), "No kernel of yours is traced now"), (found(nothing), "No cell of yours has ended"),
            (found(nothing), "No kernel of yours was killed"),
        ):
            self.assertIn(text, _hub_page.page("ada", of))

    def test_hostile_texts(self):
        """A text cannot leave its place, whatever it is: the tags of the page are those of a page with plain texts."""
        def tags(text):
            page = _hub_page.page(text, found(answer(
                node=text,
                kernels=[kernel(server=text, notebook=text, limit={"kind": text, "bytes": 1})],
                cells=[cell(1, 1, name=text, notebook=text, outcome=text)],
                deaths=[death(says=text, notebook=text, statement=dict(death()["cell"], name=text))],
            )))
            self.assertFalse(set("\x00\x1b\u202e\u2028\r") & set(page))
            return re.sub(r'title="[^"]*"', "", re.sub(r">[^<]*", ">", page))
        plain = tags("x")
        for text in ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'", "&lt;b&gt;", "\x1b[2J",
                     "\u202e", "</style></head>", "\x00", "a\r\nb", "\u2028", "]]>", "<!--", "é" * 1000, "{{x}}",
                     "%s%d", "<" * 999):
            with self.subTest(text[:20]):
                self.assertEqual(tags(text), plain)

    def test_policy(self):
        """A browser takes the style of the page, by its hash, and nothing else."""
        self.assertRegex(_hub_page.POLICY, r"^default-src 'none'; style-src 'sha256-[\w+/]{43}='; .*ancestors 'none'$")
        page = _hub_page.page("ada", found(answer()))
        self.assertIsNone(re.search(r"<script|<link|<img|<form|\bon\w+=|href=|style=", page))


class Evil(RequestHandler):
    """An agent that answers as its path says."""

    seen = []

    async def get(self, how):
        self.seen.append((how, self.request.headers.get("Authorization"), self.get_argument("name", "")))
        if how == "never":
            self.gone = asyncio.Event()
            await self.gone.wait()
        if how == "elsewhere":
            self.redirect("/taken")
        elif how == "large":
            self.write(b" " * (1 << 20) + answer())
        elif how == "fails":
            self.set_status(500)
        elif how == "zipped":
            self.set_header("Content-Encoding", "gzip")
            self.write(b"\x1f\x8b" + b"x" * 100)
        elif how == "another":
            self.write(answer(user="bob"))
        elif how == "page":
            self.write("<html>")
        else:
            self.write(answer(7, self.get_argument("name")))


    def on_connection_close(self):
        self.gone.set()

    def write(self, chunk):
        """Write an answer, with a proof unless it is forged."""
        parts = self.request.headers["Authorization"].split(" ")
        if parts[0] == "Proof" and isinstance(chunk, bytes):
            texts = "answer", *parts[1:4], hashlib.sha256(chunk).hexdigest()
            key = _hub_door.key_of(TOKEN if self.path_args[0] != "forges" else "y" * 32)
            self.set_header("Ipytracer-Proof", _hub_door.sign(key, *texts))
        super().write(chunk)


class Proves(RequestHandler):
    """The first page of an agent that has the token, or has another one."""

    def get(self, how):
        self.seen.append((how, self.request.headers.get("Authorization"), ""))
        key = _hub_door.key_of(TOKEN if how != "squatter" else "x" * 32)
        address, nonce = self.get_argument("address"), self.get_argument("nonce")
        self.write({"nonce": OWN, "proofs": ["0" * 64, _hub_door.sign(key, "agent", address, nonce, OWN)]})

    seen = []


class OneOf:
    """The target of a server's page."""

    host, path = "test", ""

    def __init__(self, port, how):
        self.url = ("http://127.0.0.1:%d/%s" % (port, how),)

    async def addresses(self):
        return self.url


class Asking(unittest.TestCase):
    def setUp(self):
        f = tempfile.NamedTemporaryFile("w", prefix="token")
        self.addCleanup(f.close)
        f.write(TOKEN + "\n")
        f.flush()
        self.token = f.name
        Evil.seen, Proves.seen = [], []

    def ask(self, *hows, user="ada", times=1):
        async def all_of_it():
            socket, port = bind_unused_port()
            server = HTTPServer(Application([(r"/(\w*)/hub/prove", Proves), (r"/(\w*)/?.*", Evil)]))
            server.add_socket(socket)
            agents = _hub_ask.Agents([OneOf(port, how) for how in hows], self.token)
            got = [await agents.about(user) for _ in range(times)]
            server.stop()
            return got[-1]
        with self.assertLogs("ipytracer.hub", "WARNING") as log:
            _hub_ask._LOG.warning("the log")
            got = asyncio.run(all_of_it())
        self.assertNotIn(TOKEN, "".join(log.output))
        return got

    def test_one_good_among_evil_ones(self):
        evil = ("elsewhere", "large", "fails", "zipped", "another", "page")
        got = self.ask(*evil, "good")
        self.assertEqual((got.asked, got.silent, len(got.cells)), (7, 6, 1))
        self.assertNotIn("taken", [how for how, _, _ in Evil.seen])
        self.assertTrue(all(proof.startswith("Proof ") for _, proof, _ in Evil.seen), Evil.seen)

    def test_squatter(self):
        """Whoever listens in an agent's place is sent neither the token nor a question, and nothing of it is shown."""
        got = self.ask("squatter", "forges")
        self.assertEqual((got.asked, got.silent), (2, 2))
        self.assertEqual([how for how, _, _ in Evil.seen], ["forges"])
        self.assertEqual({proof for _, proof, _ in Proves.seen}, {None})

    def test_socket(self):
        """The agent at a socket of root's is sent the token; whoever listens at another user's is sent nothing."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "agent.sock")

            class Agent(RequestHandler):
                def get(handler):
                    Evil.seen.append((None, handler.request.headers.get("Authorization"), handler.get_argument("name")))
                    handler.finish(answer(7, handler.get_argument("name")))

            async def ask(own):
                server = HTTPServer(Application([("/hub/user", Agent)]))
                server.add_socket(bind_unix_socket(path))
                agents = _hub_ask.Agents([_hub_ask.Target("unix:" + path)], self.token)
                with mock.patch.object(_hub_door.os, "geteuid", lambda: own), \
                        mock.patch.object(_hub_door, "_ROOT", 1 << 30):
                    got = await agents.about("ada & bob")
                server.stop()
                return got
            with self.assertLogs("ipytracer.hub", "ERROR") as log:
                self.assertEqual(asyncio.run(ask(os.geteuid() + 1))[4:], (1, 1))
            self.assertIn("and not root's", log.output[0])
            self.assertEqual(Evil.seen, [])
            self.assertEqual(asyncio.run(ask(os.geteuid()))[4:], (1, 0))
            self.assertEqual(Evil.seen, [(None, "Bearer " + TOKEN, "ada & bob")])

    def test_one_that_never_answers(self):
        with mock.patch.object(_hub_ask, "_PATIENCE", 0.2):
            self.assertEqual(self.ask("never")[4:], (1, 1))

    def test_a_silent_one_is_waited_for_once(self):
        """The users who look at the page do not wait one after the other for an agent that never answers."""
        async def ask():
            socket, port = bind_unused_port()
            server = HTTPServer(Application([(r"/(\w*)/hub/prove", Proves), (r"/(\w*)/?.*", Evil)]))
            server.add_socket(socket)
            agents = _hub_ask.Agents([OneOf(port, "never"), OneOf(port, "good")], self.token)
            got = await asyncio.gather(*(agents.about("user-%d" % n) for n in range(40)))
            server.stop()
            return got
        with mock.patch.object(_hub_ask, "_PATIENCE", 0.5), self.assertLogs("ipytracer.hub", "WARNING"):
            got = asyncio.run(ask())
        self.assertEqual({(one.asked, one.silent, len(one.cells)) for one in got}, {(2, 1, 1)})
        waited = [name for how, _, name in Evil.seen if how == "never"]
        self.assertLessEqual(len(waited), _hub_ask._MOST_ASKING)

    def test_names(self):
        for user in ("a&name=b", "ä/../b", "a b+c", "%2e", "#x?y", "日本"):
            Evil.seen = []
            got = self.ask("good", user=user)
            self.assertEqual((got.silent, [name for _, _, name in Evil.seen]), (0, [user]))

    def test_one_question_at_a_time(self):
        """Someone who loads the page without end makes the agents answer once in some seconds."""
        self.ask("good", times=50)
        self.assertEqual(len(Evil.seen), 1)

    def test_nobody_there(self):
        socket, port = bind_unused_port()
        socket.close()

        async def ask():
            closed, nameless = (_hub_ask.Target("http://127.0.0.1:%d" % port) for _ in range(2))
            nameless.addresses = mock.Mock(side_effect=OSError("no such name"))
            return await _hub_ask.Agents([closed, nameless], self.token).about("ada")
        with self.assertLogs("ipytracer.hub", "WARNING"):
            got = asyncio.run(ask())
        self.assertEqual((got.asked, got.silent), (2, 2))

    def test_token(self):
        os.chmod(self.token, 0o640)
        self.assertEqual(_hub_ask.read_token(self.token), TOKEN)
        for mode, text in (0o604, TOKEN), (0o602, TOKEN), (0o600, TOKEN[1:]), (0o600, TOKEN + " x"), (0o600, "é" * 40):
            with open(self.token, "w") as f:
                f.write(text)
            os.chmod(self.token, mode)
            with self.assertRaises(ValueError) as refused:
                _hub_ask.read_token(self.token)
            self.assertNotIn(text, str(refused.exception))

if __name__ == "__main__":
    unittest.main()
