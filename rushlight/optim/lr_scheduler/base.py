"""What all learning-rate schedulers share: epochs counted, rates written to the optimizer, checkpoints, warnings."""

from __future__ import annotations

import functools
import types
import warnings
import weakref
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from rushlight.core.dispatch.extension_points import training_observer
from rushlight.core.dispatch.mode import thread
from rushlight.core.tensor.tensor import Tensor

from ..algorithm import to_scalar
from ..optimizer import Optimizer

__all__ = ["LRScheduler"]

EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being "
    "deprecated where possible. Please use `scheduler.step()` to step the "
    "scheduler. During the deprecation, if epoch is different from None, the "
    "closed form is used instead of the new chainable form, where available. "
    "Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)
_ORDER = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
    "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in "
    "PyTorch skipping the first value of the learning rate schedule. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)
_OVERRIDDEN = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure "
    "to call `optimizer.step()` before `lr_scheduler.step()`. See more details at "
    "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
)


def _reported(step: Callable) -> Callable:
    """A scheduler's `step` that a recorder of calls runs itself, to do it again whenever the recording is replayed."""

    @functools.wraps(step)
    def call(self: LRScheduler, *args: Any, **kwargs: Any) -> Any:
        observer = training_observer.value
        if observer is not None and not self._is_initial:
            observer.scheduled(self)
        if thread.state.level > 1 and hasattr(thread.state.listener, "scheduled"):
            return thread.state.listener.scheduled(step, self, args, kwargs)
        return step(self, *args, **kwargs)

    return call


class LRScheduler:
    """Base class of the learning-rate schedulers.

    A subclass writes ``get_lr()``, the list of the groups' next rates, and where it can ``_get_closed_form_lr()``.

    ``last_epoch`` is -1, or the number of the epoch after which training resumes; the groups must then hold an
    ``"initial_lr"``, else KeyError. Construction sets the learning rates of epoch ``last_epoch + 1``, so construct
    before ``optimizer.load_state_dict``. Raises TypeError if ``optimizer`` is none.

    >>> import rushlight as rl
    >>> optimizer = rl.optim.SGD([rl.ones(2, requires_grad=True)], lr=1.0)
    >>> scheduler = rl.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for epoch in range(3):
    ...     print(scheduler.get_last_lr())
    ...     optimizer.step()  # once for every batch
    ...     scheduler.step()
    [1.0]
    [1.0]
    [0.5]
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        if last_epoch == -1:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", copy_value(group["lr"]))
        else:
            for i, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(
                        f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                        "last_epoch >= 0.\nThis typically happens when:\n"
                        "1. You're trying to resume training from a checkpoint but haven't properly loaded the "
                        "optimizer state\n"
                        "2. You're using last_epoch >= 0 for a fresh training run (not recommended)"
                    )
        self.base_lrs = group_values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_calls_of_step(optimizer)
        self._initial_step()
        observer = training_observer.value
        if observer is not None:
            observer.scheduler_made(self)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in cls.__dict__:
            cls.step = _reported(cls.step)

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Return every attribute but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a dict from :meth:`state_dict`. Load the optimizer's as well: it holds the learning rates."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[float | Tensor]:
        """The learning rates that the last step set, one for each group; tensors are copies."""
        return self._last_lr

    def get_lr(self) -> list[float | Tensor]:
        """The learning rates for ``last_epoch``, one for each group. To look at rates use :meth:`get_last_lr`."""
        raise NotImplementedError

    @_reported
    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch and set its learning rates. Call it after the optimizer's step.

        ``epoch`` (deprecated) goes to that epoch instead, by the closed form where the scheduler has one.
        """
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warnings.warn(_OVERRIDDEN, UserWarning, stacklevel=2)
            elif not getattr(self.optimizer, "_opt_called", False):
                warnings.warn(_ORDER, UserWarning, stacklevel=2)
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_DEPRECATION_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        with _enable_get_lr_call(self):
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                values = getattr(self, "_get_closed_form_lr", self.get_lr)()
        self._write(values)

    def _write(self, values: list[float | Tensor]) -> None:
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            set_group_value(group, "lr", lr)
        self._last_lr = group_values(self.optimizer, "lr")


class _LRScheduler(LRScheduler):
    """The name that :class:`LRScheduler` had before torch 2.0."""


@contextmanager
def _enable_get_lr_call(scheduler: LRScheduler):
    """Mark the calls of ``get_lr`` that the scheduler itself makes."""
    scheduler._get_lr_called_within_step = True
    try:
        yield
    finally:
        scheduler._get_lr_called_within_step = False


def _warn_get_lr_called_within_step(scheduler: LRScheduler) -> None:
    """Warn a user who calls ``get_lr``, which computes the next rate, to read the last one."""
    if not scheduler._get_lr_called_within_step:
        warnings.warn(
            "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
            UserWarning,
            stacklevel=3,
        )


def check_optimizer(optimizer: Any) -> None:
    """Raise TypeError for anything but an Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def check_lambdas(lr_lambda: Callable | list[Callable], optimizer: Optimizer) -> list[Callable]:
    """One function for each group; raise ValueError if their number differs."""
    if not isinstance(lr_lambda, (list, tuple)):
        return [lr_lambda] * len(optimizer.param_groups)
    if len(lr_lambda) != len(optimizer.param_groups):
        raise ValueError(f"Expected {len(optimizer.param_groups)} lr_lambdas, but got {len(lr_lambda)}")
    return list(lr_lambda)


def callable_state(fn: Any) -> dict[str, Any] | None:
    """What a checkpoint keeps of a user's function: a callable object's attributes, and nothing of a function."""
    return None if isinstance(fn, types.FunctionType) else fn.__dict__.copy()


def copy_value(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


def group_values(optimizer: Optimizer, key: str) -> list[Any]:
    """``group[key]`` of every group, tensors copied."""
    return [copy_value(group[key]) for group in optimizer.param_groups]


def set_group_value(group: dict[str, Any], key: str, value: Any) -> None:
    """Set ``group[key]``; a tensor there keeps its identity and is filled."""
    if isinstance(group[key], Tensor):
        group[key].fill_(to_scalar(value))
    else:
        group[key] = value


def per_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """One value for each group from one for all, or from a list of the right length (else ValueError)."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        value = [value] * groups
    elif len(value) != groups:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. "
            f"{name} has {len(value)} values, param_groups has {groups}."
        )
    return [copy_value(v) for v in value]


def _note_calls_of_step(optimizer: Optimizer) -> None:
    """Let this optimizer's ``step`` set ``_opt_called``, by which a scheduler sees who was called first."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    func = optimizer.step.__func__
    held = weakref.ref(optimizer)  # the wrapper is an attribute of the optimizer: a strong reference would be a cycle

    @functools.wraps(func)
    def step(*args: Any, **kwargs: Any) -> Any:
        optimizer = held()
        assert optimizer is not None  # whose attribute this function is
        optimizer._opt_called = True
        return func(optimizer, *args, **kwargs)

    vars(step)["_wrapped_by_lr_sched"] = True
    optimizer.step = step
