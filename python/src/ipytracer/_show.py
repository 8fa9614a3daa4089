"""The displays: text for terminals and HTML for notebooks, of the same data, in one bundle."""

from __future__ import annotations

from . import _found, _html, _lab, _text, _words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._looked import Advice, Audit, Check, Variables
    from ._packets import Hello
    from ._types import Bundle, Shell
    from ._window import Window

_MARK = {"ipytracer": _lab.PROTOCOL}
# The figures of a line for front ends whose extensions have no comms. A name that begins with vnd. would be preferred
# to HTML in VS Code; and it replaces all outputs of a cell, late ones too, where the metadata of one change.
FIGURES = "application/x-ipytracer+json"


def compact(window: Window, hello: Hello | None = None) -> Bundle:
    """Return the line under a cell, as a display bundle."""
    return {
        "text/plain": _text.compact(window, hello),
        "text/html": _html.line(window, hello),
        FIGURES: _lab.shown("cell", window, hello),
    }


def full(window: Window, hello: Hello | None = None) -> Bundle:
    """Return the line and a table of every meter."""
    table = _text.meters(window)
    return {"text/plain": _text.compact(window, hello) + "\n" + _text.table(table),
            "text/html": _html.line(window, hello) + _html.unfolded("every meter", _html.table(table)),
            FIGURES: _lab.shown("cell", window, hello)}


def table(t: _text.Table, note: str = "") -> Bundle:
    """Return a table, and a sentence behind it."""
    return {
        "text/plain": "\n".join([_text.table(t)] + ([note] if note else [])),
        "text/html": _html.noted(_html.table(t), note),
    }


def variables(found: Variables) -> Bundle:
    """Return the variables of a process."""
    if not found and found.why:
        return sentence("ipytracer: " + found.why)
    return table(*_found.variables(found))


def audit(found: Audit) -> Bundle:
    """Return the memory that stays behind."""
    if found.why and not found and not found.all_clear:
        return sentence("ipytracer: " + found.why)
    of = _found.audit(found)
    return {"text/plain": _found.text(of), "text/html": _html.entries(of)}


def advice(found: Advice) -> Bundle:
    """Return advice, line by line."""
    if not found.says:
        return sentence("ipytracer: " + (found.why or "there is no advice"))
    return {
        "text/plain": "\n".join(_words.safe(line, 1000) for line in found.says.rstrip("\n").split("\n")),
        "text/html": _html.advice(found.says),
    }


def checked(found: Check) -> Bundle:
    """Return the memory that came back, beside the prediction."""
    if not found:
        return sentence("ipytracer: " + (found.why or "nothing was predicted to be freed"))
    return table(*_found.checked(found))


def sentence(text: str) -> Bundle:
    """Return one line of text."""
    return {"text/plain": _words.safe(text, 500)}


def running(window: Window, hello: Hello | None = None) -> Bundle:
    """Return the line of a cell that still runs."""
    return {
        "text/plain": _text.running(window, hello),
        "text/html": _html.line(window, hello, _text.running_parts(window)),
        FIGURES: _lab.shown("running", window, hello),
    }


def publish(shell: Shell, bundle: Bundle, display: str | None = None, again: bool = False) -> None:
    """Display a bundle under the running cell, or in the terminal. display: an id by which it can be changed; again:
    this changes it."""
    # Transient data is not saved: it shows JupyterLab's extension that there is a companion now.
    if display is None:
        shell.display_pub.publish(data=bundle, metadata={}, transient=dict(_MARK))
    else:
        shell.display_pub.publish(data=bundle, metadata={}, transient=dict(_MARK, display_id=display), update=again)
