"""Sizes as pytorch_memlab writes them."""

from __future__ import annotations


def readable_size(num_bytes: float | None) -> str:
    """Return bytes as "0.00B", "40.00K", "2.00M": powers of 1024; nothing for None and nan."""
    if num_bytes is None or num_bytes != num_bytes:
        return ""
    n = float(num_bytes)
    for unit in ("B", "K", "M", "G", "T"):
        if abs(n) < 1024 or unit == "T":
            break
        n /= 1024
    return "%.2f%s" % (n, unit)
