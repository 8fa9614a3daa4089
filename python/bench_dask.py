#!/usr/bin/env python3
"""The processor time that a task costs with ipytracer.dask: marks at its begin and its end, and of the time between.

    /usr/bin/python3 python/bench_dask.py
    sudo tracer run -q -o /dev/null -- /usr/bin/python3 python/bench_dask.py
"""

import os
import sys
import time
import timeit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "src"))

from ipytracer._dask_figures import Figures  # noqa: E402
from ipytracer._dask_marks import Marks  # noqa: E402

TIMES = 2_000      # a tracer keeps 100,000 windows of a session


def main():
    marks = Marks()
    figures = Figures(marks)

    def task():
        marks.end(marks.begin("merge", "In[7]"))

    listens = figures.take(patience=10 if "IPYTRACER_STARTED_BY" in os.environ else 0)
    best = min(timeit.repeat(task, number=TIMES, repeat=7, timer=time.thread_time)) / TIMES
    print("%-30s %5.2f µs" % ("marks of a task" + (", traced" if listens else ""), best * 1e6))
    if listens:
        before = figures.known
        seconds = timeit.timeit(figures.take, number=1, timer=time.thread_time)
        print("%-30s %5.2f µs" % ("its figure, in another thread", seconds / (figures.known - before) * 1e6))


if __name__ == "__main__":
    main()
