"""Digests of a notebook's variables, for `tracer try` (docs/try.md).

It runs in the kernel, as text, after the last cell: it uses nothing of the package. A digest says what a value is, in
few bytes: kind, type, shape, a hash of the values, and of numbers all of them or, of many, the sums of blocks, so that
two runs can be compared within a tolerance. Numbers are taken to 64 bits before they are hashed: a float32 that
became a float64 with the same values has the same hash. It reads values in pieces of 1 MiB and changes none.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_KIND = "application/x-ipytracer-digest+json"
_NAMES = 2000           # variables that are looked at
_SAMPLE = 65536         # numbers of an array that are sent, itself or sums of its blocks
_SAMPLES = 2 << 20      # … of all variables together
_FEW = 256              # … of an array once these are used up
_PIECE = 131072         # numbers that are read at a time
_DEPTH = 8
_ITEMS = 1000           # values in a list or dict that have digests of their own
_TEXT = 4096            # characters of a text that are sent
_SECONDS = 300          # after that, the other variables are left out


class Digester:
    """Makes digests, within bounds on all of them together."""

    def __init__(self) -> None:
        self._samples, self._end = _SAMPLES, time.monotonic() + _SECONDS

    def late(self) -> bool:
        """Report whether the time is used up."""
        return time.monotonic() > self._end

    def of(self, value: Any, depth: int = 0) -> dict[str, Any]:
        """Return the digest of a value."""
        try:
            return self._of(value, depth)
        except Exception as e:  # a class of the user's may raise anything
            return {"kind": "object", "type": _type(value), "why": type(e).__name__}

    def _of(self, value: Any, depth: int) -> dict[str, Any]:
        numpy, pandas, torch = (sys.modules.get(name) for name in ("numpy", "pandas", "torch"))
        if value is None or isinstance(value, (bool, int, float, complex)):
            return self._scalar(value)
        if isinstance(value, (str, bytes, bytearray)):
            return _text(value)
        if numpy is not None and isinstance(value, numpy.generic):
            return {**self._of(value.item(), depth), "type": _type(value)} if value.dtype.kind in "biufcSU" else \
                {"kind": "value", "type": _type(value), "text": repr(value)[:_TEXT]}
        if numpy is not None and isinstance(value, numpy.ndarray):
            return self._array(numpy, value)
        if pandas is not None and isinstance(value, pandas.DataFrame):
            return self._frame(pandas, value)
        if pandas is not None and isinstance(value, (pandas.Series, pandas.Index)):
            return self._series(pandas, value)
        if torch is not None and isinstance(value, torch.Tensor):
            return self._tensor(torch, value)
        return self._container(value, depth)

    def _scalar(self, value: Any) -> dict[str, Any]:
        made: dict[str, Any] = {"kind": "value", "type": _type(value)}
        if isinstance(value, int) and value.bit_length() > 4096:
            return {**made, "hash": hashlib.blake2b(hex(value).encode(), digest_size=16).hexdigest()}
        if isinstance(value, float):
            made["numbers"] = _packed([value])
        return {**made, "text": repr(value)[:_TEXT]}

    def _container(self, value: Any, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {"kind": "object", "type": _type(value)}
        kind = type(value)
        if kind not in (list, tuple, dict, set, frozenset):
            return made
        made.update(kind="container", size=len(value))
        if depth == _DEPTH:
            return made
        if kind in (list, tuple) and len(value) > 8 and all(type(v) in (float, int) for v in value):
            return self._numbers(made, value)
        items = value.items() if kind is dict else enumerate(value)
        if kind in (set, frozenset):
            items = enumerate(sorted(value, key=repr) if len(value) <= _ITEMS else ())
        made["items"] = []
        for i, (key, one) in enumerate(items):
            if i == _ITEMS or self.late():
                break
            made["items"].append([repr(key)[:200], self.of(one, depth + 1)])
        return made

    def _numbers(self, made: dict[str, Any], value: Any) -> dict[str, Any]:
        """Return the digest of a list of numbers."""
        hashed = hashlib.blake2b(digest_size=16)
        for i in range(0, len(value), _PIECE):
            hashed.update(repr(value[i:i + _PIECE]).encode())
        block = self._block(len(value))
        parts = [value[i:i + block] for i in range(0, len(value), block)]
        with contextlib.suppress(OverflowError):
            made["numbers"] = _packed([float(sum(part)) for part in parts])
            if block > 1:
                made.update(block=block, weights=_packed([float(sum(map(abs, part))) for part in parts]))
        return {**made, "kind": "array", "hash": hashed.hexdigest(), "shape": [len(value)]}

    def _block(self, size: int) -> int:
        """Return the number of elements that are sent as one sum: 1 if there is room for all."""
        most = min(_SAMPLE, max(self._samples, _FEW))
        self._samples -= min(size, most)
        return 1 if size <= most else -(-size // (most // 2))

    def _array(self, numpy: Any, value: Any) -> dict[str, Any]:
        value = numpy.asarray(value) if not hasattr(value, "mask") else value.filled()
        made: dict[str, Any] = {"kind": "array", "type": "numpy.ndarray", "dtype": str(value.dtype),
                                "shape": list(value.shape)}
        return {**made, **self._pieces(numpy, value.size, value.dtype, _of_array(numpy, value), value)}

    def _pieces(self, numpy: Any, size: int, dtype: Any, pieces: Iterator[Any], whole: Any) -> dict[str, Any]:
        """Return the hash of pieces with one dimension, and of numbers the sums."""
        hashed, number = hashlib.blake2b(digest_size=16), dtype.kind in "biufc"
        blocks = Blocks(numpy, self._block(size * (2 if dtype.kind == "c" else 1)) if number else 1)
        sums = {"nan": 0, "sum": 0.0, "abs": 0.0, "min": None, "max": None}
        for piece in pieces:
            if not number:
                hashed.update(_bytes(numpy, piece))
                continue
            wide = _wide(numpy, piece)
            hashed.update(wide)
            real = wide.view("f8") if wide.dtype.kind == "c" else wide
            _add(numpy, sums, real)
            blocks.add(real)
        made: dict[str, Any] = {"hash": hashed.hexdigest()}
        if number:
            made["sums"] = {k: None if v is None else repr(float(v)) for k, v in sums.items()}
            made.update(blocks.sent())
        return made

    def _series(self, pandas: Any, value: Any) -> dict[str, Any]:
        import numpy  # pandas has it
        made: dict[str, Any] = {"kind": "array", "type": _type(value), "dtype": str(value.dtype),
                                "shape": [len(value)], "name": repr(value.name)[:200]}
        dtype = value.dtype
        if not isinstance(dtype, numpy.dtype) or dtype.kind not in "biufc":
            dtype = numpy.dtype("O")
        rows = value.iloc if isinstance(value, pandas.Series) else value

        def pieces() -> Iterator[Any]:
            for i in range(0, len(value), _PIECE):
                piece = rows[i:i + _PIECE]
                yield piece.to_numpy() if dtype.kind != "O" else piece.astype(object).to_numpy()

        made.update(self._pieces(numpy, len(value), dtype, pieces(), value))
        return made

    def _frame(self, pandas: Any, value: Any) -> dict[str, Any]:
        made: dict[str, Any] = {"kind": "frame", "type": _type(value), "shape": list(value.shape), "items": []}
        made["items"].append(["index", self.of(value.index)])
        for i, name in enumerate(value.columns[:_ITEMS]):
            made["items"].append([repr(name)[:200], self.of(value.iloc[:, i])])
        return made

    def _tensor(self, torch: Any, value: Any) -> dict[str, Any]:
        import numpy
        value = value.detach()
        made: dict[str, Any] = {"kind": "array", "type": _type(value), "dtype": str(value.dtype),
                                "shape": list(value.shape), "device": str(value.device)}
        if value.layout is not torch.strided or value.is_quantized or value.device.type == "meta":
            return {**made, "kind": "object"}

        def pieces(t: Any) -> Iterator[Any]:
            if t.numel() <= _PIECE or t.is_contiguous():
                flat = t.reshape(-1)
                for i in range(0, len(flat), _PIECE):
                    piece = flat[i:i + _PIECE].cpu().resolve_conj().resolve_neg()
                    yield (piece.float() if piece.dtype is torch.bfloat16 else piece).numpy()
            else:
                for one in t:
                    yield from pieces(one)

        kind = "c" if value.is_complex() else "f" if value.is_floating_point() else "i"
        return {**made, **self._pieces(numpy, value.numel(), numpy.dtype(kind + "8"), pieces(value), value)}


class Blocks:
    """The sums of blocks of numbers, in their order. A block of one is the number."""

    def __init__(self, numpy: Any, block: int) -> None:
        self._numpy, self._block, self._at = numpy, block, 0
        self._sums: list[Any] = []
        self._weights: list[Any] = []

    def add(self, real: Any) -> None:
        """Add the next numbers."""
        numpy, wide = self._numpy, real.astype("f8")
        if self._block == 1:
            self._sums.append(wide)
            return
        if not len(wide):
            return
        wide[~numpy.isfinite(wide)] = 0.0  # they are counted elsewhere
        begins = numpy.arange(-self._at % self._block, len(wide), self._block)
        goes_on = self._at % self._block != 0
        if goes_on:
            begins = numpy.concatenate([[0], begins])
        for kept, values in (self._sums, wide), (self._weights, numpy.abs(wide)):
            parts = numpy.add.reduceat(values, begins)
            if goes_on:
                kept[-1][-1] += parts[0]
                parts = parts[1:]
            if len(parts):
                kept.append(parts)
        self._at += len(wide)

    def sent(self) -> dict[str, Any]:
        """Return them as they are sent."""
        made: dict[str, Any] = {"numbers": self._packed(self._sums)}
        return made if self._block == 1 else {**made, "block": self._block, "weights": self._packed(self._weights)}

    def _packed(self, kept: list[Any]) -> str:
        joined = self._numpy.concatenate(kept).astype("<f8").tobytes() if kept else b""
        return base64.b64encode(joined).decode()


def _of_array(numpy: Any, value: Any) -> Iterator[Any]:
    """Return the elements of an array in C's order, in pieces."""
    if value.flags.c_contiguous:
        flat = value.reshape(-1)
        for i in range(0, len(flat), _PIECE):
            yield flat[i:i + _PIECE]
    elif value.size:
        yield from numpy.nditer(value, flags=["external_loop", "buffered", "refs_ok"], order="C", buffersize=_PIECE)


def _wide(numpy: Any, piece: Any) -> Any:
    """Return numbers as 64 bits, in one order of bytes; -0.0 as 0.0, and one NaN for all."""
    kind = piece.dtype.kind
    if kind == "b" or kind == "i" or kind == "u" and piece.dtype.itemsize < 8:
        return numpy.ascontiguousarray(piece, dtype="<i8")
    if kind == "u":
        return numpy.ascontiguousarray(piece, dtype="<u8")
    if kind == "c":
        return piece.astype("<c16") + 0.0
    wide = piece.astype("<f8") + 0.0
    wide[numpy.isnan(wide)] = numpy.nan
    return wide


def _add(numpy: Any, sums: dict[str, Any], real: Any) -> None:
    """Add numbers to sums. What is not finite is counted only."""
    if real.dtype.kind == "f":
        finite = numpy.isfinite(real)
        if not finite.all():
            sums["nan"] += int(finite.size - finite.sum())
            real = real[finite]
    if real.size:
        sums["sum"] += float(real.sum(dtype="f8"))
        sums["abs"] += float(numpy.abs(real.astype("f8")).sum())
        low, high = float(real.min()), float(real.max())
        sums["min"] = low if sums["min"] is None else min(low, sums["min"])
        sums["max"] = high if sums["max"] is None else max(high, sums["max"])


def _bytes(numpy: Any, piece: Any) -> bytes:
    """Return a piece that has no numbers as bytes that mean the same in every run."""
    if piece.dtype.kind in "mM":
        return bytes(piece.astype("i8").tobytes())
    if piece.dtype.kind != "O":
        return bytes(piece.tobytes())
    out = bytearray()
    for one in piece.tolist():
        if one is None or one != one or type(one).__name__ in ("NaTType", "NAType"):
            text = b"n"
        elif isinstance(one, str):
            text = b"s" + one.encode("utf-8", "surrogatepass")
        elif isinstance(one, (int, float, bytes, tuple)):
            text = repr(one)[:_TEXT].encode("utf-8", "replace")
        elif type(one).__module__ in ("datetime", "decimal", "pandas._libs.tslibs.timestamps",
                                      "pandas._libs.interval", "pandas._libs.tslibs.period"):
            text = str(one).encode()
        else:
            text = _type(one).encode()
        out += b"%d:%s" % (len(text), text)
    return bytes(out)


def _text(value: Any) -> dict[str, Any]:
    made = {"kind": "value", "type": _type(value), "size": len(value), "text": repr(value[:_TEXT])[:_TEXT]}
    if len(value) > _TEXT // 8:
        data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
        made["hash"] = hashlib.blake2b(data, digest_size=16).hexdigest()
    return made


def _packed(numbers: list[float]) -> str:
    import array
    packed = array.array("d", numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return base64.b64encode(packed.tobytes()).decode()


def _type(value: Any) -> str:
    kind = type(value)
    return ("%s.%s" % (kind.__module__, kind.__qualname__))[:200].removeprefix("builtins.")


def _skipped(name: str, value: Any) -> bool:
    """Report whether a name is IPython's, or that of code and no data."""
    return name.startswith("_") or name in ("In", "Out", "exit", "quit", "get_ipython", "open") or \
        type(value).__name__ in ("module", "function", "type", "builtin_function_or_method", "ABCMeta")


def _digests(names: dict[str, Any]) -> dict[str, Any]:
    digester, more = Digester(), 0
    made: list[list[Any]] = []
    for name in sorted(n for n in list(names) if isinstance(n, str)):
        value = names.get(name)
        if _skipped(name, value):
            continue
        if len(made) == _NAMES or digester.late():
            more += 1
        else:
            made.append([name[:200], digester.of(value)])
    return {"variables": made, "more": more}


def _main() -> None:
    from IPython import get_ipython
    shell = get_ipython()
    shell.display_pub.publish({_KIND: _digests(shell.user_ns)}, {})


if __name__ == "_ipytracer_digest":
    _main()
