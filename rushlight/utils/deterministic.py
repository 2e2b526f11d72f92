"""torch.utils.deterministic: whether fresh memory is filled where `use_deterministic_algorithms` is on (True at first)."""

import sys
import types

from ..core.determinism import mode


class _Module(types.ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether `empty`, `empty_like`, `resize_` and the like fill memory in the deterministic mode."""
        return mode.fills

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, value: bool) -> None:
        mode.fills = bool(value)


sys.modules[__name__].__class__ = _Module
