"""Products whose weight is a parameter of the user's own (`F.linear`, `F.conv2d`): the operators of levels for them."""

from __future__ import annotations

import inspect
from typing import Any

from ...core.tensor.tensor import Tensor
from ...nn import functional as F
from ...nn.quantization.observers import levels_of_weight
from ...nn.quantization.static.library import OPERATORS
from ...ops.quantized import engine
from ..graph_module import GraphModule
from ..node import Node

__all__ = ["attribute", "levels_of", "packed_attribute", "packed_product", "reduces_range", "weight_of"]

PRODUCTS = {
    F.linear: "linear", **{getattr(F, name): name for n in (1, 2, 3) for name in (f"conv{n}d", f"conv_transpose{n}d")},
}  # fmt: skip
_PACKED = "_packed_weight_"


def weight_of(node: Node) -> Any:
    """The weight that a call is given: a node."""
    return node.args[1] if len(node.args) > 1 else node.kwargs.get("weight")


def attribute(model: GraphModule, path: str) -> Any:
    """The parameter, buffer or other attribute that a `get_attr` names."""
    holder, _, name = path.rpartition(".")
    return getattr(model.get_submodule(holder), name)


def packed_attribute(model: GraphModule, prefix: str, packed: Any) -> str:
    """Keep a packed weight in the model, also in its state dict; the attribute's name."""
    if not any(name.startswith(_PACKED) or f"{_PACKED}0" in name for name in vars(model)):
        model._register_state_dict_hook(_save)
        model._register_load_state_dict_pre_hook(_load, with_module=True)
    place = 0
    while hasattr(model, f"{prefix}{_PACKED}{place}"):
        place += 1
    setattr(model, f"{prefix}{_PACKED}{place}", packed)
    return f"{prefix}{_PACKED}{place}"


def _save(module: Any, state_dict: Any, prefix: str, local_metadata: Any) -> None:
    state_dict.update({prefix + name: value for name, value in vars(module).items() if _PACKED in name})


def _load(module: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
    for name in [name for name in vars(module) if _PACKED in name]:
        if prefix + name in state_dict:
            setattr(module, name, state_dict.pop(prefix + name))


def levels_of(model: GraphModule, weight: Node, observer: Any) -> Any:
    """The levels of the parameter that a node reads, by the observer that has seen it, which sees it once more."""
    value = attribute(model, weight.target).detach()
    observer(value)
    return levels_of_weight(value, observer)


def packed_product(node: Node, model: GraphModule, levels: Any) -> tuple[Any, Any] | None:
    """The name of the operator of levels for a call and the packed weight and bias; None where it stays one of floats."""
    name = PRODUCTS[node.target]
    given = inspect.signature(node.target).bind(*node.args, **node.kwargs)
    given.apply_defaults()
    options = given.arguments
    bias = options["bias"]
    if isinstance(bias, Node):
        bias = attribute(model, bias.target) if bias.op == "get_attr" else bias
    if bias is not None and not isinstance(bias, Tensor):
        return None
    bias = None if bias is None else bias.detach()
    if name == "linear":
        return name, OPERATORS["linear_prepack"](levels, bias)
    n = levels.dim() - 2
    steps = [key for key in ("stride", "padding", "output_padding", "dilation") if key in options]
    if any(isinstance(options[key], (str, Node)) for key in steps):
        return None
    moves = [(options[key],) * n if isinstance(options[key], int) else tuple(options[key]) for key in steps]
    return name, OPERATORS[f"{name}_prepack"](levels, bias, *moves, options["groups"])


def reduces_range() -> bool:
    """Whether activations that are quantized at each call use half of the levels, as torch's engine does."""
    return engine.current() in ("fbgemm", "x86")
