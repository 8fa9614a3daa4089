"""The vocabulary in which the cells are described."""

import textwrap

KiB, MiB, GiB = 1 << 10, 1 << 20, 1 << 30

# The cells are computed for these values of $STANDIN_DEVICES and $STANDIN_MEMORY of the session.
DEVICES, MEMORY = 2, 8 * GiB
METERS = ["cpu.pinned"] + [
    "gpu.%d.%s" % (device, name) for device in range(DEVICES) for name in ("driver", "active", "reserved")
]


class Cell:
    """name, source, status (ok, error) rise, kept      {meter: bytes}: peak - start and end - start of the cell's
    segment; 0 if not given. [least, most] where
                    threads that run freely decide
    between         the same pair for the time after the cell, before the next one: `settle` seconds
    children        the same pair for each child process that loads a stand-in, in the order of their pids
    requires, needs Python modules, and cells that must have run before it: a selection brings both them and it along
    why             where the figures come from
    """

    def __init__(
        self,
        name,
        source,
        rise=None,
        kept=None,
        status="ok",
        between=None,
        settle=0,
        children=(),
        requires=(),
        needs=(),
        why="",
    ):
        self.name, self.status, self.settle, self.why = name, status, settle, why
        self.source = textwrap.dedent(source).strip("\n")
        self.rise, self.kept = dict(rise or {}), dict(kept or {})
        self.between = between or ({}, {})
        self.children, self.requires, self.needs = list(children), list(requires), list(needs)

    def as_json(self):
        return {
            key: getattr(self, key)
            for key in (
                "name",
                "source",
                "status",
                "rise",
                "kept",
                "between",
                "settle",
                "children",
                "requires",
                "needs",
                "why",
            )
        }


def gpu(device=0, **meters):
    """Returns meters: gpu(driver=5, pinned=3) is {"gpu.0.driver": 5, "cpu.pinned": 3}."""
    return {"cpu.pinned" if name == "pinned" else "gpu.%d.%s" % (device, name): value for name, value in meters.items()}


def torch(size, device=0):
    """A tensor in a segment of its own, of the same size."""
    return gpu(device, driver=size, active=size, reserved=size)


def innocent(name, **more):
    return Cell(name, "pass", **more, why="whatever ran before or runs beside it is not this cell's")
