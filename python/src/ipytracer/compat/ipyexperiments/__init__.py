"""ipyexperiments: experiments that delete their names at their end, and figures below each cell.

    exp = IPyExperimentsCPU()                  # or IPyExperimentsPytorch()
    ...
    exp.finish()                               # or del exp, or with IPyExperimentsCPU() as exp:

exp.data at any time, exp.cl.data after each cell. The differences from the original: docs/migrate.md.
"""

from ... import __version__
from ._experiments import (
    IPyExperimentData,
    IPyExperimentMemory,
    IPyExperiments,
    IPyExperimentsCPU,
    IPyExperimentsGPU,
    IPyExperimentsPytorch,
)
from .cell_logger import CellLogger

__all__ = [
    "CellLogger",
    "IPyExperimentData",
    "IPyExperimentMemory",
    "IPyExperiments",
    "IPyExperimentsCPU",
    "IPyExperimentsGPU",
    "IPyExperimentsPytorch",
    "__version__",
]
