"""A tracer for tests: it is the other end of the line by the protocol, in a thread of this process.

It sees the same as the real one, the names of compiled code, and takes the end over in the same way: with a descriptor
of its own.
"""

import array
import json
import os
import queue
import re
import socket
import sys
import threading

from ipytracer import _live

from . import shells

MIB = 1 << 20
_listening = []    # the fake that takes markers now; at most one
_hooked = []


def _hook(event, arguments):
    if event != "compile" or not _listening:
        return
    name = arguments[1]
    if isinstance(name, str) and name.startswith("<ipytracer:"):
        _listening[0].marked(name[len("<ipytracer:"):-1])
    elif isinstance(name, str) and name.startswith("<ipython-input-"):
        _listening[0].compiled(name)


def figure(start, peak, end, exact=True, bound=0):
    return {
        "start": start,
        "peak": peak,
        "end": end,
        "consumed": end - start,
        "peaked": peak - max(start, end),
        "exact": exact,
        "bound": bound,
    }


def window(number, kind="cell", **more):
    whole = {"id": number, "parent": 1, "kind": kind, "pid": os.getpid(), "execution": number if kind == "cell" else 0,
             "execution_count": number if kind == "cell" else None, "silent": False, "name": "", "line": 0,
             "source": "x = 1" if kind == "cell" else "",
             "source_truncated": False, "status": "ok", "start_ns": 10**9 * number, "duration_ns": 1_470_000_000,
             "cpu_ns": -1,
             "meters": {"cpu.resident": figure(100 * MIB, 612 * MIB, 101 * MIB),
                        "cpu.mapped": figure(200 * MIB, 712 * MIB, 200 * MIB),
                        "cpu.numpy": figure(0, 512 * MIB, 0)}, "children": [],
             "top": {"cpu.numpy": {"at_peak": 512 * MIB, "where": "In[%d] line 1 › ones" % number, "line": 1,
                                   "execution": number}}}
    whole.update(more)
    return whole


def variable(name, **more):
    return dict(
        {
            "pid": os.getpid(),
            "name": name,
            "kind": "variable",
            "type": "numpy.ndarray",
            "shape": [300, 400],
            "dtype": "float64",
            "length": 300,
            "bytes": 960128,
            "reaches": 960128,
            "exact": True,
            "shaped": "300 × 400 float64",
            "where": "In[3] line 1 › ones",
            "execution": 3,
            "execution_count": 3,
            "line": 1,
            "stack": [{"function": "ones", "file": "numeric.py", "line": 9}],
        },
        **more,
    )


def verdict(**more):
    return dict(
        {
            "kind": "rerun-growth",
            "title": "grows with each run of the cell",
            "meter": "cpu.numpy",
            "pid": os.getpid(),
            "bytes": 8 * MIB,
            "count": 4,
            "executions": [3, 4, 5, 6],
            "execution_counts": [3, 4, 5, 6],
            "runs": "In[3], In[4], In[5], In[6]",
            "where": "In[6] line 1 › ones",
            "holder": "acc[0]",
            "evidence": "4 runs of this cell left 2.00 MiB each",
            "advice": "bound what it collects",
            "fix": "acc.clear()",
            "change": {"execution": 6, "execution_count": 6, "line": 1},
            "growth": {"runs": 4, "slope": 2 * MIB, "low": 2 * MIB, "high": 2 * MIB},
            "age_ns": 4_210_000_000,
            "stack": [{"function": "ones", "file": "numeric.py", "line": 9}],
        },
        **more,
    )


def audited(**more):
    return dict(
        {
            "least": MIB,
            "cells": 7,
            "duration_ns": 10**9,
            "complete": False,
            "unlisted": 0,
            "all_clear": "",
            "not_judged": [
                {
                    "reason": "made-before",
                    "meter": "cpu.resident",
                    "bytes": 50 * MIB,
                    "says": "50.00 MiB of resident: it was there before; try: attach earlier",
                }
            ],
        },
        **more,
    )


def _packets(answer):
    """Return an answer in as many packets as it needs."""
    windows = answer.get("windows", [])
    parts = [dict(answer, windows=windows[i:i + 40], more=True) for i in range(0, len(windows), 40)]
    return parts[:-1] + [dict(answer, windows=windows[-(len(windows) % 40 or 40):])] if windows else [answer]


class Tracer:
    """The tracer. greets: it takes part at all. answers: it answers requests. Set reply to answer requests in another
    way."""

    def __init__(self, limit=1024 * MIB, greets=True, delay=0.0):
        self.limit, self.greets, self.answers, self.delay = limit, greets, True, delay
        self.end, self.pair_of = None, 0
        self.live = None        # the end of a second line, on which tick() says that a cell runs
        self.running = []       # windows of cells that run
        self.markers, self.requests, self.windows, self.open = [], [], [], []
        self.told, self.next = 0, 2
        self.memory = {"cpu.resident": 100 * MIB}    # bytes now
        self.coming = []        # members of the windows of the next cells
        self.looks, self.looked = 0, 2  # requested looks; how often the answer is that one still runs
        self.variables, self.names = (
            [variable("x")],
            {"pid": os.getpid(), "unlisted": 3, "bytes": 5000, "objects": 10**6, "complete": True},
        )
        self.verdicts, self.audited = [verdict()], audited()
        self.advice = "ipytracer · advice\n\n1  256.00 MiB lower: In[2] line 1\n  +del raw\n"
        self.reply = None       # request -> list of packets, or None for the usual answer
        self.slower, self.free = "", None      # why this process is slower; bytes free on each GPU, by its number
        self.greeting = {
            "hello": "ipytracer/line/v2",
            "tracer": "0.1.0",
            "pid": os.getpid(),
            "limit": limit,
            "limit_of": "container",
        }
        self.offering = {"line": "ipytracer/line/v2"}     # the message that is sent with the line's end
        self.more, self.sends = [], 1      # sockets that are sent along; 0: nothing is sent
        self._work = queue.Queue()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        if not _hooked:
            _hooked.append(sys.addaudithook(_hook))
        _listening[:] = [self]
        self._thread.start()
        return self

    def __exit__(self, *_):
        _listening.clear()
        self._work.put(None)
        self._thread.join(10)
        self.kill()

    def kill(self):
        """End like a tracer that was killed."""
        self.settle()
        for end in (self.end, self.live):
            if end is not None:
                end.close()
        self.end = self.live = None

    def settle(self):
        """Wait until all events so far have been handled."""
        if self._thread.is_alive():
            done = threading.Event()
            self._work.put(done)
            if not done.wait(10):
                raise AssertionError("the fake tracer is stuck")

    def marked(self, text):
        """Act as the kernel does at the probe, in the thread that compiles."""
        self.markers.append(text)
        found = re.fullmatch(r"line (\d+)( live)? (\d+)", text)
        if found and os.fstat(int(found.group(1))).st_ino != int(found.group(3)):
            raise AssertionError("the inode is another file's")
        if found and not found.group(2) and self.greets and self.end is None:
            self.end = self.make(int(found.group(1)))
            self.pair_of = os.getpid()
            self.put(self.greeting)
        elif found and found.group(2) and self.greets and self.live is None:
            self.live = self.make(int(found.group(1)))
            self.put(self.greeting, self.live)
        elif text == "cell":
            self._close_cell()
        elif text.startswith("begin "):
            self.open.append(dict(name=text[6:], id=self._number(), start=dict(self.memory)))
        elif text.startswith("end "):
            self._close_experiment(text[4:])
        elif text == "ask":
            for end in (self.end, self.live):
                try:
                    data = end.recv(4097, socket.MSG_DONTWAIT) if end is not None else b""
                except OSError:
                    data = b""     # no question there, or the companion has closed it
                if data:
                    self._work.put((end, json.loads(data)))

    def make(self, number):
        """Make a line, and send its other end over the offered pair. Return our end."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, socket.socket(fileno=os.dup(number)) as offered:
            rights = [
                (
                    socket.SOL_SOCKET,
                    socket.SCM_RIGHTS,
                    array.array("i", [theirs.fileno(), *(one.fileno() for one in self.more)]),
                )
            ]
            packet = self.offering if isinstance(self.offering, bytes) else json.dumps(self.offering).encode()
            offered.sendmsg([packet], rights[:self.sends], socket.MSG_NOSIGNAL)
        return ours

    def compiled(self, name):
        """Act as the kernel does when a cell is compiled, in the thread that compiles."""

    def tick(self):
        """Say that a cell runs long."""
        self.put({"tick": 1}, self.live)

    def put(self, packet, end=None):
        data = packet if isinstance(packet, bytes) else json.dumps(packet).encode()
        try:
            (end or self.end).send(data, socket.MSG_NOSIGNAL)
        except OSError:
            pass      # the companion has closed the line

    def _number(self):
        self.next += 1
        return self.next - 1

    def _close_cell(self):
        number, count = self._number(), shells.running()
        more = dict({"execution_count": count, "execution": count}, **(self.coming.pop(0) if self.coming else {}))
        more.setdefault(
            "top",
            {
                "cpu.numpy": {
                    "at_peak": 512 * MIB,
                    "where": "In[%d] line 1 › ones" % count,
                    "line": 1,
                    "execution": count,
                }
            },
        )
        self.windows.append(window(number, **more))

    def _close_experiment(self, name):
        for one in reversed(self.open):
            if one["name"] == name:
                self.open.remove(one)
                self.windows.append(self._experiment(one, "ok"))
                return

    def _experiment(self, one, status):
        meters = {m: figure(one["start"].get(m, 0), max(n, one["start"].get(m, 0)), n) for m, n in self.memory.items()}
        return window(one["id"], "experiment", name=one["name"], meters=meters, top={}, status=status)

    def _run(self):
        while True:
            request = self._work.get()
            if request is None:
                return
            if isinstance(request, threading.Event):
                request.set()
                continue
            end, request = request
            self.requests.append(request)
            if self.answers and self.end is not None:
                threading.Event().wait(self.delay)
                for packet in (self.reply and self.reply(request)) or _packets(self._usual(request)):
                    self.put(packet, end)

    def _usual(self, request):
        what, number = request["ask"], request["id"]
        cells = [w for w in self.windows if w["kind"] == "cell"]
        if what == "cell":
            new, self.told = cells[self.told:], len(cells)
            more = {n: v for n, v in (("slower", self.slower), ("free_on_gpus", self.free)) if v}
            return dict(more, id=number, windows=new[-20:], lost=max(0, len(new) - 20))
        if what == "cells":
            return {"id": number, "windows": [w for w in cells if w["id"] > request["after"]][:request["limit"]]}
        if what == "running":
            return {"id": number, "windows": [self._experiment(one, "incomplete") for one in self.open] + self.running}
        if what in ("experiment", "experiments"):
            found = [w for w in self.windows if w["kind"] == "experiment" and request.get("name") in (None, w["name"])]
            return {"id": number, "windows": found[request.get("after", -1):]}
        if what == "lines":
            mine, display = {"function": "ones", "file": "numeric.py"}, {"function": "_run", "file": _live.__file__}
            return {"id": number, "lines": [
                self._line(512 * MIB, "In[2] line 1 › ones", mine), self._line(MIB, "_live.py line 153 _run", display)
            ]}
        if what in ("vars", "audit", "advise"):
            return self._look(what, number, request.get("look"))
        return {"id": number, "error": "no such question"}

    def _line(self, size, where, frame):
        memory = {"meter": "cpu.numpy", "at_peak": size, "allocated": size, "freed": 0, "net": size, "count": 1}
        return dict(memory, where=where, stack=[dict(frame, line=9, execution=None)])

    def _look(self, what, number, look):
        if look is None:
            self.looks += 1
            self.left, look = self.looked, self.looks
        if self.left > 0:
            self.left -= 1
            return {"id": number, "look": look, "looking": True, "wait_ns": 0}
        found = {"id": number, "look": look, "took_ns": 10**8}
        return dict(found, **{
            "vars": {"variables": self.variables, "names": self.names}, "advise": {"advice": self.advice},
            "audit": {"verdicts": self.verdicts, "audited": self.audited},
        }[what])
