"""Which module runs: global hooks of modules that tell a tracer where calls begin and end."""

from __future__ import annotations

import threading
from typing import Any

from ....nn.modules.hooks import register_module_forward_hook, register_module_forward_pre_hook

__all__ = ["CallScope"]


class CallScope:
    """Context manager that tells `tracer` of the calls of modules in its thread, while it listens."""

    def __init__(self, tracer: Any):
        self._tracer = tracer
        self._handles: list[Any] = []

    def __enter__(self) -> CallScope:
        self._handles = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, always_call=True),
        ]
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()

    def _listens(self) -> bool:
        return self._tracer.listening and threading.get_ident() == self._tracer.thread

    def _enter(self, module: Any, args: tuple) -> None:
        if self._listens():
            with self._tracer.off():
                self._tracer.build.enter(module)

    def _leave(self, module: Any, args: tuple, result: Any) -> None:
        if self._listens():
            self._tracer.build.leave()
