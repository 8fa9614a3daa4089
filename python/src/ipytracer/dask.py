"""The memory of tasks on Dask workers: each task is a window of the tracer that follows its worker.

    import ipytracer.dask
    ipytracer.dask.install(client)      # once
    …
    ipytracer.dask.report(client)       # the tasks so far; under each cell, where the extension is loaded

The package must be importable on the workers, and root attaches there: sudo tracer attach PID of each worker. Keys,
graphs and results stay as they are. Without a tracer a task costs a few microseconds, and no figure is made up.
"""

from __future__ import annotations

import functools
import os
import sys
import time
import weakref

import dask
from distributed import Client, WorkerPlugin

from . import _behind, _dask_trace, _dask_worker, _show, _words
from ._dask_clock import Clock
from ._dask_figures import boot
from ._dask_marks import MOST_CELL
from ._dask_report import Report, Task, join, line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._types import Shell

__all__ = ["Plugin", "Report", "Task", "install", "report"]

_PATIENCE = 10.0         # seconds that the workers have to answer a report
_BEHIND_CELL = 2.0       # the same, under a cell
_MARKED = "_ipytracer"   # marks our function


class Plugin(WorkerPlugin):  # type: ignore[misc]
    """Marks the tasks of a worker. install() registers it."""

    name = "ipytracer"
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Mark the tasks of a worker from now on, and the cell of tasks that its tasks submit."""
        _dask_worker.setup(worker)
        _mark_cells()

    def teardown(self, worker: Any) -> None:
        """Leave a worker as it was."""
        _dask_worker.teardown(worker)


class _Clients:
    """The clients of this notebook, and whether the running cell has submitted tasks to them."""

    def __init__(self) -> None:
        self.all: weakref.WeakSet[Any] = weakref.WeakSet()
        self.clocks: weakref.WeakKeyDictionary[Any, Clock] = weakref.WeakKeyDictionary()
        self.submitted: list[tuple[weakref.ref[Any], str]] = []      # clients to which the running cell has submitted

    def note(self, client: Any, cell: str) -> None:
        """Take in that a cell submits tasks."""
        if client in self.all and not any(c() is client and of == cell for c, of in self.submitted):
            self.submitted = (self.submitted + [(weakref.ref(client), cell)])[-8:]


_CLIENTS = _Clients()


def install(client: Client) -> None:
    """Mark the tasks of all workers that a client's cluster has and gets, and note in each task the cell that submits
    it. A second time changes nothing."""
    _CLIENTS.all.add(client)
    _mark_cells()
    if _show_below not in _behind.CALLS:
        _behind.CALLS.append(_show_below)
    if hasattr(client, "register_plugin"):
        client.register_plugin(Plugin())
    else:
        client.register_worker_plugin(Plugin())


def report(client: Client, cell: str | None = None, patience: float = _PATIENCE) -> Report:
    """Return the figures of the tasks so far, as Report. cell: of the tasks of one cell only, such as "In[7]", or
    "In[7] of train.ipynb" if the server gives the notebook's name. It waits for the workers at most patience seconds.
    """
    clock = _CLIENTS.clocks.setdefault(client, Clock())
    question = clock.asks()
    begun = time.time_ns()
    answers = client.sync(
        client._run, _dask_worker.collect, cell=cell, question=question, on_error="return", callback_timeout=patience
    )
    ended = time.time_ns()
    clock.hears(question, answers.items())
    return join(sorted(answers.items()), begun, ended, boot())


def _mark_cells() -> None:
    """Have clients note the cell in the tasks that they submit. Everything that a client submits goes through this
    method. It is noted only there: an annotation while a graph is built would keep dask from fusing its layers."""
    sends: Callable[..., Any] | None = getattr(Client, "_graph_to_futures", None)
    if sends is None or hasattr(sends, _MARKED):
        return
    submits = sends

    @functools.wraps(submits)
    def marked(self: Any, *args: Any, **kwargs: Any) -> Any:
        cell, trace = _dask_worker.submitter() or _cell()
        if not cell:
            return submits(self, *args, **kwargs)
        _CLIENTS.note(self, cell)
        with dask.annotate(**{_dask_worker.ANNOTATION: cell, _dask_trace.ANNOTATION: trace}):
            return submits(self, *args, **kwargs)
    setattr(marked, _MARKED, True)
    Client._graph_to_futures = marked


def _cell() -> tuple[str, str]:
    """Return the name of the running cell and its traceparent, "" where no notebook runs one."""
    try:
        count = sys.modules["IPython"].get_ipython().execution_count
    except (KeyError, AttributeError):
        return "", ""
    notebook = os.path.basename(os.environ.get("JPY_SESSION_NAME", ""))
    cell = ("In[%d]%s" % (count, " of " + notebook if notebook else ""))[:MOST_CELL]
    return cell, _dask_trace.TRACES.of(cell)


def _show_below(shell: Shell) -> None:
    """Show the line of the tasks that the cell has submitted, below it."""
    submitted, _CLIENTS.submitted = _CLIENTS.submitted, []
    for ref, cell in submitted:
        client = ref()
        if client is None or client.status != "running":
            continue
        found = report(client, cell, _BEHIND_CELL)
        if found.tasks:
            _show.publish(shell, _show.sentence(line(found)))
        elif found.silent:
            _show.publish(shell, _show.sentence(
                "ipytracer: no tracer follows the %s; on their machines, type: sudo tracer attach PID"
                % _words.plural(len(found.silent), "worker")))


