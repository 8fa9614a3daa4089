"""fastai 1's callbacks of memory: each epoch's use and peak, as columns of the training's table, in MB."""

from __future__ import annotations

from . import _figures, _gpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .._types import Data
    from .._window import Figure, Window

_MB = 1 << 20


class _EpochMemory:
    """A callback of a fastai 1 Learner, or of another caller of on_train_begin, on_epoch_begin and on_epoch_end."""

    _order = -20         # before the recorder
    _columns: tuple[str, ...] = ()

    def __init__(self, learn: Any) -> None:
        self.learn = learn
        self.window: Window | None = None         # the Window of the last epoch
        self._stretch: _figures.Stretch | None = None

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("on_"):       # fastai calls every event of every callback
            return lambda **kwargs: None
        raise AttributeError(name)

    def on_train_begin(self, **kwargs: Any) -> None:
        """Name the columns."""
        _figures.listens()
        self.learn.recorder.add_metric_names(list(self._columns))

    def on_epoch_begin(self, **kwargs: Any) -> None:
        """Take in that an epoch begins."""
        if self._stretch is not None:
            self._stretch.end(tell=False)
        self._settle()
        self._stretch = _figures.Stretch(type(self).__name__)

    def on_epoch_end(self, last_metrics: Any, **kwargs: Any) -> Data:
        """Take in that an epoch has ended: its figures join the metrics."""
        self._settle()
        self.window = self._stretch.end() if self._stretch is not None else None
        self._stretch = None
        return {"last_metrics": list(last_metrics or []) + self._values()}

    def on_train_end(self, **kwargs: Any) -> None:
        """Take in that the training has ended, also where it failed in an epoch."""
        if self._stretch is not None:
            self._stretch.end(tell=False)
            self._stretch = None

    def _settle(self) -> None:
        """Run before each measurement. Nothing here."""

    def _figure(self, meter: str | None) -> Figure | None:
        return _figures.figure(self.window.meters, meter) if self.window is not None and meter is not None else None

    def _values(self) -> list[Any]:
        raise NotImplementedError


class PeakMemMetric(_EpochMemory):
    """Whole MB of an epoch: the memory that this process consumed and needed, and the memory that it consumed and
    needed on top on the current GPU. None without a tracer."""

    _columns = ("cpu used", "peak", "gpu used", "peak")

    def __init__(self, learn: Any) -> None:
        super().__init__(learn)
        torch = _gpu.torch()
        if torch is not None:
            torch.ones((1, 1)).cuda()        # makes the context, which belongs to no epoch

    def _settle(self) -> None:
        _gpu.clear_cache()

    def _values(self) -> list[Any]:
        cpu, gpu = self._figure(_figures.RESIDENT), self._figure(_gpu.meter())
        return [*_whole(cpu, lambda f: f.need), *_whole(gpu, _figures.peaked)]


def _whole(found: Figure | None, high: Callable[[Figure], int]) -> list[int | None]:
    return [None, None] if found is None else [round(found.consumed / _MB), round(high(found) / _MB)]


class CpuPeakMemMetric(_EpochMemory):
    """MB of an epoch: the memory that this process consumed and needed. nan without a tracer."""

    _columns = ("cpu used", "cpu_peak")

    def _values(self) -> list[Any]:
        found = self._figure(_figures.RESIDENT)
        return [_figures.NAN, _figures.NAN] if found is None else [found.consumed / _MB, found.need / _MB]
