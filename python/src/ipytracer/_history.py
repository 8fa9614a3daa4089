"""The file with what cells needed in earlier sessions, only where the user asked for one: hashes and figures, no source
and no names. Data in it is hostile until it is checked: another program may have written it.
"""

from __future__ import annotations

import json
import os
import re
import stat

from ._named import NamedTuple
from ._needed import MOST_CELLS, MOST_METERS, MOST_RUNS, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._needed import Needs

FORMAT = "ipytracer/needs/v1"
HERE = ".ipytracer-needs.json"
MOST_BYTES = 256 << 10
_CODE = re.compile(r"[0-9a-f]{32}")
_DATA = re.compile(r"[0-9a-f]{8}")
_METER = re.compile(r"cpu\.(?:resident|mapped)|gpu\.\d{1,4}\.driver")
_MOST = 1 << 62       # bytes, runs, seconds


class Unusable(Exception):
    """The file is not one that may be read or replaced. The argument is half a sentence that says why."""


class Place(NamedTuple):
    """Where a history lies: "home" or "here", and the path."""

    name: str
    path: str


def place(name: str) -> Place:
    """Return the place with that name: home, the user's state folder, or here, the kernel's folder as of now."""
    if name == "here":
        return Place(name, os.path.join(os.getcwd(), HERE))
    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.join(os.path.expanduser("~"), ".local", "state")
    return Place(name, os.path.join(state, "ipytracer", "needs.json"))


def read(path: str) -> Needs | None:
    """Return a history, None where there is none. Raise Unusable for a file that is anything else."""
    text = read_text(path)
    if text is None:
        return None
    try:
        return _needs(json.loads(text, parse_int=_integer, parse_float=_none, parse_constant=_none))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, MemoryError):
        raise Unusable("it is no history of the guard") from None


def read_text(path: str) -> bytes | None:
    """Return the bytes of a file that only this user can have written, None where there is none."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as e:
        raise Unusable("it is a link" if os.path.islink(path) else str(e.strerror)) from None
    try:
        seen = os.fstat(number)
        if not stat.S_ISREG(seen.st_mode):
            raise Unusable("it is no regular file")
        if seen.st_uid != os.geteuid():
            raise Unusable("it belongs to another user")
        if seen.st_mode & 0o022:
            raise Unusable("others may write to it")
        if seen.st_size > MOST_BYTES:
            raise Unusable("it is larger than %d KiB" % (MOST_BYTES >> 10))
        return os.read(number, MOST_BYTES)
    finally:
        os.close(number)


def _integer(digits: str) -> int:
    if len(digits) > 19:
        raise ValueError("too large")
    return int(digits)


def _none(_text: str) -> Any:
    raise ValueError("no integer")


def _checked(value: Any, pattern: re.Pattern[str]) -> str:
    if type(value) is not str or not pattern.fullmatch(value):
        raise ValueError("no hash")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _MOST:
        raise ValueError("no count")
    return value


def _needs(whole: Any) -> Needs:
    from ._needed import Needs
    if type(whole) is not dict or whole["format"] != FORMAT or type(whole["cells"]) is not dict:
        raise ValueError("another format")
    if len(whole["cells"]) > MOST_CELLS:
        raise ValueError("too many cells")
    needs = Needs()
    for code, (times, runs) in whole["cells"].items():
        if type(runs) is not list or not 0 < len(runs) <= MOST_RUNS:
            raise ValueError("too many runs")
        needs.runs[_checked(code, _CODE)] = _count(times), [_run(one) for one in runs]
    return needs


def _run(one: Any) -> Run:
    need, least, data, when, died = one
    if type(need) is not dict or len(need) > MOST_METERS or type(least) is not bool or type(died) is not bool:
        raise ValueError("no run")
    needs = {_checked(m, _METER): _count(n) for m, n in need.items()}
    return Run(needs, least, _checked(data, _DATA), _count(when), died)


def write(path: str, needs: Needs, seen: set[str]) -> None:
    """Write the cells of this session, whose hashes are seen, into a history that other sessions may have written to
    meanwhile. Raise Unusable where it cannot be replaced."""
    whole = read(path)
    cells = {} if whole is None else dict(whole.runs)
    for code, entry in needs.runs.items():
        if code in seen:
            cells.pop(code, None)       # it becomes the newest
            cells[code] = entry
    data = _encoded(cells)
    new = "%s.%s" % (path, os.urandom(6).hex())
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        number = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as e:
        raise Unusable(str(e.strerror)) from None
    try:
        with open(number, "wb", buffering=0) as f:
            if f.write(data) != len(data):
                raise OSError(28, os.strerror(28))
        os.replace(new, path)
    except OSError as e:
        os.unlink(new)
        raise Unusable(str(e.strerror)) from None


def _encoded(cells: dict[str, tuple[int, list[Run]]]) -> bytes:
    """Return the text of a file: the newest cells that it has room for."""
    rows: list[str] = []
    size = 100
    for code in reversed(list(cells)):
        times, runs = cells[code]
        row = "%s:%s" % (json.dumps(code), json.dumps([times, [list(r) for r in runs]], separators=(",", ":")))
        size += len(row) + 2
        if size > MOST_BYTES or len(rows) >= MOST_CELLS:
            break
        rows.append(row)
    return ('{"format":"%s","cells":{\n%s\n}}\n' % (FORMAT, ",\n".join(reversed(rows)))).encode()


def delete(path: str) -> bool:
    """Delete a history. Return whether there was one. Raise Unusable where it cannot be deleted."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as e:
        raise Unusable(str(e.strerror)) from None
    return True
