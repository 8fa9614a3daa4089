"""What is displayed: text for terminals and HTML for notebooks, of the same data, in one bundle."""

from . import _html, _text, _words


def compact(window, hello=None):
    """The line under a cell, as a display bundle."""
    return {"text/plain": _text.compact(window, hello), "text/html": _html.line(window, hello)}


def full(window, hello=None):
    """The line and a table of every meter."""
    table = _text.meters(window)
    return {"text/plain": _text.compact(window, hello) + "\n" + _text.table(table),
            "text/html": _html.line(window, hello) + _html.unfolded("every meter", _html.table(table))}


def table(t):
    """A table."""
    return {"text/plain": _text.table(t), "text/html": _html.table(t)}


def sentence(text):
    """One line of text."""
    return {"text/plain": _words.safe(text, 500)}


def publish(shell, bundle):
    """Display a bundle under the cell that runs, or in the terminal."""
    shell.display_pub.publish(data=bundle, metadata={})
