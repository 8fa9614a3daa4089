"""The line: made, taken over, broken, forked; and tracers that do not keep to the protocol."""

import fcntl
import json
import os
import socket
import threading
import time
import unittest
from unittest import mock

from ipytracer import _line, _packets
from ipytracer._line import Line

from . import fake


class LineTest(unittest.TestCase):
    def setUp(self):
        patience = mock.patch.object(_line, "ASKED_FOR", 20.0)      # a busy machine
        patience.start()
        self.addCleanup(patience.stop)
        self.line = Line()
        self.addCleanup(self.line.close)

    def attached(self, tracer):
        self.line.look(cell=True)
        tracer.settle()
        self.assertTrue(self.line.look())


class Pair(LineTest):
    def test_nobody(self):
        """Without a tracer nothing waits, and nothing is visible."""
        with mock.patch.object(Line, "_readable", side_effect=AssertionError("it waits")):
            for _ in range(100):
                self.assertFalse(self.line.look(cell=True))
                self.assertIsNone(self.line.ask("cell"))

    def test_descriptors(self):
        """Both ends are closed on exec. The pair is closed once the line has come; the line's ends have one owner
        each."""
        with fake.Tracer(greets=False) as tracer:
            self.line.look(cell=True)
            self.assertRegex(tracer.markers[0], r"^line \d+ \d+$")
            offered, number = tracer.markers[0], int(tracer.markers[0].split()[1])
            with socket.socket(fileno=os.dup(number)) as theirs:
                self.assertEqual((theirs.family, theirs.type), (socket.AF_UNIX, socket.SOCK_SEQPACKET))
            for end in (number, self.line._ours.fileno()):
                self.assertTrue(fcntl.fcntl(end, fcntl.F_GETFD) & fcntl.FD_CLOEXEC)
            self.line._offered += 3600                       # as if it were a moment ago, however busy the machine is
            self.line.look(cell=True)
            self.assertEqual(tracer.markers, [offered])      # the tracer may be taking it over
            self.line._offered -= 3600 + 1
            self.line.look(cell=True)
            self.assertEqual(tracer.markers, [offered] * 2)
            tracer.greets = True
            self.line._offered -= 1
            self.attached(tracer)
            self.assertRaises(OSError, os.fstat, number)
            self.assertNotIn("socket:[%s]" % offered.split()[2], _links())
            self.assertTrue(fcntl.fcntl(self.line._ours.fileno(), fcntl.F_GETFD) & fcntl.FD_CLOEXEC)
            self.line.look(cell=True)
            self.assertEqual(len(tracer.markers), 3)    # none once it listens

    def test_hello(self):
        with fake.Tracer(limit=None) as tracer:
            self.attached(tracer)
            self.assertEqual(self.line.hello, _packets.Hello("0.1.0", os.getpid(), None, "container"))

    def test_end_and_again(self):
        """A tracer that ends leaves nothing behind, and the next one is heard."""
        before = len(os.listdir("/proc/self/fd"))
        with fake.Tracer() as tracer:
            self.attached(tracer)
            tracer.kill()
            self.assertIsNone(self.line.ask("cell"))
            self.assertFalse(self.line.listens())
            self.assertEqual(len(os.listdir("/proc/self/fd")), before)
        with fake.Tracer() as tracer:
            self.attached(tracer)
            self.assertEqual(self.line.ask("cell"), [])

    def test_two_greetings(self):
        """A second greeting changes nothing."""
        with fake.Tracer() as tracer:
            self.attached(tracer)
            tracer.put(tracer.greeting)
            self.assertEqual(self.line.ask("cell"), [])

    def test_taken_number(self):
        """If other code closed our end and its number means another socket, that is neither read nor closed."""
        with fake.Tracer() as tracer:
            self.attached(tracer)
            mine, other = socket.socketpair()
            self.addCleanup(mine.close)
            number = self.line._ours.fileno()
            os.dup2(mine.fileno(), number)
            other.send(b"private")
            self.assertFalse(self.line.look())
            self.assertEqual(os.read(number, 100), b"private")
            os.close(number)
            other.close()


def _links():
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink("/proc/self/fd/" + number))
        except FileNotFoundError:
            pass     # the folder's own descriptor
    return found


class Fork(LineTest):
    def in_child(self, what):
        """Run a function in a forked child. Return its result as text."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(write, repr(what()).encode())
            finally:
                os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        with os.fdopen(read) as f:
            return f.read()

    def test_child_leaves_it_alone(self):
        with fake.Tracer() as tracer:
            self.attached(tracer)
            ours = os.readlink("/proc/self/fd/%d" % self.line._ours.fileno())

            def child():
                gone = ours not in _links()
                return gone, self.line.look(), self.line.ask("cell"), self.line._ours
            self.assertEqual(self.in_child(child), "(True, False, None, None)")
            self.assertEqual(self.line.ask("cell"), [])
            self.assertEqual(tracer.requests, [{"ask": "cell", "id": 1}])

    def test_child_that_runs_cells(self):
        with fake.Tracer() as tracer:
            self.attached(tracer)
            self.assertEqual(
                self.in_child(lambda: (self.line.look(cell=True), self.line._ours is not None)), "(False, True)"
            )

    def test_lock_of_another_thread(self):
        """A child that was forked while a thread waited for an answer does not wait for that thread."""
        with fake.Tracer() as tracer:
            self.attached(tracer)
            tracer.answers = False
            asking = threading.Thread(target=self.line.ask, args=("cell", 5))
            asking.start()
            while not self.line._lock.locked():
                time.sleep(0.001)
            self.assertEqual(self.in_child(lambda: self.line.look()), "False")
            tracer.kill()
            asking.join()


class Answers(LineTest):
    def test_stalled(self):
        """A tracer that does not answer costs its time, which test_waits.py counts; late answers are taken in."""
        with fake.Tracer() as tracer:
            self.attached(tracer)
            tracer.answers = False
            took = []
            for _ in range(8):
                self.line.look(cell=True)
                start = time.monotonic()
                self.assertIsNone(self.line.ask("cell", 0.15))
                took.append(time.monotonic() - start)
            self.assertGreater(took[1], 0.14)
            tracer.settle()
            tracer.put({"id": 1, "windows": [fake.window(7)]})
            tracer.answers = True
            self.assertEqual(self.line.ask("cell"), [])
            self.assertEqual([w.id for windows in self.line.late for w in windows], [7])
            self.assertEqual(self.line.newest.id, 7)

    def test_full_socket(self):
        """If a tracer reads nothing, requests are left out, and nothing blocks."""
        with fake.Tracer() as tracer:
            self.attached(tracer)
            tracer.marked = lambda text: None
            start = time.monotonic()
            for _ in range(2000):
                self.line.ask("cells", 0.001, after=1, limit=200)
            self.assertLess(time.monotonic() - start, 300)     # it takes seconds, and on a busy machine more
            self.assertTrue(self.line.look())

    def test_many_packets(self):
        with fake.Tracer() as tracer:
            self.attached(tracer)
            tracer.reply = lambda r: [{"id": r["id"], "windows": [fake.window(n)], "more": n < 5} for n in range(1, 6)]
            self.assertEqual([w.id for w in self.line.ask("cells", after=0, limit=200)], [1, 2, 3, 4, 5])

    def test_nothing_to_tell(self):
        """An answer without the member has no windows."""
        with fake.Tracer() as tracer:
            self.attached(tracer)
            tracer.reply = lambda r: [{"id": r["id"]}]
            self.assertEqual((self.line.ask("cell"), self.line.ask("lines", window=1)), ([], []))
            self.assertTrue(self.line.listens())

    def test_an_error_is_a_sentence(self):
        with fake.Tracer() as tracer:
            self.attached(tracer)
            tracer.reply = lambda r: [{"id": r["id"], "error": "there is no window 9"}]
            self.assertEqual(self.line.ask("lines", window=9), "there is no window 9")
            self.assertTrue(self.line.listens())

    def test_threads(self):
        """Each answer reaches the thread that asked."""
        with fake.Tracer() as tracer:
            self.attached(tracer)
            tracer.reply = lambda r: [{"id": r["id"], "windows": [fake.window(r["after"])]}]
            wrong = []

            def ask(n):
                for i in range(20):
                    got = self.line.ask("cells", 5, after=100 * n + i + 1, limit=1)
                    if got is None or got[0].id != 100 * n + i + 1:
                        wrong.append(got)
            threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertEqual(wrong, [])

    def test_long_request(self):
        with fake.Tracer() as tracer:
            self.attached(tracer)
            self.assertIsNone(self.line.ask("experiment", name="x" * 5000))
            self.assertTrue(self.line.listens())


def _with(**more):
    return json.dumps({"id": 1, "windows": [fake.window(1, **more)]}).encode()


HOSTILE = {
    "no JSON": b"\xff\x00{", "half": b'{"id": 1', "a list": b"[]", "a number": b"1", "empty": b"{}",
    "no id": b'{"windows": []}', "an id never asked": b'{"id": 77, "windows": []}',
    "a true id": b'{"id": true, "windows": []}', "a huge id": b'{"id": 1' + b"0" * 30 + b', "windows": []}',
    "a huge number": b'{"id": 1, "windows": ' + b"9" * 60000 + b"}", "NaN": b'{"id": 1, "windows": [], "lost": NaN}',
    "Infinity": b'{"id": 1, "windows": [], "lost": -Infinity}', "windows that are null": b'{"id": 1, "windows": null}',
    "windows that are none": b'{"id": 1, "windows": {}}', "a window that is none": b'{"id": 1, "windows": [7]}',
    "deep": b'{"id": 1, "windows": ' + b"[" * 30000,
    "deep and whole": b'{"id": 1, "windows": ' + b"[" * 30000 + b"]" * 30000 + b"}",
    "an unknown kind": _with(kind="x"), "a kind that is a list": _with(kind=[]),
    "text for a number": _with(duration_ns="1"), "a float": _with(duration_ns=1.5),
    "beyond 64 bits": _with(duration_ns=2**63), "a negative time": _with(duration_ns=-1),
    "figures that are none": _with(meters=[]),
    "a figure short of a number": _with(meters={"cpu.resident": {"start": 1}}),
    "a strange meter": _with(meters={"<b>": fake.figure(1, 2, 3)}),
    "exact is no boolean": _with(meters={"cpu.resident": dict(fake.figure(1, 2, 3), exact=1)}),
    "a bound below 0": _with(meters={"cpu.resident": fake.figure(1, 2, 3, False, -1)}),
    "a child that is none": _with(children=[1]), "a top that is none": _with(top={"cpu.numpy": 3}),
    "an error that is none": b'{"id": 1, "error": {}}',
    "too long": b'{"id": 1, "windows": []' + b" " * 70000 + b"}",
    "no end": None,
}


class Hostile(LineTest):
    def test_answers(self):
        """Each of them is refused, closes the line, and raises nothing."""
        for name, packet in HOSTILE.items():
            with self.subTest(name), fake.Tracer() as tracer:
                self.attached(tracer)
                if packet is None:
                    tracer.reply = lambda r: [{"id": r["id"], "windows": [], "more": True}] * 400
                else:
                    tracer.reply = lambda r, packet=packet: [packet]
                start = time.monotonic()
                self.assertIsNone(self.line.ask("cell", 60))
                self.assertLess(time.monotonic() - start, 50)
                self.assertFalse(self.line.listens())
                self.assertIsNone(self.line._ours)
                self.line.close()

    def test_greetings(self):
        for packet in (
            b"{}",
            b"x",
            b'{"hello": "ipytracer/line/v9", "tracer": "1", "pid": 1, "limit": null, "limit_of": ""}',
            b'{"hello": {}}',
            b'{"hello": "ipytracer/line/v2", "tracer": 1, "pid": 1}',
            b'{"hello": "ipytracer/line/v2", "tracer": "1", "pid": 1, "limit": -5}',
            b'{"id": 1, "windows": []}',
        ):
            with self.subTest(packet), fake.Tracer() as tracer:
                tracer.greeting = packet
                self.line.look(cell=True)
                tracer.settle()
                self.assertFalse(self.line.look())
                self.line.close()

    def test_sent(self):
        """Invalid messages in the line's place are refused, their descriptors closed, and nothing is raised; one of
        them is from a tracer that knows only the line before this one."""
        before = len(os.listdir("/proc/self/fd"))
        stream, file = socket.socketpair(), open(os.devnull)
        for name, packet, more, sends, older in (
            (
                "an older tracer",
                b'{"hello": "ipytracer/line/v1", "tracer": "0.1.0", "pid": 1, "limit": null, "limit_of": ""}',
                [],
                0,
                True,
            ),
            ("another line", b'{"line": "ipytracer/line/v9"}', [], 1, False),
            ("no JSON", b"x", [], 1, False),
            ("no end", b'{"line": "ipytracer/line/v2"}', [], 0, False),
            ("two ends", b'{"line": "ipytracer/line/v2"}', stream[:1], 1, False),
            ("many", b'{"line": "ipytracer/line/v2"}', stream * 9, 1, False),
            ("a file beside it", b'{"line": "ipytracer/line/v2"}', [file], 1, False),
            ("nothing", b"", [], 0, False),
        ):
            with self.subTest(name), fake.Tracer() as tracer:
                tracer.offering, tracer.more, tracer.sends = packet, more, sends
                self.assertFalse(self.line.look(cell=True))
                self.assertEqual(self.line.older, older)
                self.assertIsNone(self.line._ours)
        for end in (*stream, file):
            end.close()
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)
        with fake.Tracer() as tracer:
            self.attached(tracer)
            self.assertFalse(self.line.older)

    def test_twice(self):
        """Where a second tracer also sends an end, the first one's is the line."""
        with fake.Tracer() as tracer:
            self.line.look(cell=True)
            tracer.make(int(tracer.markers[0].split()[1])).close()
            self.assertTrue(self.line.look())
            self.assertEqual(self.line.ask("cell"), [])
