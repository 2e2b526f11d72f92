"""`torch.backends.mkldnn`: oneDNN, which computes convolutions and large matrix products where it is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from ...backend import onednn


def is_available() -> bool:
    """Whether oneDNN is installed and works on this processor."""
    return onednn.available()


class _Switch(ModuleType):
    """The module itself, with its switch: oneDNN is chosen when the process starts."""

    @property
    def enabled(self) -> bool:
        """Whether oneDNN is used."""
        return is_available()

    @enabled.setter
    def enabled(self, value: bool) -> None:
        if bool(value) is not is_available():
            reason = onednn.reason_unavailable() or "start the process with RUSHLIGHT_ONEDNN=0 in its environment"
            raise NotImplementedError(f"torch.backends.mkldnn.enabled cannot be changed to {value}: {reason}")


@contextmanager
def flags(enabled: bool = False) -> Iterator[None]:
    """Within the context oneDNN is used or not. Raises NotImplementedError where that would be a change."""
    sys.modules[__name__].enabled = enabled  # type: ignore[attr-defined]
    yield


sys.modules[__name__].__class__ = _Switch
