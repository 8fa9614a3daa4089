"""Reads and writes the recordings in data/: JSON lines, xz.

The first line is an object: {"recording": name, "libraries": [file names], "functions": [names], "threads": N,
"truth_from": "PyTorch" | "reports and mappings" | "reports" | null,
"cells": [{"source": text, "raised": bool, "truth": [allocated, max allocated, reserved, max reserved] or null}]}.
Then one array an event, in the order of the recording:

    [step, thread, function, [six arguments], prop?]     a call; function is an index of "functions", prop 32 bytes in
    hex [step, thread, result, out]                          the return of that thread's innermost call; out is what its
    first
                                                         argument pointed to

Steps 1 to N are the cells, N + 1 is the time after the last cell: the interpreter's end. Thread 0 ran the cells.
"""

import json
import lzma
import os

HERE = os.path.dirname(os.path.abspath(__file__))
CAPTURED = ("cupy", "torch-async", "torch-default", "torch-expandable")
NAMES = CAPTURED + ("h100-reports",)
NO_RETURN = ("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",)     # recorded at its entry only


class Event:
    __slots__ = ("kind", "step", "thread", "function", "arguments", "prop", "result", "out", "call", "inside")

    def __init__(self, kind, step, thread):
        self.kind, self.step, self.thread = kind, step, thread
        self.function = self.arguments = self.prop = self.result = self.out = self.call = self.inside = None


class Recording:
    """events: in order, calls and returns; a return's `call` is its call, a call's `inside` the call it is nested
    in."""

    def __init__(self, header, rows):
        self.header, self.rows, self.name, self.cells = header, rows, header["recording"], header["cells"]
        self.after = len(self.cells) + 1
        self.events, stacks = [], {}
        for row in rows:
            stack = stacks.setdefault(row[1], [])
            if isinstance(row[3], list):
                event = Event("call", row[0], row[1])
                event.function, event.arguments = header["functions"][row[2]], row[3]
                event.prop = bytes.fromhex(row[4]) if len(row) > 4 else None
                event.inside = stack[-1] if stack else None
                if event.function not in NO_RETURN:
                    stack.append(event)
            else:
                event = Event("return", row[0], row[1])
                event.call = stack.pop()
                event.function, event.result, event.out = event.call.function, row[2], row[3]
            self.events.append(event)
        if any(stacks.values()):
            raise ValueError("%s: a call has not returned" % self.name)

    def steps(self):
        return range(1, self.after + 1)

    def end_of(self, step):
        """Returns the number of events up to the end of the step."""
        return sum(1 for event in self.events if event.step <= step)


def path_of(name):
    return os.path.join(HERE, "data", name + ".jsonl.xz")


def read(name):
    with lzma.open(path_of(name), "rt") as f:
        lines = [json.loads(line) for line in f]
    return Recording(lines[0], lines[1:])


def text_of(header, rows):
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in [header] + rows)


def write(name, text):
    with lzma.open(path_of(name), "wt", preset=9 | lzma.PRESET_EXTREME) as f:
        f.write(text)
