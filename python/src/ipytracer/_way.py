"""The ways to a tracer for a user without one: have a server begin a session, which takes no root, or have a user with
root attach."""

from __future__ import annotations

import os
import sys

from . import _serve
from ._line import LINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Companion, Shell

_INITIAL_PID_NAMESPACE = "pid:[4026531836]"   # PROC_PID_INIT_INO of the kernel's include/linux/proc_ns.h
START = "%tracer start"
COMPANION = "_ipytracer_companion"            # the Companion, in a shell with the extension


def pid() -> str:
    """Return this process's id as a terminal on the machine knows it: text, "" in a container, where the pid inside is
    not the one outside."""
    try:
        inside = os.readlink("/proc/self/ns/pid") != _INITIAL_PID_NAMESPACE
    except OSError:
        inside = False
    return "" if inside else str(os.getpid())


def command() -> str:
    """Return the command for a terminal that has this process traced."""
    return ("sudo tracer attach " + pid()).rstrip()


def of(shell: Shell) -> Companion | None:
    """Return the Companion of a shell, None where the extension is not loaded."""
    return getattr(shell, COMPANION, None)


def magic() -> str:
    """Return the line for a cell where a server runs; "" where this process has no cells."""
    found = shell()
    if found is None:
        return ""
    return START if of(found) is not None else "%load_ext ipytracer, then " + START


def shell() -> Shell:
    """Return the IPython shell of this process, None where there is none."""
    try:
        return sys.modules["IPython"].get_ipython()
    except (KeyError, AttributeError):
        return None


def todo() -> str:
    """Return the advice: half a sentence."""
    there, typed = _serve.look(), magic()
    if there == _serve.THERE and typed:
        return "type in a cell: " + typed
    root = "in a terminal, type: " + command()
    if not typed:
        return root
    if there == _serve.CLOSED:
        return "'tracer serve' runs here, but not for you: ask the administrator to let you into %s; or %s" % (
            os.path.dirname(_serve.path()),
            root,
        )
    return "%s (without root, ask the administrator to run: sudo tracer serve; then %s works here)" % (root, START)


def inside() -> str:
    """Return a sentence that says that this process reads its figures itself, and how to get a tracer."""
    return (
        "ipytracer: no tracer listens yet; until then figures are read inside this process (\u2248, \u2265); for exact "
        "ones, " + todo()
    )


def no_lines() -> str:
    """Return a sentence that says that nobody here knows who allocated, and how to get a tracer."""
    return "ipytracer: the lines that allocated: only a tracer outside can say that; " + todo()


def unheard(yet: str = "") -> str:
    """Return a sentence that says why no tracer is heard, and gives the advice."""
    if LINE.older:
        return (
            "ipytracer: the tracer that is attached is older than this package, which it cannot answer: "
            "install a newer tracer"
        )
    return "ipytracer: no tracer listens%s; %s" % (yet, todo())
