"""%tracer limit: a soft limit on the memory that this process may map, so that it gets a MemoryError instead of the OOM
killer.

A process may set it for itself (setrlimit(2)), so this needs no tracer and no root.
"""

from __future__ import annotations

import resource

from . import _sizes, _way, _words

_LEAST_ROOM = 16 << 20   # bytes left for the code that shows the error


def mapped() -> int:
    """Return the bytes that this process has mapped privately and writable: the limit counts these."""
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith("VmData:"):
                return int(line.split()[1]) << 10
    raise OSError("/proc/self/status has no VmData")


def limit(word: str) -> str:
    """Carry out a word: a size sets the limit, "off" removes it, "" reads it. Return one sentence. Raise ValueError,
    with a sentence, for anything else."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    now = mapped()
    if word == "off":
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        soft = hard
    elif word == "auto":
        raise ValueError(
            "only the tracer knows what is safe here: in a terminal, type: sudo tracer limit %s auto"
            % (_way.pid() or "PID")
        )
    elif word:
        size = _sizes.parse(word)
        if hard != resource.RLIM_INFINITY and size > hard:
            raise ValueError(
                "%s is more than the hard limit of this process, %s" % (_words.size(size), _words.size(hard))
            )
        if size < now + _LEAST_ROOM:
            raise ValueError(
                "this process has mapped %s already: a limit is at least %s more"
                % (_words.size(now), _words.size(_LEAST_ROOM))
            )
        resource.setrlimit(resource.RLIMIT_DATA, (size, hard))
        soft = size
    said = "no limit" if soft == resource.RLIM_INFINITY else "it may map %s" % _words.size(soft)
    return "ipytracer: this process has mapped %s, %s" % (_words.size(now), said)
