"""A start-up file of IPython's (PYTHONSTARTUP), for a kernel that two tracers trace from outside: from one of its first
cells on it counts small arrays itself, in the page of the tracer that gives one."""

import numpy  # noqa: F401


def _begin(_=None):
    from ipytracer import _counts, _source
    counts = _counts.COUNTS
    if not _source.outside() or counts.shared:
        return
    if not counts.on:
        counts.begin()                  # beside a tracer no array is counted before there is a page
    counts._tries = _counts._TRIES      # as often as it takes, until the probes in NumPy count alone
    _source.take_over(True)
    if "the probes in the interpreter" in counts.refusal:
        counts.off()
        _source.LINE.close()            # the other tracer may answer first the next time


get_ipython().run_line_magic("load_ext", "ipytracer")  # noqa: F821
get_ipython().events.register("pre_run_cell", _begin)  # noqa: F821
