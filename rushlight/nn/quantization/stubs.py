"""Where a model's numbers become levels, and numbers again: `torch.ao.quantization.stubs`."""

from __future__ import annotations

from typing import Any

from ...core.tensor.tensor import Tensor
from ..modules.module import Module
from .observers import QConfig

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper", "add_quant_dequant"]


class QuantStub(Module):
    """Marks where a model's numbers become levels. Until then it gives its input.

    qconfig: what observes here; by default that of the module that it is in.
    """

    def __init__(self, qconfig: QConfig | None = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


class DeQuantStub(QuantStub):
    """Marks where levels become numbers again. Until then it gives its input."""


class QuantWrapper(Module):
    """A module between a `QuantStub` and a `DeQuantStub`."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Tensor) -> Any:
        return self.dequant(self.module(self.quant(X)))  # type: ignore[operator]


def add_quant_dequant(module: Any) -> Any:
    """Put each leaf with a `qconfig` between stubs."""
    if not list(module.children()) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module
