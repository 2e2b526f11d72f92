"""`torch.library.opcheck`: whether an operator does what its registration says."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .. import compile as compiled
from ..autograd.backward import grad
from ..core.tensor.storage import storage_of
from ..core.tensor.tensor import Tensor

__all__ = ["OpCheckError", "run"]


class OpCheckError(Exception):
    """What `opcheck` raises where a test fails."""


class _Call:
    """An operator with the arguments of one test."""

    def __init__(
        self, op: Any, operator: Any, args: Sequence[Any], kwargs: dict, atol: float | None, rtol: float | None
    ):
        self.op, self.operator, self.args, self.kwargs = op, operator, tuple(args), kwargs
        self.limits = {k: v for k, v in (("atol", atol), ("rtol", rtol)) if v is not None}

    def copies(self) -> tuple[Any, ...]:
        """The arguments with tensors of their own, leaves where the given ones require grad."""
        return tuple(_copy(a) for a in self.args)

    def bound(self, args: Sequence[Any]) -> dict[str, Any]:
        values, options = self.operator._schema.bind(tuple(args), self.kwargs)
        names = [p.name for p in self.operator._schema.arguments]
        return {**dict(zip(names, values, strict=False)), **options}


def _copy(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)  # type: ignore[attr-defined]
    return type(value)(_copy(v) for v in value) if isinstance(value, (list, tuple)) else value


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [t for v in value for t in _tensors(v)] if isinstance(value, (list, tuple)) else []


def _test_schema(call: _Call) -> None:
    args = call.copies()
    before = {name: [t.detach().clone() for t in _tensors(v)] for name, v in call.bound(args).items()}  # type: ignore[attr-defined]
    results = _tensors(call.op(*args, **call.kwargs))
    mutated = {p.name for p in call.operator._schema.arguments if p.written}
    for name, value in call.bound(args).items():
        for now, old in zip(_tensors(value), before[name], strict=True):
            if name not in mutated and not (now.detach() == old).logical_or(now.isnan()).all():  # type: ignore[attr-defined]
                raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")
            if name not in mutated and any(storage_of(r) is storage_of(now) for r in results):
                raise RuntimeError(
                    f"{call.operator.__name__}: The output of this custom operator (1) must not also be an input to this custom "
                    "operator and (2) may not alias any inputs to this custom operator or other returns. Please instead return a "
                    "clone of the offending output tensor(s) (e.g. return x.clone())."
                )
    for i, r in enumerate(results):
        if any(storage_of(r) is storage_of(other) for other in results[:i]):
            raise RuntimeError(f"{call.operator.__name__}: two results of this custom operator have the same memory")


def _test_autograd_registration(call: _Call) -> None:
    keys = call.operator._kernels
    if not any(t.requires_grad for a in call.args for t in _tensors(a)) or call.operator._always_records:
        return
    if "CPU" in keys and not (call.operator._backward or "Autograd" in keys or "AutogradCPU" in keys):
        raise RuntimeError(
            f"the operator {call.operator} has a kernel for the CPU and no rule for its gradient: use register_autograd"
        )


def _fake(call: _Call) -> Callable:
    if call.operator._fake is None and not call.operator._schema.returns:
        return lambda *args, **kwargs: None  # it only writes: there is nothing to work out
    if call.operator._fake is None:
        raise RuntimeError(
            f"There was no fake impl registered for {call.op}. This is necessary for torch.compile/export/fx tracing to work. "
            f"Please use `{call.operator.__name__}.register_fake` to add an fake impl."
        )
    return call.operator._fake


def _test_faketensor(call: _Call) -> None:
    fake, args = _fake(call), call.copies()
    found = _tensors(fake(*args, **call.kwargs))
    real = _tensors(call.op(*call.copies(), **call.kwargs))
    if len(found) != len(real):
        raise RuntimeError(f"{call.operator} gives {len(real)} tensors, and its fake impl {len(found)}")
    for r, f in zip(real, found, strict=True):
        for what, a, b in (
            ("Shapes", r.shape, f.shape),
            ("Dtypes", r.dtype, f.dtype),
            ("Strides", r.stride(), f.stride()),
        ):
            if a != b:
                raise RuntimeError(
                    f"When comparing the output of {call.operator}.default on FakeTensor and concrete Tensors, found mismatched "
                    f"tensor metadata: {what} {a} and {b} are not equal!"
                )


def _test_aot_dispatch_dynamic(call: _Call) -> None:
    _fake(call)
    step = compiled(lambda *args: call.op(*args, **call.kwargs))
    expected = _values_and_gradients(call.op, call)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* runs eagerly: ")  # an operator may do what no program can
        for _ in range(4):  # plain, captured, replayed
            _compare(call, expected, _values_and_gradients(step, call))


def _compare(call: _Call, expected: list[Tensor], found: list[Tensor]) -> None:
    for a, b in zip(expected, found, strict=True):
        if a.shape != b.shape or not a.isclose(b, **call.limits, equal_nan=True).all():  # type: ignore[attr-defined]
            raise RuntimeError(f"{call.operator} gives other values compiled: {b}, eagerly {a}")


def _values_and_gradients(function: Callable, call: _Call) -> list[Tensor]:
    args = call.copies()
    results = _tensors(function(*args, **(call.kwargs if function is call.op else {})))
    inputs = [t for a in args for t in _tensors(a) if t.requires_grad]
    wanted = [r for r in results if r.requires_grad]
    gradients: Sequence[Any] = ()
    if inputs and wanted:
        gradients = grad([r.sum() for r in wanted], inputs, allow_unused=True)  # type: ignore[attr-defined]
    return [r.detach() for r in results] + [g for g in gradients if g is not None]


_TESTS = {
    "test_schema": _test_schema,
    "test_autograd_registration": _test_autograd_registration,
    "test_faketensor": _test_faketensor,
    "test_aot_dispatch_dynamic": _test_aot_dispatch_dynamic,
}


def run(
    op: Any, operator: Any, args: Sequence[Any], kwargs: dict | None, test_utils: str | Sequence[str], raise_exception: bool,
    atol: float | None, rtol: float | None,
) -> dict[str, Any]:  # fmt: skip
    """The tests of these names: "SUCCESS" or the error of each."""
    results: dict[str, Any] = {}
    for name in (test_utils,) if isinstance(test_utils, str) else test_utils:
        if name not in _TESTS:
            raise ValueError(f"opcheck: no test is called {name!r}; choose from {', '.join(_TESTS)}")
        try:
            _TESTS[name](_Call(op, operator, args, kwargs or {}, atol, rtol))
            results[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error} (scroll up for stack trace)"
                ) from error
            results[name] = error
    return results
