"""Computes the memory of each cell of a recording, from the calls alone. It is independent of the tracer, and slow.

Driver: bytes asked for by libcuda calls that returned 0, until the call that frees them. The runtime's calls are
not counted: each has a driver call inside it. Memory of cuMemCreate is there until it is released and no mapping is
left.
"""

from recordings import NO_RETURN

REPORT, = NO_RETURN
OUT_OF_MEMORY = "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"

_ALLOCATES = {"cuMemAlloc_v2": "device", "cuMemAllocAsync": "device", "cuMemHostAlloc": "pinned"}
_FREES = {"cuMemFree_v2": "device", "cuMemFreeAsync": "device", "cuMemFreeHost": "pinned"}
_NO_MEMORY = {"cuCtxSetCurrent", "cuDevicePrimaryCtxRetain", "cuMemAddressReserve", "cuMemPoolTrimTo"}


class Physical:
    """Memory of one cuMemCreate. A handle's value is used again after its release: the object is the identity."""

    def __init__(self, size):
        self.size, self.released, self.mappings = size, False, 0


class Driver:
    """The driver's memory after the events so far. Sizes in bytes."""

    def __init__(self):
        self.blocks = {"device": {}, "pinned": {}}
        # mapped: address ranges backed by cuMemCreate's memory
        self.totals = {"device": 0, "pinned": 0, "mapped": 0}
        self.handles, self.ranges = {}, {}
        self.unmapped_at_once = []       # number of ranges that each cuMemUnmap removed
        self.unknown = []                # events that free unknown memory

    def returned(self, event):
        name, arguments = event.function, event.call.arguments
        if not name.startswith("cu") or name.startswith("cuda") or event.result != 0 or name in _NO_MEMORY:
            return
        if name in _ALLOCATES:
            kind = _ALLOCATES[name]
            if event.out in self.blocks[kind]:
                self.unknown.append(event)
            self.blocks[kind][event.out] = arguments[1]
            self.totals[kind] += arguments[1]
        elif name in _FREES:
            if arguments[0]:
                self._free(_FREES[name], event)
        elif name == "cuMemCreate":
            self.handles[event.out] = Physical(arguments[1])
            self.totals["device"] += arguments[1]
        elif name == "cuMemMap":
            address, size, _, handle = arguments[:4]
            self.ranges[address] = (size, self.handles[handle])
            self.handles[handle].mappings += 1
            self.totals["mapped"] += size
        elif name == "cuMemUnmap":
            self._unmap(event)
        elif name == "cuMemRelease":
            memory = self.handles.pop(arguments[0], None)
            if memory is None:
                self.unknown.append(event)
                return
            memory.released = True
            self._end(memory)
        else:
            raise ValueError("what %s does to memory is not known here" % name)

    def _free(self, kind, event):
        size = self.blocks[kind].pop(event.call.arguments[0], None)
        if size is None:
            self.unknown.append(event)
        else:
            self.totals[kind] -= size

    def _unmap(self, event):
        address, size = event.call.arguments[:2]
        inside = [a for a in self.ranges if address <= a < address + size]
        if sum(self.ranges[a][0] for a in inside) != size:
            self.unknown.append(event)
        self.unmapped_at_once.append(len(inside))
        for a in inside:
            length, memory = self.ranges.pop(a)
            self.totals["mapped"] -= length
            memory.mappings -= 1
            self._end(memory)

    def _end(self, memory):
        if memory.released and not memory.mappings:
            self.totals["device"] -= memory.size


class Window:
    """start, peak and end of one figure in one step; peak is never below start."""

    def __init__(self, start):
        self.start = self.peak = self.end = start

    def now(self, value):
        self.end = value
        self.peak = max(self.peak, value)

    def row(self):
        return {"start": self.start, "peak": self.peak, "end": self.end}


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def windows(recording, figures):
    """{step: {figure: Window}}. figures(event) is a dict of the values after the event; a figure not yet seen is 0."""
    rows, last = {}, {}
    events, i = recording.events, 0
    for step in recording.steps():
        row = {name: Window(value) for name, value in last.items()}
        while i < len(events) and events[i].step == step:
            for name, value in figures(events[i]).items():
                row.setdefault(name, Window(0)).now(value)
                last[name] = value
            i += 1
        rows[step] = row
    return rows


def driver_windows(recording):
    """gpu.0.driver, cpu.pinned and mapped of each step, and the Driver as it is at the end."""
    driver = Driver()

    def figures(event):
        if event.kind == "return":
            driver.returned(event)
        return {
            "gpu.0.driver": driver.totals["device"],
            "cpu.pinned": driver.totals["pinned"],
            "mapped": driver.totals["mapped"],
        }

    rows = windows(recording, figures)
    for step in rows:       # before the first call everything is 0
        for name in ("gpu.0.driver", "cpu.pinned", "mapped"):
            rows[step].setdefault(name, Window(0))
    return rows, driver


def report_windows(recording):
    """active and reserved of each step by the reports to PyTorch's profiler, which omit empty_cache."""
    def figures(event):
        if event.function == REPORT:
            return {"active": event.arguments[2], "reserved": event.arguments[3]}
        return {}

    rows = windows(recording, figures)
    for row in rows.values():
        for name in ("active", "reserved"):
            row.setdefault(name, Window(0))
    return rows


def truth(recording):
    """[{"gpu.0.driver": {start, peak, end}, "cpu.pinned", "gpu.0.active", "gpu.0.reserved"}], one a step. The last two
    are PyTorch's own where the recording has them for the cell, null for the step after the last cell, and null where
    nothing is reported: CuPy, and PyTorch's cudaMallocAsync backend."""
    driver, _ = driver_windows(recording)
    reported = any(event.function == REPORT for event in recording.events)
    rows, active, reserved = [], 0, 0
    for step in recording.steps():
        row = {name: driver[step][name].row() for name in ("gpu.0.driver", "cpu.pinned")}
        row["gpu.0.active"] = row["gpu.0.reserved"] = None
        if reported and step < recording.after:
            a, a_peak, r, r_peak = recording.cells[step - 1]["truth"]
            row["gpu.0.active"] = {"start": active, "peak": a_peak, "end": a}
            row["gpu.0.reserved"] = {"start": reserved, "peak": r_peak, "end": r}
            active, reserved = a, r
        rows.append(row)
    return rows
