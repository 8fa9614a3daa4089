"""%tracer limit: a soft limit on what this very process may map, so that it gets a MemoryError instead of the OOM
killer.

It is the process's own to set (setrlimit(2)), so nobody is asked: no tracer, no root.
"""

from __future__ import annotations

import resource

from . import _sizes, _way, _words

_LEAST_ROOM = 16 << 20   # bytes that are left for what shows the error


def mapped() -> int:
    """What this process has mapped privately and writable, in bytes, which is what the limit counts."""
    with open("/proc/self/status") as f:
        for line in f:
            if line.startswith("VmData:"):
                return int(line.split()[1]) << 10
    raise OSError("/proc/self/status has no VmData")


def limit(word: str) -> str:
    """Do what a word says: a size, "off", or "" for what the limit is. One sentence. ValueError, with a sentence, for
    what is none of these."""
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
