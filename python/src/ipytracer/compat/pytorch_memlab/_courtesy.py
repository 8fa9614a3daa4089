"""Courtesy: leave the GPUs to other users for a while."""

from __future__ import annotations

import gc
import weakref

from .. import _gpu
from . import _tensors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ..._types import Tensor


class Courtesy:
    """Moves the tensors that Python's objects have from GPUs to the machine's memory, and back. They stay the same
    objects, and tensors that share a storage go on sharing one. Tensors that only C++ holds (buffers of a backward pass
    that has not run) stay in place."""

    def __init__(self) -> None:
        # id of a tensor: (weak reference to it, the device that it was on)
        self.loc_map: dict[int, tuple[Any, Any]] = {}

    def yield_memory(self) -> None:
        """Move every tensor that is on a GPU to the machine's memory."""
        there = [tensor for tensor in _with_gradients(_tensors.every()) if tensor.device.type == "cuda"]
        for tensor in there:
            self.loc_map.setdefault(id(tensor), (weakref.ref(tensor), tensor.device))
        _move(there, lambda tensor: "cpu")
        del there
        gc.collect()
        _gpu.clear_cache()

    def restore(self) -> None:
        """Move them back to their devices."""
        known = [(one(), device) for one, device in self.loc_map.values()]
        where = {id(tensor): device for tensor, device in known if tensor is not None}
        _move([tensor for tensor, _ in known if tensor is not None], lambda tensor: where[id(tensor)])
        self.loc_map.clear()

    def __enter__(self) -> Courtesy:
        self.yield_memory()
        return self

    def __exit__(self, *_: object) -> None:
        self.restore()


def _with_gradients(tensors: list[Tensor]) -> list[Tensor]:
    """Return tensors, and the gradients that they have, each once."""
    found = {id(tensor): tensor for tensor in tensors}
    for tensor in tensors:
        gradient = tensor.grad if tensor.is_leaf else None
        if gradient is not None:
            found[id(gradient)] = gradient
    return list(found.values())


def _move(tensors: Iterable[Tensor], where: Callable[[Tensor], Any]) -> None:
    import torch
    moved = {}       # key of a storage: the storage at its new place
    with torch.no_grad():
        for tensor in tensors:
            if tensor.layout != torch.strided:
                tensor.data = tensor.data.to(where(tensor))
                continue
            device = torch.device(where(tensor))
            if _is_there(tensor, device):
                continue
            number = _tensors.key(tensor)
            if number is None:
                tensor.data = tensor.data.to(device)
                continue
            if number not in moved:
                moved[number] = _copied(tensor, device)
            tensor.data = torch.empty(0, dtype=tensor.dtype, device=device).set_(
                moved[number], tensor.storage_offset(), tensor.size(), tensor.stride()
            )


def _is_there(tensor: Tensor, device: Any) -> bool:
    return bool(tensor.device == device)


def _copied(tensor: Tensor, device: Any) -> Any:
    """Return a copy of a tensor's whole storage on another device."""
    import torch
    whole = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(_tensors.storage(tensor))
    return _tensors.storage(whole.to(device, copy=True))
