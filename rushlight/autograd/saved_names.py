"""torch's names of what nodes keep for backward, which are also the order in which torch keeps it."""

from __future__ import annotations

from typing import Any

from ..core.dispatch.entry import KEPT, is_result

__all__ = ["TRANSPOSED", "place_among_saved", "torchs_name"]

_INPUT = {"embedding": "indices"}  # what torch calls an operator's input, where it is not self
_INPUT |= dict.fromkeys(("convolution", "native_layer_norm", "native_batch_norm", "native_group_norm"), "input")
_ALIKE = {
    "outer": {"vec2": "other"},
    "linalg_lstsq": {"A": "self", "B": "b"},
}  # torch's names of other operators' arguments
TRANSPOSED = {
    "linear": ("mat1", "mat2"),
    "linear.plain": ("self", "mat2"),
}  # in torch, products with a transposed weight


def torchs_name(op: Any, name: str) -> str | None:
    """torch's name of what we call `name`; None for an option, which torch keeps in other forms."""
    if is_result(name) and name not in op.signature.arrays:
        fields = getattr(op.returns, "_fields", None)
        return "result" + name[3:] if fields is None else fields[int(name[3:] or 0)]
    if name in op.extras:
        return f"result{1 + op.extras.index(name)}"
    if name in ("x_shape", "input_shape"):
        return "self_sym_sizes"
    if name not in (*op.signature.arrays, "exponent"):
        return None
    if op.name in TRANSPOSED and name in ("input", "weight"):
        return TRANSPOSED[op.name][name == "weight"]
    alike = _ALIKE.get(op.name, {})
    return alike.get(name) or {"x": "self", "input": _INPUT.get(op.name, "self"), "y": "other"}.get(name, name)


def place_among_saved(op: Any, name: str) -> tuple[bool, str]:
    """A key to sort by: torch keeps inputs before results, each in the order of their names."""
    name = name.removesuffix(KEPT)
    is_input = op is not None and name in op.signature.arrays
    return not is_input, (torchs_name(op, name) if op is not None else None) or name
