"""`FlopCounterMode`: the floating-point operations of matrix products and convolutions, by module and operator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

from ..autograd.engine import running
from ..core.dispatch.aten.operators import operator
from ..core.dispatch.mode import hearing
from .module_tracker import ModuleTracker

if TYPE_CHECKING:
    from ..core.dispatch.op import Op


__all__ = ["FlopCounterMode"]

_SUFFIXES = ["", "K", "M", "B", "T"]


def mm_flop(a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """2 n k m, for (n, k) times (k, m)."""
    (n, k), (k2, m) = a_shape, b_shape
    if k != k2:
        raise AssertionError(f"matmul: inner dimensions must match (k == k2), got {k} and {k2}")
    return 2 * n * k * m


def bmm_flop(a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """2 b n k m, for (b, n, k) times (b, k, m)."""
    if a_shape[0] != b_shape[0]:
        raise AssertionError(f"bmm: batch dimensions must match (b == b2), got {a_shape[0]} and {b_shape[0]}")
    return a_shape[0] * mm_flop(a_shape[1:], b_shape[1:])


def conv_flop_count(x_shape: Any, w_shape: Any, out_shape: Any, transposed: bool = False) -> int:
    """2 for each element of the weight, at each place of the result (of the input, if transposed) and of the batch."""
    return 2 * x_shape[0] * prod((x_shape if transposed else out_shape)[2:]) * prod(w_shape)


# ------------------------------------------------------------------------------------------ what each operator counts


def _matrices(x: Any, y: Any, out: Any) -> tuple[str, int]:
    if len(y) == 1:
        return "", 0  # torch counts no products with vectors
    return "aten.bmm" if len(y) > 2 else "aten.mm", 2 * prod(out) * x[-1]


def _gram(x: Any, y: Any, out: Any) -> tuple[str, int]:
    return "aten.mm", 2 * prod(x) * y[-1]


def _affine(x: Any, weight: Any, bias: Any, out: Any) -> tuple[str, int]:
    return "aten.mm" if bias is None else "aten.addmm", 2 * prod(out) * x[-1]


def _convolution(x: Any, weight: Any, bias: Any, out: Any) -> tuple[str, int]:
    return "aten.convolution", conv_flop_count(x, weight, out)


def _transposed(x: Any, weight: Any, bias: Any, out: Any) -> tuple[str, int]:
    return "aten.convolution", conv_flop_count(x, weight, out, True)


def _of_weight(top: Any, x: Any, out: Any) -> tuple[str, int]:
    weight = out[0] if isinstance(out, list) else out
    return "aten.convolution", 2 * prod(weight[2:]) * prod(top) * x[1]


_FORMULAS: dict[str, Callable[..., tuple[str, int]]] = {
    "mm": _matrices,
    "matmul": _matrices,
    "gram": _gram,
    "bmm": _matrices,
    "addmm": lambda start, x, y, out: ("aten.addmm", mm_flop(x, y)),
    "baddbmm": lambda start, x, y, out: ("aten.baddbmm", bmm_flop(x, y)),
    "matmul.vector_matrix": lambda x, y, out: ("aten.mm", 2 * prod(y)),
    **dict.fromkeys(("linear", "linear.plain", "linear.vector", "linear.nd", "linear.nd_plain"), _affine),
    "convolution": _convolution,
    "convolution.input": _transposed,
    "convolution.weight": _of_weight,
    "convolution.weight_and_bias": _of_weight,
}


def flops_of(record: Op, tensors: tuple, result: Any) -> tuple[str, int]:
    """(name in `torch.ops`, operations) of a call of an operator, as torch counts it; 0 operations for all that it does not."""
    formula = _FORMULAS.get(record.name)
    if formula is None:
        return "", 0
    shapes = [None if t is None else tuple(t.shape) for t in tensors]
    out = [tuple(t.shape) for t in result] if isinstance(result, tuple) else tuple(result.shape)
    return formula(*shapes, *[None] * (len(record.signature.arrays) - len(shapes)), out)


# ------------------------------------------------------------------------------------------------------- the counter


class FlopCounterMode:
    """Context manager that counts; at its end it prints a table of modules down to `depth`, unless display=False.

    Counted is what torch counts on a CPU: matrix products and convolutions with their gradients, and no attention by the
    fused kernel; recurrent layers, each one call, are not. NotImplementedError for a `custom_mapping`.

    >>> with FlopCounterMode(display=False) as counter:
    ...     product = ones(3, 4) @ ones(4, 5)
    >>> counter.get_flop_counts()
    {'Global': {<OpOverloadPacket(op='aten.mm')>: 120}}
    """

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: dict[Any, Any] | None = None
    ) -> None:
        if mods is not None:
            import warnings

            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        if custom_mapping:
            raise NotImplementedError("FlopCounterMode(custom_mapping=...) is not implemented")
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.mod_tracker = ModuleTracker()

    def get_total_flops(self) -> int:
        """All that was counted."""
        return sum(self.flop_counts["Global"].values()) if "Global" in self.flop_counts else 0

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """{module's name: {operator: count}}, as with `torch.ops.aten.mm`; "Global" is everything."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self._hearing = hearing(self._heard)
        self._hearing.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._hearing.__exit__(None, None, None)
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def _heard(self, record: Op, tensors: tuple, metadata: tuple, result: Any) -> None:
        name, count = flops_of(record, tensors, result)
        if count:
            if running.task is not None and name == "aten.convolution":
                name = "aten.convolution_backward"
            for module in self.mod_tracker.parents:
                self.flop_counts[module][operator(name.removeprefix("aten."))] += count

    # ---------------------------------------------------------------------------------------------------- the table

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text: modules down to `depth`, and under each its operators."""
        deepest = depth if depth is not None else self.depth if self.depth is not None else 999999
        total, rows, covered = self.get_total_flops(), [], False
        for name in sorted(self.flop_counts):
            level = name.count(".")
            if name == "Global" or level + 1 > deepest:
                continue
            covered |= sum(self.flop_counts[name].values()) >= total
            rows += self._rows(name, level, total)
        if "Global" in self.flop_counts and not covered:
            rows = self._rows("Global", 0, total) + [(" " + name, *rest) for name, *rest in rows]
        return _aligned([("Module", "FLOP", "% Total"), *(rows or [("Global", "0", "0%")])])

    def _rows(self, name: str, level: int, total: int) -> list[tuple]:
        suffix, indent = get_suffix_str(total), " " * level
        entries = [(name, sum(self.flop_counts[name].values()))]
        entries += [(f" - {counted}", count) for counted, count in self.flop_counts[name].items()]
        return [
            (indent + text, convert_num_with_suffix(n, suffix), convert_to_percent_str(n, total)) for text, n in entries
        ]


def get_suffix_str(number: int) -> str:
    """The suffix with which a number has one to four digits before the point."""
    return _SUFFIXES[max(0, min(len(_SUFFIXES) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: int, suffix: str) -> str:
    """The number in thousands, millions, ... as the suffix says."""
    return f"{number / 1000 ** _SUFFIXES.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: int, denom: int) -> str:
    """The share in percent."""
    return "0%" if denom == 0 else f"{num / denom:.2%}"


def _aligned(rows: list[tuple]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths = [max(w, len(title) + 2) for w, title in zip(widths, rows[0], strict=True)]
    lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}".rstrip() for a, b, c in rows]
    return "\n".join([lines[0], "  ".join("-" * w for w in widths), *lines[1:]])
