"""What can be asked in Python. Without a tracer each call returns at once."""

from ._line import IN_ALL, LINE
from ._window import Lines, Window, Windows

_PAGE = 200     # cells that one answer has
_MOST_PAGES = 500


def attached():
    """Say whether a tracer listens. It does not wait: where the extension is not loaded the first call offers the line, and only later ones
    can know."""
    return LINE.look()


def last():
    """The last cell that has ended, as Window; None without a tracer, and before the first one.

    In a cell it is the one before. Sizes are bytes, times nanoseconds.
    """
    if not LINE.look():
        return None
    told = LINE.ask("cell")
    if isinstance(told, Windows) and told:
        LINE.late = (LINE.late + [told])[-3:]     # what a cell still waits for is shown below the next one
    return LINE.newest


def cells(after=0):
    """The cells of this process that have ended, as Windows: a list of Window, the oldest first, with to_dataframe().

    after: only those whose id is higher. Sizes are bytes, times nanoseconds. Without a tracer the list is empty.
    """
    found = Windows()
    if not LINE.look():
        return found
    for _ in range(_MOST_PAGES):
        page = LINE.ask("cells", most=IN_ALL, after=after, limit=_PAGE)
        if not isinstance(page, Windows):
            break
        newer = [w for w in page if w.id > after]
        if not newer:        # a page may be shorter than asked for
            break
        found.extend(newer)
        after = max(w.id for w in newer)
    return found


def lines(window=None):
    """Who allocated in a window, as Lines: a list of Line, of each meter the most at the window's peak first, with to_dataframe().

    window: a Window or its id; None for the last cell. Sizes are bytes. Without a tracer the list is empty.
    """
    if not LINE.look():
        return Lines()
    if window is None:
        window = last()
        if window is None:
            return Lines()
    number = window.id if isinstance(window, Window) else window
    if type(number) is not int:
        raise TypeError("lines() takes a window or its id, not %s" % type(number).__name__)
    found = LINE.ask("lines", most=IN_ALL, window=number)
    return found if isinstance(found, Lines) else Lines()
