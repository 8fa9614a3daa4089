"""Writes PyTorch's own figures, cell by cell. Runs in the kernel as a startup file of its IPython profile; its hooks
run before a cell's compilation and after its result, so nothing here is in a cell. Writes lines of JSON to
$PYTORCH_TRUTH."""

import json
import os
import sys


def _totals(torch, peaks):
    cuda = torch.cuda
    if peaks:
        return [[cuda.max_memory_allocated(d), cuda.max_memory_reserved(d)] for d in range(cuda.device_count())]
    return [[cuda.memory_allocated(d), cuda.memory_reserved(d)] for d in range(cuda.device_count())]


class Watch:
    def __init__(self, path):
        self.out, self.start = open(path, "w", buffering=1), None

    def torch(self):
        """The module, if a cell has imported it and used a GPU: reading figures must not initialize one."""
        torch = sys.modules.get("torch")
        return torch if torch and hasattr(torch, "cuda") and torch.cuda.is_initialized() else None

    def before(self, info):
        torch = self.torch()
        self.start = torch and _totals(torch, False)
        for device in range(torch.cuda.device_count()) if torch else ():
            torch.cuda.reset_peak_memory_stats(device)

    def after(self, result):
        torch = self.torch()
        self.out.write(json.dumps({"start": self.start, "peak": torch and _totals(torch, True),
                                   "end": torch and _totals(torch, False)}) + "\n")


def _start():
    from IPython import get_ipython

    shell, watch = get_ipython(), Watch(os.environ["PYTORCH_TRUTH"])
    shell.events.register("pre_run_cell", watch.before)
    shell.events.register("post_run_cell", watch.after)


_start()
