"""CellLogger of ipyexperiments, under its name in older notebooks."""

from __future__ import annotations

from .ipyexperiments.cell_logger import (
    CellLogger,
    CellLoggerData,
    CellLoggerMemory,
    CellLoggerTime,
    b2mb,
    cpu_ram_used,
    get_nvml_gpu_id,
    int2width,
    secs2time,
    set_seed,
)

__all__ = [
    "CellLogger",
    "CellLoggerData",
    "CellLoggerMemory",
    "CellLoggerTime",
    "b2mb",
    "cpu_ram_used",
    "get_nvml_gpu_id",
    "int2width",
    "secs2time",
    "set_seed",
]
