"""`torch.backends.quantized`: the engine whose roundings quantized products follow, on any processor."""

from __future__ import annotations

import sys
from types import ModuleType

from ...ops.quantized import engine as _engines


class _Switch(ModuleType):
    """The module itself, with its switch."""

    @property
    def engine(self) -> str:
        """The engine in use: "x86" (the default), "fbgemm", "onednn" or "qnnpack"."""
        return _engines.current()

    @engine.setter
    def engine(self, value: str) -> None:
        _engines.choose(value)

    @property
    def supported_engines(self) -> list[str]:
        """The engines that can be chosen."""
        return list(_engines.SUPPORTED)


sys.modules[__name__].__class__ = _Switch
