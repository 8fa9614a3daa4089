"""Sizes as users type them."""

from __future__ import annotations

import re

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*([KMGTP]?)(I?)(B?)\s*", re.IGNORECASE | re.ASCII)
_MOST = 1 << 62


def parse(text: object) -> int:
    """Return the bytes of a size such as "100 MiB", "24 MB", "1.5g" or 4096: powers of 1024 for every unit, in any
    case, as in pytest-memray.

    Raise ValueError, with a sentence, for anything else.
    """
    if type(text) is int:
        number, found = text, None
    else:
        found = _SIZE.fullmatch(text) if isinstance(text, str) and len(text) <= 60 else None
        if found is None or found.group(3) and not found.group(2):
            raise ValueError("%.60r is no size; sizes are such as '100 MiB' or '24 MB'" % (text,))
        number = int(round(float(found.group(1)) * 1024 ** " KMGTP".index(found.group(2).upper() or " ")))
    if not 0 <= number <= _MOST:
        raise ValueError("%.60r is no size that a machine has" % (text,))
    return number
