"""%tracer start and stop, against the tests' own server."""

import contextlib
import io
import json
import os
import socket
import struct
import tempfile
import threading
import time
import unittest
from unittest import mock

import ipytracer
from ipytracer import _auto, _line, _pytest_words, _serve, _way
from ipytracer.compat import _figures

from . import fake
from .shells import ShellTest


class Server:
    """A server at a path of its own, in a thread: it answers each packet as the test says."""

    def __init__(self, answer, uid=0):
        self.folder = tempfile.TemporaryDirectory()
        self.path, self.answer, self.asked = os.path.join(self.folder.name, "serve.sock"), answer, []
        self._uid = uid
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listening.bind(self.path)
        self._listening.listen(8)
        self._patches = [
            mock.patch.dict(os.environ, IPYTRACER_SERVE=self.path),
            mock.patch.object(_serve, "PATIENCE", 30),      # a busy machine
            mock.patch.object(_serve.struct, "unpack", lambda form, data: (1, self._uid, 1)),
        ]

    def __enter__(self):
        for p in self._patches:
            p.start()
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        for p in self._patches:
            p.stop()
        self._listening.close()
        self.folder.cleanup()

    def _serve(self):
        while True:
            try:
                line, _ = self._listening.accept()
            except OSError:
                return
            with line:
                try:
                    self.asked.append(line.recv(4096))
                    if self.answer is not None:
                        line.send(self.answer if isinstance(self.answer, bytes) else json.dumps(self.answer).encode())
                except OSError:
                    pass


def ok(**more):
    return dict(serve="ipytracer/serve/v1", ok=True, **more)


class Ask(unittest.TestCase):
    def test_nothing_of_the_request_says_who(self):
        with Server(ok()) as server:
            self.assertEqual(_serve.ask("start")["ok"], True)
        self.assertEqual([json.loads(a) for a in server.asked], [{"ask": "start"}])

    def test_no_server(self):
        for path in ("/nonexistent/serve.sock", "/etc/passwd", "/tmp"):
            with mock.patch.dict(os.environ, IPYTRACER_SERVE=path), self.assertRaises(_serve.NoServer):
                _serve.ask("start")

    def test_answers_that_are_none(self):
        for answer in (b"{", b"[]", b"\xff", b"null", {"serve": "another"}, b"x" * 5000, b'{"serve": ' * 400, None):
            with self.subTest(answer=answer), Server(answer), self.assertRaises(_serve.NoServer):
                _serve.ask("start")

    def test_a_server_that_is_not_roots(self):
        with Server(ok(), uid=1000) as server, self.assertRaises(_serve.NoServer):
            _serve.ask("start")
        self.assertNotIn(b'{"ask"', b"".join(server.asked))

    def test_one_that_does_not_answer_is_not_waited_for(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            path = os.path.join(folder, "s")
            listening.bind(path)
            listening.listen(1)
            credentials = struct.pack("3i", 1, 0, 1)
            with (
                mock.patch.dict(os.environ, IPYTRACER_SERVE=path),
                mock.patch.object(_serve.struct, "unpack", lambda *_: (1, 0, 1)),
            ):
                self.assertEqual(len(credentials), 12)
                began = time.monotonic()
                with self.assertRaises(_serve.Slow):
                    _serve.ask("start")
                self.assertEqual(
                    _serve.outcome("start", False, ""),
                    (False, "'tracer serve' did not answer within 0.2 s; try again in a moment"),
                )
                self.assertLess(time.monotonic() - began, 30)     # PATIENCE, on a busy machine

    def test_full_queue(self):
        """The request is made as soon as the queue has room, and a queue that stays full is a server that is slow."""
        with Server(ok()) as server, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as full:
            path = server.path + ".full"
            full.bind(path)
            full.listen(0)
            held = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(10)]
            for line in held:
                line.setblocking(False)
                line.connect_ex(path)
            with mock.patch.dict(os.environ, IPYTRACER_SERVE=path):
                with mock.patch.object(_serve, "PATIENCE", 0.05), self.assertRaises(_serve.Slow):
                    _serve.ask("start")
                threading.Timer(0.05, os.replace, (server.path, path)).start()
                self.assertEqual(_serve.ask("start")["ok"], True)
            for line in held:
                line.close()

    def test_sentences(self):
        for answer, what, want in (
            (ok(), "start", "a session begins; figures come under the cells in a few seconds"),
            (ok(runs=True), "start", "a session was begun already; figures come under the cells in a few seconds"),
            (
                ok(last="killed"),
                "start",
                "a session begins; figures come under the cells in a few seconds (the one before ended: killed)",
            ),
            (ok(), "stop", "the session ends"),
            (
                dict(serve="ipytracer/serve/v1", ok=False, error="you have 4 sessions already"),
                "start",
                "you have 4 sessions already",
            ),
            (dict(serve="ipytracer/serve/v1", ok=False, error=7), "stop", "the server refuses"),
        ):
            with Server(answer):
                self.assertEqual(_serve.sentence(what, False, "sudo tracer attach 7"), want)
        self.assertEqual(_serve.sentence("start", True, ""), "a tracer listens already")


class Magic(ShellTest):
    def test_start_without_a_server_says_what_to_type(self):
        self.load()
        with mock.patch.dict(os.environ, IPYTRACER_SERVE="/nonexistent/serve.sock"):
            shown = "".join(self.run_cell("%tracer start"))
            self.assertIn("no 'tracer serve' runs here; in a terminal, type: sudo tracer attach", shown)
            self.assertIn("no 'tracer serve' runs here", "".join(self.run_cell("%tracer stop")))

    def test_what_a_server_says_is_made_safe(self):
        self.load()
        with Server(dict(serve="ipytracer/serve/v1", ok=False, error="\x1b[2J\u202eno")):
            shown = "".join(self.run_cell("%tracer start"))
        self.assertIn("\\x1b[2J\\u202eno", shown)


class WhatToDo(ShellTest):
    """Where no tracer listens each text names a way that works: without root that is a server, where one runs."""

    def texts(self):
        """Return all texts about a missing tracer."""
        found = {"load": self.load()[-1]}
        for cell in (
            "%tracer",
            "%tracer last",
            "%tracer table",
            "%tracer lines",
            "%tracer vars",
            "%tracer audit",
            "%tracer live",
            "%memit pass",
        ):
            found[cell] = self.run_cell(cell)[-1]
        with ipytracer.experiment("x") as one:
            pass
        found["experiment"] = repr(one.result)
        _line.LINE.said = False
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            _figures.listens()
        found["compat"] = printed.getvalue()
        return found

    def test_a_server(self):
        with Server(ok()) as server:
            texts = self.texts()
            self.assertIn("pytest --ipytracer --ipytracer-start", _pytest_words._hint())
        for what, text in texts.items():
            self.assertIn("type in a cell: %tracer start", text, what)
            self.assertNotIn("sudo", text, what)
        self.assertNotIn(b'{"ask": "start"}', server.asked)

    def test_a_server_and_no_extension(self):
        with Server(ok()):
            self.assertEqual(_way.todo(), "type in a cell: %load_ext ipytracer, then %tracer start")
        with Server(ok()), mock.patch.object(_way, "shell", lambda: None):
            self.assertTrue(_way.todo().startswith("in a terminal, type: sudo tracer attach"))

    def test_no_server(self):
        with mock.patch.dict(os.environ, IPYTRACER_SERVE="/nonexistent/serve.sock"):
            for what, text in self.texts().items():
                self.assertRegex(
                    text,
                    r"in a terminal, type: sudo tracer attach( %d)? \(without root, ask the administrator to run: sudo "
                    r"tracer serve"
                    % os.getpid(),
                    what,
                )
            self.assertIn("sudo tracer serve", _pytest_words._hint())

    def test_a_server_of_somebody_elses(self):
        with Server(ok(), uid=1000):
            self.assertEqual(_serve.look(), _serve.NONE)

    def test_one_that_has_ended(self):
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
            path = os.path.join(folder, "s")
            listening.bind(path)            # and no server listens
            with mock.patch.dict(os.environ, IPYTRACER_SERVE=path):
                self.assertEqual(_serve.look(), _serve.NONE)

    def test_one_that_this_user_may_not_reach(self):
        with (
            mock.patch.object(socket.socket, "connect_ex", lambda *_: 13),
            mock.patch.object(_serve, "_is_roots", lambda folder: folder == "/run/ipytracer"),
        ):
            self.assertEqual(_serve.look(), _serve.CLOSED)
            self.load()
            self.assertIn(
                "'tracer serve' runs here, but not for you: ask the administrator to let you into /run/ipytracer; or "
                "in a terminal, type: sudo tracer attach",
                _way.todo(),
            )

    def test_one_that_is_busy(self):
        """A busy server has as many connections as it has room for: it is there."""
        with mock.patch.object(socket.socket, "connect_ex", lambda *_: 11):
            self.assertEqual(_serve.look(), _serve.THERE)


class Auto(ShellTest):
    """A server that traces each kernel."""

    def setUp(self):
        super().setUp()
        for known in (_auto._asked, _auto._awaited, _auto._refused):
            known.clear()
            self.addCleanup(known.clear)
        patch = mock.patch.object(_auto, "PATIENCE", 0.2)
        patch.start()
        self.addCleanup(patch.stop)

    def asked(self, server):
        return [json.loads(a)["ask"] for a in server.asked if a]

    def test_the_first_cell_waits(self):
        tracer = fake.Tracer(limit=None, greets=False)
        self.addCleanup(tracer.__exit__)
        tracer.__enter__()
        with Server(ok(auto=True)) as server:
            shown = self.load()
            self.assertEqual(
                shown,
                [
                    "ipytracer: this machine's 'tracer serve' traces each kernel, and a session begins; the next cell "
                    "waits for it"
                ],
            )
            self.assertEqual(self.asked(server), ["auto"])
            tracer.greets = True
            _line.LINE._offered = 0.0
            with mock.patch.object(_auto, "PATIENCE", 60):
                shown = self.run_cell("x = 1")
            self.assertEqual([s[:5] for s in shown], ["In[2]"])
            self.run_cell("%reload_ext ipytracer")
            self.assertEqual(self.asked(server), ["auto"])

    def test_it_waits_once(self):
        with Server(ok(auto=True)):
            self.load()
            self.run_cell("x = 1")
            began = time.monotonic()
            with mock.patch.object(_auto, "PATIENCE", 60):
                self.run_cell("x = 2")
            self.assertLess(time.monotonic() - began, 30)

    def test_refused(self):
        with Server(dict(serve="ipytracer/serve/v1", ok=False, auto=True, error="you have 4 sessions\x1b already")):
            self.assertEqual(
                self.load(),
                [
                    "ipytracer: this machine's 'tracer serve' traces each kernel, but not this one: you have 4 "
                    "sessions\\x1b already"
                ],
            )
            self.assertEqual(self.run_cell("x = 1"), [])

    def test_others(self):
        """Other cases: a server that traces on request, an older one, none, and an excluded process."""
        for answer in (
            dict(serve="ipytracer/serve/v1", ok=False, error="this server traces only if asked ('start')"),
            None,
            b"{",
        ):
            _auto._asked.clear()
            with Server(answer), mock.patch.object(_serve, "PATIENCE", 0.2):
                self.assertIn("%tracer start", self.load()[0])
                self.run_cell("%unload_ext ipytracer")
                _line.LINE.said = False
        _auto._asked.clear()
        with Server(ok(auto=True)) as server, mock.patch.dict(os.environ, IPYTRACER_AUTO="off"):
            self.assertIn("%tracer start", self.load()[0])
        self.assertEqual(self.asked(server), [])


class Report(ShellTest):
    def test_where_it_will_be(self):
        tracer = fake.Tracer(limit=None)
        tracer.greeting = dict(tracer.greeting, report="/home/ada/.local/state/ipytracer/2026\x1b-7.txt")
        self.addCleanup(tracer.__exit__)
        tracer.__enter__()
        self.load()
        tracer.settle()
        where = "/home/ada/.local/state/ipytracer/2026\\x1b-7.txt"
        self.run_cell("x = 1")
        self.assertIn("its report will be in " + where, self.run_cell("%tracer")[-1])
        tracer.greets = False
        tracer.kill()
        self.assertIn("the tracer has ended; its report: %s; to go on, " % where, self.run_cell("x = 1")[0])

    def test_what_a_server_says(self):
        with Server(ok(report="/home/ada/x.txt")):
            self.assertEqual(
                _serve.sentence("start", False, ""),
                "a session begins; figures come under the cells in a few seconds, and its report, when it ends, "
                "will be in /home/ada/x.txt",
            )
            self.assertEqual(
                _serve.sentence("stop", False, ""), "the session ends; its report will be in /home/ada/x.txt"
            )
