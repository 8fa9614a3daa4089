"""malloc in a command of `tracer run --heap`: what it costs where the command counts itself, and by probes."""

import contextlib
import os
import statistics
import subprocess
import tempfile

from estimate import estimate
from pairing import interleave
from table import Row

SECTION = "malloc and free in a command of `tracer run --heap`, against the command alone"

# Returns the ns of a malloc of 64 bytes with its free: the least of some loops, in a program of one or of two threads.
PROGRAM = """
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * t.tv_sec + t.tv_nsec;
}
static void *wait(void *x)
{
    pause();
    return x;
}
double pairs(int loops, int threads)
{
    pthread_t other;
    double least = 1e18;
    if (threads > 1 && pthread_create(&other, 0, wait, 0))
        return -1;
    for (int round = 0; round < 20; round++) {
        double from = now();
        for (int i = 0; i < loops; i++) {
            void *block = malloc(64);
            __asm__ volatile("" : : "r"(block) : "memory");
            free(block);
        }
        double took = (now() - from) / loops;
        least = took < least ? took : least;
    }
    return least;
}
"""

# Only a Python has probes: so one calls it, once they are in place.
CALL = """
import ctypes, time
pairs = ctypes.CDLL("{library}").pairs
pairs.restype = ctypes.c_double
time.sleep(0.5)
print(pairs({loops}, {threads}))
"""

# Prints the CPU time of a column of a million texts, each longer than what Python's own allocator takes.
ROWS = """
import time, pandas
n = {rows}
began = time.process_time()
names = pandas.Series([f"{{i:0600d}}" for i in range(n)])
names.str[100:].str.upper()
print(time.process_time() - began)
"""


def ways(settings):
    """Returns, by name, what goes in front of a command."""
    run = [settings.tracer, "run", "-q", "-o", os.devnull]
    return {
        "alone": [],
        "tracer run": [*run, "--"],
        "--heap": [*run, "--heap", "--"],
        "--heap --no-stacks": [*run, "--heap", "--no-stacks", "--"],
        "--heap --no-preload": [*run, "--heap", "--no-preload", "--"],
    }


def printed(command):
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def compare(settings, rounds, command, progress, without=()):
    """Returns the Series of what a command prints, in turns."""
    conditions = {
        name: lambda front=front: contextlib.nullcontext([*front, *command])
        for name, front in ways(settings).items() if name not in without
    }
    return interleave(rounds, conditions, lambda entered: {"it": printed(entered)}, warm_up=not settings.quick,
                      progress=settings.progress(progress))["it"]


def measure(settings):
    with tempfile.TemporaryDirectory(prefix="ipytracer-bench-", dir="/tmp") as place:
        library = os.path.join(place, "heap.so")
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-pthread", "-x", "c", "-o", library, "-"], input=PROGRAM,
                       text=True, check=True)
        for name, threads in (("one thread", 1), ("two threads", 2)):
            code = CALL.format(library=library, loops=10000, threads=threads)
            found = compare(settings, settings.rounds(10, 2), ["/usr/bin/python3", "-c", code], f"heap, {name}",
                            without=["tracer run", "--heap --no-stacks"])
            bare = statistics.median(found.values["alone"])
            for way in ("--heap", "--heap --no-preload"):
                yield Row(SECTION, f"malloc(64) and free, {name}, {way}: added", "ns",
                          estimate(found.differences(way, "alone")), 12 if way == "--heap" else None,
                          f"{bare:.1f} ns alone")
    rows = 100_000 if settings.quick else 1_000_000
    found = compare(settings, settings.rounds(7, 1), ["/usr/bin/python3", "-c", ROWS.format(rows=rows)], "heap, pandas",
                    without=["--heap --no-preload"])
    for way in list(found.values)[1:]:
        yield Row(SECTION, f"pandas, {rows:,} rows of text, {way}: CPU time", "×",
                  estimate(found.ratios(way, "alone")), 1.1 if way.startswith("--heap") else None,
                  f"{statistics.median(found.values['alone']):.2f} s alone")
    found = compare(settings, 1, ["/usr/bin/python3", "-c", ROWS.format(rows=rows // 5)], "heap, pandas by probes",
                    without=["tracer run", "--heap --no-stacks"])
    for way in ("--heap", "--heap --no-preload"):
        yield Row(SECTION, f"pandas, {rows // 5:,} rows of text, {way}: CPU time", "×",
                  estimate(found.ratios(way, "alone")))
