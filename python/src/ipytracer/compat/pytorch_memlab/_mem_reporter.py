"""MemReporter: the existing tensors, and the memory of each storage."""

from __future__ import annotations

import gc
from collections import defaultdict

from . import _tensors
from ._sizes import readable_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import Tensor

    _Stat = tuple[str, tuple[int, ...], int, int]      # name, size, elements and bytes

_WIDE = 79
_LEAST = 512      # bytes: PyTorch's allocator for CUDA rounds up to a multiple


class MemReporter:
    """Reports the tensors that Python's objects have. model: its parameters are listed by name. pre_collect: collect
    garbage before."""

    def __init__(self, model: Any = None, pre_collect: bool = False) -> None:
        self.tensor_name: dict[int, str] = {}
        self.device_mapping: defaultdict[Any, list[Tensor]] = defaultdict(list)
        self.device_tensor_stat: dict[Any, list[_Stat]] = {}
        self.name_idx = 0
        self.pre_collect = pre_collect
        names = defaultdict(list)
        if model is not None:
            for name, parameter in model.named_parameters(**_all_of(model)):
                names[id(parameter)].append(name)
        self.tensor_name.update((number, "+".join(found)) for number, found in names.items())

    def _name(self, tensor: Tensor) -> str:
        if id(tensor) not in self.tensor_name:
            self.tensor_name[id(tensor)] = type(tensor).__name__ + str(self.name_idx)
            self.name_idx += 1
        return self.tensor_name[id(tensor)]

    def add_optimizer(self, optimizer: Any) -> None:
        """List the tensors of an optimizer's state by name, too."""
        kind = type(optimizer).__name__
        for parameter, states in optimizer.state.items():
            for name, value in states.items():
                if hasattr(value, "untyped_storage") or hasattr(value, "storage"):
                    self.tensor_name[id(value)] = "%s.%s.%s" % (kind, self._name(parameter), name)

    def collect_tensor(self) -> None:
        """Find the tensors."""
        if self.pre_collect:
            gc.collect()
        for tensor in _tensors.every():
            self.device_mapping[tensor.device].append(tensor)

    def get_stats(self) -> None:
        """Make (name, size, elements, bytes) of each, by device, and release the tensors. A storage counts with the
        first tensor that has it."""
        import torch
        self.device_tensor_stat.clear()
        seen: dict[Any, str] = {}
        done: set[int] = set()
        for device, tensors in self.device_mapping.items():
            stats = self.device_tensor_stat[device] = []
            for tensor in tensors:
                stats += self._stats(tensor, seen, done)
                gradient = tensor.grad if isinstance(tensor, torch.nn.Parameter) else None
                if gradient is not None:
                    self.tensor_name[id(gradient)] = self._name(tensor) + ".grad"
                    stats += self._stats(gradient, seen, done)
        self.device_mapping.clear()

    def _stats(self, tensor: Tensor, seen: dict[Any, str], done: set[int]) -> list[_Stat]:
        if id(tensor) in done or tensor.numel() == 0:
            return []
        done.add(id(tensor))
        return [
            one
            for one in (self._stat(part, self._name(tensor), seen) for part in _tensors.parts(tensor))
            if one is not None
        ]

    @staticmethod
    def _stat(tensor: Tensor, name: str, seen: dict[Any, str]) -> _Stat | None:
        try:
            number, size = _tensors.key(tensor), _tensors.size(tensor)
        except (RuntimeError, NotImplementedError):      # a tensor that has no storage of its own
            return None
        if number in seen:
            name, size = "%s(->%s)" % (name, seen[number]), 0
        elif number is not None:
            seen[number] = name
        else:
            size = 0                                     # on the device "meta"
        if tensor.device.type == "cuda":
            size = -(-size // _LEAST) * _LEAST
        return name, tuple(tensor.size()) or (1,), tensor.numel(), size

    def print_stats(self, verbose: bool = False, target_device: Any = None) -> None:
        """Print the tensors, of all devices or of one. verbose: print with which tensor a tensor shares its storage."""
        import torch
        form = "{:<40s}{:>20s}{:>10s}"
        print(form.format("Element type", "Size", "Used MEM"))
        for device, stats in self.device_tensor_stat.items():
            if target_device is not None and device != torch.device(target_device):
                continue
            print("-" * _WIDE)
            print("Storage on %s" % device)
            for name, size, _, memory in stats:
                print(form.format(name if verbose else name.split("(->")[0], str(size), readable_size(memory)))
            print("-" * _WIDE)
            total = sum(stat[3] for stat in stats)
            print("Total Tensors: %d \tUsed Memory: %s" % (sum(stat[2] for stat in stats), readable_size(total)))
            if device.type == "cuda":
                allocated = torch.cuda.memory_allocated(device)
                print("The allocated memory on %s: %s" % (device, readable_size(allocated)))
                if allocated != total:
                    print("Memory differs due to the matrix alignment or invisible gradient buffer tensors")
            print("-" * _WIDE)

    def report(self, verbose: bool = False, device: Any = None) -> None:
        """Find the tensors and print them."""
        self.collect_tensor()
        self.get_stats()
        self.print_stats(verbose, target_device=device)


def _all_of(model: Any) -> dict[str, bool]:
    """Return the arguments that make named_parameters() list every name of a parameter with several names, where this
    PyTorch can (2.0 and newer)."""
    import inspect
    try:
        return (
            {"remove_duplicate": False}
            if "remove_duplicate" in inspect.signature(model.named_parameters).parameters
            else {}
        )
    except (TypeError, ValueError):
        return {}
