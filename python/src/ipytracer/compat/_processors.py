"""The load of the machine's processors, by the kernel's own count in /proc/stat, in hundredths of a second."""

from __future__ import annotations


def _read() -> dict[str, tuple[int, int]]:
    """Return {processor: (busy, in all)}; none where the kernel does not report it."""
    found = {}
    try:
        with open("/proc/stat") as f:
            for line in f:
                words = line.split()
                if line.startswith("cpu") and words[0] != "cpu":
                    times = [int(n) for n in words[1:9]]      # user nice system idle iowait irq softirq steal
                    found[words[0]] = (sum(times) - times[3] - times[4], sum(times))
    except (OSError, ValueError, IndexError):
        pass
    return found


class Busy:
    """A stretch of time that begins here."""

    def __init__(self) -> None:
        self._then = _read()

    def over(self) -> tuple[float, float]:
        """Return (mean, highest) share of the processors since then, in percent; nan for both where no processor's
        count has moved."""
        shares = []
        for name, (busy, total) in _read().items():
            before = self._then.get(name)
            if before is not None and total > before[1]:
                shares.append(100.0 * max(0, busy - before[0]) / (total - before[1]))
        return (sum(shares) / len(shares), max(shares)) if shares else (float("nan"), float("nan"))
