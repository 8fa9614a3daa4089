"""The hooks in a Dask worker: a mark where a task begins and where it ends, on the thread that runs it.

A plugin's transition() is called on the worker's event loop, not on that thread, and later. So the worker's execute()
notes which task it is about to run, and submit() of its executors puts the marks around it. Both are the same in
distributed 2022.12 and 2024.12. A coroutine runs on the event loop; the function that awaits it has another name in the
two versions. Nothing here raises because a version has neither: then those tasks have no windows.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import logging
import sys
import threading

from ._dask_clock import Answer
from ._dask_figures import FIGURES, Taker
from ._dask_marks import MARKS
from ._dask_trace import ANNOTATION as TRACE
from ._dask_trace import is_context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._types import Data

ANNOTATION = "ipytracer"     # of a task: the cell that submitted it
_OURS = "_ipytracer"         # marks a function of ours
_AWAITING = ("apply_function_async", "_run_task_async")      # of distributed.worker: 2022.12, 2024.12

_log = logging.getLogger("ipytracer")
# [(prefix, cell, traceparent)] of the task that execute() is about to run, empty once it runs: code of the task has the
# same context
_next: contextvars.ContextVar[list[tuple[str, str, str]]] = contextvars.ContextVar("ipytracer_next")
_here = threading.local()    # .of: (cell, traceparent) of the task which this thread runs, None for none
_workers: list[Any] = []     # the workers of this process
_taker: Taker | None = None


def setup(worker: Any) -> None:
    """Hook into a worker. A second time changes nothing."""
    global _taker
    if worker in _workers:
        return
    _workers.append(worker)
    if _taker is None:
        _taker = Taker(FIGURES)
    worker.execute = _execute(worker, worker.execute)
    offload = worker.executors.get("offload")     # it reads tasks, and runs none
    for executor in worker.executors.values():
        if executor is not offload and not hasattr(executor.submit, _OURS):
            executor.submit = _submit(executor, executor.submit)
    _await_marked(sys.modules.get("distributed.worker"))


def teardown(worker: Any) -> None:
    """Leave a worker as it was."""
    global _taker
    if worker not in _workers:
        return
    _workers.remove(worker)
    with contextlib.suppress(AttributeError):
        del worker.execute
    for executor in worker.executors.values():
        if hasattr(executor.submit, _OURS):
            del executor.submit
    if not _workers:
        MARKS.close()
        if _taker is not None:
            _taker.stop()
            _taker = None


def submitter() -> tuple[str, str] | None:
    """Return the cell and the traceparent of the task that this thread runs; None where it runs none, or one without a
    cell."""
    of: tuple[str, str] | None = getattr(_here, "of", None)
    return of


def _execute(worker: Any, execute: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(execute)
    async def run(key: Any, *args: Any, **kwargs: Any) -> Any:
        _next.set([_named(worker, key)])
        return await execute(key, *args, **kwargs)
    return run


def _named(worker: Any, key: Any) -> tuple[str, str, str]:
    """Return the prefix of a task's key, and the cell that submitted it with its traceparent."""
    prefix, of, trace = _prefix(key), "", ""
    with contextlib.suppress(AttributeError, KeyError, TypeError):
        annotations = worker.state.tasks[key].annotations or {}
        of, trace = annotations.get(ANNOTATION, ""), annotations.get(TRACE, "")
    return prefix, of if isinstance(of, str) else "", trace if is_context(trace) else ""


def _taken() -> tuple[str, str, str] | None:
    """Return the task that is about to run, once."""
    waiting = _next.get(None)
    return waiting.pop() if waiting else None


def _prefix(key: Any) -> str:
    try:
        from distributed.utils import key_split
        return str(key_split(key))
    except Exception:      # a key of a kind that it does not know
        return "task"


def _submit(executor: Any, submit: Callable[..., Any]) -> Callable[..., Any]:
    threads = "ThreadPoolExecutor" in str(type(executor))     # as the worker asks

    @functools.wraps(submit)
    def marked(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        named = _actor(args) or _taken()
        if named is None:
            return submit(function, *args, **kwargs)
        if threads:
            return submit(_run, named, function, args, kwargs)
        name = MARKS.begin(*named)     # another process runs it: the window has this one's children
        try:
            future = submit(function, *args, **kwargs)
        except BaseException:
            _end(name)
            raise
        future.add_done_callback(lambda _: _end(name))
        return future
    setattr(marked, _OURS, True)
    return marked


def _actor(args: tuple[Any, ...]) -> tuple[str, str, str] | None:
    """Return the name of an actor's method: the worker gives it as "Counter.increment", after the method, its arguments
    and the state of execution."""
    if len(args) == 7 and isinstance(args[4], str):
        return args[4], "", ""
    return None


def _run(
    named: tuple[str, str, str], function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    name = MARKS.begin(*named)
    _here.of = named[1:] if named[1] else None
    try:
        return function(*args, **kwargs)
    finally:
        _here.of = None
        _end(name)


def _end(name: str) -> None:
    MARKS.end(name)
    if _taker is not None:
        _taker.wake()


def _await_marked(module: Any) -> None:
    """Mark the coroutines that workers of this process await as tasks."""
    for name in _AWAITING:
        awaits = getattr(module, name, None)
        if awaits is not None and not hasattr(awaits, _OURS):
            setattr(module, name, _awaited(awaits))


def _awaited(awaits: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(awaits)
    async def run(*args: Any, **kwargs: Any) -> Any:
        named = _taken()
        if named is None:
            return await awaits(*args, **kwargs)
        name = MARKS.begin(*named)
        try:
            return await awaits(*args, **kwargs)
        finally:
            _end(name)
    setattr(run, _OURS, True)
    return run


async def collect(dask_worker: Any, cell: str | None = None, question: str = "") -> Data:
    """Return the figures of a worker's process: Client.run calls this there. It leaves the event loop alone while the
    tracer answers. question: the id of a marked one."""
    answer = Answer(question)
    report = await asyncio.get_running_loop().run_in_executor(None, functools.partial(FIGURES.report, cell))
    return dict(report, name=str(dask_worker.name)[:100], hooked=dask_worker in _workers, sent=answer.leaves())
