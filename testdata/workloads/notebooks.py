"""What notebooks for audits are made of, and how they are run.

A notebook is a list of steps: a cell's source and how often it runs. What an audit must say of it is beside it: the
kind of verdict, the meter, bytes (exact), blocks, and the function whose line is marked with "# leaks". All notebooks
of a list run in one kernel, one after another; an audit in the end must find every leak and nothing else. So each leak
has a size of its own.
"""

import json
import textwrap
import time

import driver


class Step:
    """A cell, how often it runs, how it ends, and seconds without any cell behind it."""

    request = {}    # nothing special, see cells.py

    def __init__(self, source, times=1, fails=False, pause=0):
        self.source, self.times, self.fails, self.pause = textwrap.dedent(source).strip("\n"), times, fails, pause


class Leak:
    """What an audit must say. kinds are those that are right: sometimes there are two ways to see it."""

    def __init__(self, kinds, size, count=None, function="<module>", meter="cpu.numpy", exact=True, says=""):
        self.kinds, self.size, self.count = kinds.split(), size, count
        self.function, self.meter, self.exact, self.says = function, meter, exact, says


class Notebook:
    def __init__(self, name, steps, leaks=()):
        self.name, self.steps, self.leaks = name, steps, leaks

    def expectations(self):
        for leak in self.leaks:
            lines = [number for step in self.steps for number,
                     line in enumerate(step.source.split("\n"), 1) if "# leaks" in line]
            yield {"notebook": self.name, "kinds": leak.kinds, "meter": leak.meter, "bytes": leak.size,
                   "count": leak.count,
                   "function": leak.function, "lines": lines, "exact": leak.exact, "says": leak.says}


MIB = 1 << 20
GROWTH, OUTPUT, TRACEBACK, AFTER = "rerun-growth", "held-by-output", "held-by-traceback", "held-after-window"


# Leaks of any kind of block: `size` bytes of a meter, made by the notebook's block().

def waiting_thread(size, meter):
    return Notebook("thread_that_waits", [
        Step("""
            def work(ready):
                local = block(%d)  # leaks
                ready.set()
                threading.Event().wait()
                return local
            ready = threading.Event()
            threading.Thread(target=work, args=(ready,), daemon=True).start()
            ready.wait()
            """ % size)], [Leak(AFTER, size, 1, "work", meter)])


def stolen_reference(size, meter):
    return Notebook("reference_never_given_back", [
        Step("""
            stolen = block(%d)  # leaks
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(stolen))
            del stolen
            """ % size)], [Leak(AFTER, size, 1, meter=meter)])


def reference_cycle(size, meter):
    return Notebook("reference_cycle", [
        Step("""
            class Node:
                pass
            def tree():
                root, leaf = Node(), Node()
                root.leaf, leaf.root = leaf, root
                leaf.data = block(%d)  # leaks
            gc.disable()
            tree()
            """ % size)], [Leak(AFTER, size, 1, "tree", meter)])


def collected_traceback(size, meter):
    # The exception and its frames refer to each other: the collector has them, in the last cell at the latest.
    return Notebook("traceback_that_is_collected", [
        Step("""
            def fit():
                gradients = block(%d)  # leaks
                raise ValueError("bad batch")
            fit()
            """ % size, fails=True),
        Step("undefined_name", fails=True), Step("n = gc.collect()")], [Leak(TRACEBACK, size, 1, "fit", meter)])


def run(opts, kernel, session, imports, notebooks):
    """Runs the notebooks one after another. Results are JSON lines (driver.py); the last has the audit's findings."""
    steps = [(book, step) for book in [Notebook("imports", [imports])] + notebooks for step in book.steps]
    with driver.create(opts.out) as out:
        driver.write(out, {"session": session})
        driver.say({"pid": kernel.pid, "ready": True}, opts)
        for book, step in steps:
            for _ in range(step.times):
                result = dict({"name": book.name}, **kernel.run(step, []))
                if (result["status"] != "ok") != step.fails:
                    raise driver.Failure("notebook %s: %s %s" % (book.name, result["status"], result.get("error", "")))
                driver.write(out, result)
            time.sleep(step.pause)
        driver.write(out, {"name": "expect", "expect": [e for book in notebooks for e in book.expectations()]})
    goes_on(opts, kernel, driver.say({"done": True, "cells": len(steps)}, opts))
    return 0


def goes_on(opts, kernel, line):
    """More cells, as a user would type them: what an audit or a report advised. line is what the caller answered when
    all cells had run."""
    while line.startswith("["):
        results = [kernel.run(Step(source), []) for source in json.loads(line)]
        line = driver.say({"results": results}, opts)
