"""Tensors of this process, and their storages."""

from __future__ import annotations

import gc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..._types import Tensor


def every() -> list[Tensor]:
    """Return the tensors that Python's objects have, from gc."""
    import torch
    # isinstance() reads the __class__ of objects, which may run unknown code.
    return [one for one in gc.get_objects() if issubclass(type(one), torch.Tensor)]


def storage(tensor: Tensor) -> Any:
    """Return the storage of a tensor, by bytes, for every PyTorch from 1.10 on."""
    if hasattr(tensor, "untyped_storage"):
        return tensor.untyped_storage()
    typed = tensor.storage()
    if hasattr(typed, "untyped"):
        return typed.untyped()
    return getattr(typed, "_untyped", None) and typed._untyped() or typed


def size(tensor: Tensor) -> int:
    """Return the bytes of a tensor's storage."""
    found = storage(tensor)
    if hasattr(found, "nbytes"):
        return int(found.nbytes())
    return int(found.size() * found.element_size())


def key(tensor: Tensor) -> tuple[str, int] | None:
    """Return a key that is equal for tensors that share a storage; None for those that have no memory."""
    address = storage(tensor).data_ptr()
    return (str(tensor.device), address) if address else None


def parts(tensor: Tensor) -> list[Tensor]:
    """Return the dense tensors that a tensor is made of: itself, or the parts of a sparse one."""
    import torch
    if tensor.layout == torch.strided:
        return [tensor]
    if tensor.is_sparse:
        return [tensor._indices(), tensor._values()]
    if str(tensor.layout) in ("torch.sparse_csr", "torch.sparse_bsr"):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if str(tensor.layout) in ("torch.sparse_csc", "torch.sparse_bsc"):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return []
