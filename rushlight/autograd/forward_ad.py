"""Forward-mode automatic differentiation: not implemented. Every public name of torch's module raises at its call."""

from __future__ import annotations

from typing import Any

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


def _refuse(name: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"torch.autograd.forward_ad.{name}: forward-mode automatic differentiation is not implemented; "
            "torch.autograd.functional.jvp computes a product with the Jacobian in reverse mode"
        )

    call.__name__ = call.__qualname__ = name
    return call


UnpackedDualTensor = _refuse("UnpackedDualTensor")
dual_level = _refuse("dual_level")
enter_dual_level = _refuse("enter_dual_level")
exit_dual_level = _refuse("exit_dual_level")
make_dual = _refuse("make_dual")
unpack_dual = _refuse("unpack_dual")
