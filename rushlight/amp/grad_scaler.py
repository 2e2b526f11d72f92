"""Loss scaling: keeps small gradients of float16 from becoming zero.

The loss is multiplied by a scale s, the gradients are divided by it before the step, and a step whose gradients hold an
infinity or a nan is left out. After such a step s shrinks; after `growth_interval` good ones it grows.
"""

from __future__ import annotations

import enum
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..core.dispatch.extension_points import training_observer
from ..core.dispatch.mode import no_grad
from ..core.tensor import dtype as dtypes
from ..core.tensor.tensor import Tensor
from ..ops import full, isfinite  # type: ignore[attr-defined]

__all__ = ["GradScaler", "OptState"]


class OptState(enum.Enum):
    """How far an optimizer has come since the last `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class _States(dict):
    """The state of each optimizer by its id, made on first use."""

    def __missing__(self, key: int) -> dict[str, Any]:
        state = self[key] = {"stage": OptState.READY, "found_inf_per_device": {}}
        return state


class GradScaler:
    """Scales losses, unscales gradients, leaves out steps that overflowed, and adapts the scale.

        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)          # only where gradients are clipped or looked at
        scaler.step(optimizer)
        scaler.update()

    device: 'cpu', or 'cuda', which without such a device gives a warning and a scaler that does nothing, as
    enabled=False does. init_scale: the first scale; growth_factor (> 1) and backoff_factor (< 1): what it is multiplied
    by after growth_interval good steps, and after a step left out.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled:
            warnings.warn("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2)
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None  # made by the first `scale`
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: dict[int, dict[str, Any]] = _States()

    # ------------------------------------------------------------------------------------------ a step

    def scale(self, outputs: Any) -> Any:
        """A tensor, or each tensor of a list, tuple or other iterable, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            result = outputs * self._present_scale()
            observer = training_observer.value
            if observer is not None:
                observer.scaled(self, result)
            return result
        if isinstance(outputs, Iterable):
            each = map(self.scale, outputs)
            return type(outputs)(each) if isinstance(outputs, (list, tuple)) else each  # type: ignore[call-arg]
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _present_scale(self) -> Tensor:
        if self._scale is None:
            self._scale = full((), self._init_scale, dtype=dtypes.float32)
            self._growth_tracker = full((), self._init_growth_tracker, dtype=dtypes.int32)
        return self._scale  # type: ignore[return-value]

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Tensor, Tensor]:
        if self._scale is None or self._growth_tracker is None:
            missing = "_scale" if self._scale is None else "_growth_tracker"
            raise AssertionError(
                f"Attempted {funcname} but {missing} is None.  This may indicate your script did not use "
                "scaler.scale(loss or outputs) earlier in the iteration."
            )
        return self._scale, self._growth_tracker

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of the optimizer's parameters by the scale, and note whether all are finite.

        `step` does it by itself. Errors: RuntimeError for a second call before `update`, ValueError for gradients in
        float16.
        """
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        observer = training_observer.value
        if observer is not None:
            observer.unscaling(self, optimizer)
        inverse = scale.double().reciprocal().float()  # type: ignore[attr-defined]
        state["found_inf_per_device"] = self._unscale_grads_(optimizer, inverse, False)
        state["stage"] = OptState.UNSCALED

    def _unscale_grads_(self, optimizer: Any, inverse: Tensor, allow_fp16: bool) -> dict[Any, Tensor]:
        """Multiply the gradients by `inverse`. Returns by device 1.0 where one of them was not finite, else 0.0."""
        found: dict[Any, Tensor] = {}
        with no_grad():
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    grad = parameter.grad
                    if grad is None:
                        continue
                    if not allow_fp16 and grad.dtype is dtypes.float16:
                        raise ValueError("Attempting to unscale FP16 gradients.")
                    broken = _broken(grad)
                    found[grad.device] = found[grad.device].maximum(broken) if grad.device in found else broken
                    grad.mul_(inverse)
        return found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> float | None:
        """`unscale_` where that was not called, and `optimizer.step(*args, **kwargs)` if the gradients are finite.

        Returns what the optimizer returned. Errors: RuntimeError for a closure, or a second call before `update`.
        """
        observer = training_observer.value
        if observer is None or not self._enabled:
            return self._step(optimizer, args, kwargs)
        with observer.scaler_step(self, optimizer):
            return self._step(optimizer, args, kwargs)

    def _step(self, optimizer: Any, args: tuple, kwargs: dict[str, Any]) -> float | None:
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._step_that_unscales(optimizer, state, args, kwargs)
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _maybe_opt_step(self, optimizer: Any, state: dict[str, Any], *args: Any, **kwargs: Any) -> float | None:
        if any(found.item() for found in state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def _step_that_unscales(self, optimizer: Any, state: dict[str, Any], args: tuple, kwargs: dict) -> float | None:
        """A step of an optimizer that reads `grad_scale` and `found_inf` of its own and unscales by itself."""
        scale = self._present_scale()
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        before = getattr(optimizer, "grad_scale", None)
        if state["stage"] is not OptState.UNSCALED:
            before = scale if before is None else scale * before
        optimizer.grad_scale = before
        optimizer.found_inf = sum(state["found_inf_per_device"].values())
        result = optimizer.step(*args, **kwargs)
        state["stage"] = OptState.STEPPED
        del optimizer.grad_scale, optimizer.found_inf
        return result

    def _check_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        self._check_scale_growth_tracker("_check_inf_per_device")
        found = self._unscale_grads_(optimizer, full((), 1.0, dtype=dtypes.float32), True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Any) -> dict[Any, Tensor]:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the scale by what the steps since the last `update` found, or set it to `new_scale`."""
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            self._set(scale, new_scale)
        else:
            found = [f for s in self._per_optimizer_states.values() for f in s["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adapt(scale, tracker, any(f.item() for f in found))
        self._per_optimizer_states = _States()
        observer = training_observer.value
        if observer is not None:
            observer.scaler_updated(self)

    def _set(self, scale: Tensor, new_scale: Any) -> None:
        if isinstance(new_scale, float):
            scale.fill_(new_scale)  # type: ignore[attr-defined]
            return
        if new_scale.device.type != self._device or new_scale.numel() != 1 or new_scale.requires_grad:
            raise AssertionError(
                "new_scale should be a float or a 1-element torch.cuda.FloatTensor or torch.FloatTensor with "
                "requires_grad=False."
            )
        scale.copy_(new_scale)  # type: ignore[attr-defined]

    def _adapt(self, scale: Tensor, tracker: Tensor, overflowed: bool) -> None:
        if overflowed:
            scale.mul_(self._backoff_factor)  # type: ignore[attr-defined]
            tracker.fill_(0)  # type: ignore[attr-defined]
            return
        good = int(tracker.item()) + 1
        if good == self._growth_interval:
            good = 0
            grown = np.float32(scale.item()) * np.float32(self._growth_factor)
            if np.isfinite(grown):  # a scale that cannot grow stays
                scale.fill_(float(grown))  # type: ignore[attr-defined]
        tracker.fill_(good)  # type: ignore[attr-defined]

    # ------------------------------------------------------------------------------------------ settings

    def get_scale(self) -> float:
        """The scale; 1.0 where scaling is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def _get_scale_async(self) -> Tensor | None:
        return self._scale

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after an overflow."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied by after an overflow."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many good steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many good steps the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else int(self._growth_tracker.item())

    def is_enabled(self) -> bool:
        """Whether scaling takes place."""
        return self._enabled

    # ------------------------------------------------------------------------------------------ saving

    def state_dict(self) -> dict[str, Any]:
        """The scale, its settings and the count of good steps; empty where scaling is disabled. Call it after `update`."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave. Nothing where scaling is disabled; RuntimeError for an empty one."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._scale is not None and self._growth_tracker is not None:
            self._scale.fill_(state_dict["scale"])  # type: ignore[attr-defined]
            self._growth_tracker.fill_(state_dict["_growth_tracker"])  # type: ignore[attr-defined]

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


def _broken(grad: Tensor) -> Tensor:
    """1.0 where an element is not finite, else 0.0: a tensor, so that a capture goes on."""
    return (~isfinite(grad).all()).to(dtypes.float32)
