"""Functions of `nn.functional` and torch's operators behind them: a row for each whose names or order differ.

A row says which operator a function calls, and for a parameter of the operator's schema which argument of the
function it is, where that has another name; `parameter:value` is a value that torch always gives. The rows serve
both ways: a call is recorded as the operator, and the operator of a program runs the function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from ....core.dispatch.op import OPS
from ....core.tensor.tensor import Tensor
from ....nn import functional as F
from ....nn.reduction import legacy_reduction
from ....ops.linalg import linalg
from ....ops.signal import fft
from .binding import Call, complete
from .schemas import named

__all__ = ["NAMESPACES", "Rule", "by_function", "by_operator", "call_of"]


NAMESPACES = {"linalg": linalg, "fft": fft}  # torch's operators say linalg_norm for linalg.norm


class Rule(NamedTuple):
    """function: of nn.functional; operator: its overload, as "softmax.int"; names: parameter -> argument; fixed:
    values.
    """

    function: str
    operator: str
    names: dict[str, str]
    fixed: dict[str, Any]


_ROWS = """
alpha_dropout          alpha_dropout           train=training
batch_norm             batch_norm              cudnn_enabled:True
binary_cross_entropy   binary_cross_entropy
binary_cross_entropy_with_logits binary_cross_entropy_with_logits
cosine_embedding_loss  cosine_embedding_loss
cross_entropy          cross_entropy_loss
ctc_loss               ctc_loss.IntList
ctc_loss               ctc_loss.Tensor
dropout                dropout                 train=training
elu                    elu                     scale:1 input_scale:1
embedding              embedding               indices=input
feature_alpha_dropout  feature_alpha_dropout   train=training
fold                   col2im
group_norm             group_norm              cudnn_enabled:True
hinge_embedding_loss   hinge_embedding_loss
huber_loss             huber_loss
instance_norm          instance_norm           cudnn_enabled:True
kl_div                 kl_div
l1_loss                l1_loss
layer_norm             layer_norm              cudnn_enable:True
logsigmoid             log_sigmoid
log_softmax            log_softmax.int
margin_ranking_loss    margin_ranking_loss
mse_loss               mse_loss
multi_margin_loss      multi_margin_loss
multilabel_margin_loss multilabel_margin_loss
nll_loss               nll_loss_nd
one_hot                one_hot                 self=tensor
poisson_nll_loss       poisson_nll_loss
rrelu                  rrelu
smooth_l1_loss         smooth_l1_loss
soft_margin_loss       soft_margin_loss
softmax                softmax.int
triplet_margin_loss    triplet_margin_loss
unfold                 im2col
"""

_WITHOUT_EFFECT = ("_stacklevel", "norm_type", "inplace")
REDUCTIONS = ("none", "mean", "sum")


@cache
def _rules() -> tuple[Rule, ...]:
    return tuple(map(_rule, _ROWS.strip().splitlines()))


def _rule(line: str) -> Rule:
    function, operator, *notes = line.split()
    names, fixed = {}, {}
    for note in notes:
        name, sign, value = note.partition("=" if "=" in note else ":")
        (names if sign == "=" else fixed)[name] = value if sign == "=" else {"True": True, "1": 1}[value]
    return Rule(function, operator, names, fixed)


@cache
def by_function() -> dict[Callable, list[Rule]]:
    """The rows of each function."""
    found: dict[Callable, list[Rule]] = {}
    for rule in _rules():
        found.setdefault(getattr(F, rule.function), []).append(rule)
        reduces = "reduction" in inspect.signature(getattr(F, rule.function)).parameters
        if reduces and rule.function in OPS:  # what the function calls, which is not torch's function of that name
            found.setdefault(OPS[rule.function], []).append(rule)
    return found


@cache
def by_operator() -> dict[str, Rule]:
    """The row by which an operator runs."""
    found: dict[str, Rule] = {}
    for rule in _rules():
        found.setdefault(rule.operator.partition(".")[0], rule)
    return found


def call_of(rule: Rule, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Call | None:
    """A call of the function, or of what it calls, as one of the operator; None where the operator cannot do it."""
    given = inspect.signature(func).bind(*args, **kwargs)
    given.apply_defaults()
    left = dict(given.arguments)
    if "size_average" in left:
        left["reduction"] = legacy_reduction(left.pop("size_average"), left.pop("reduce"), left["reduction"])
    if left.get("reduction", "mean") not in (*REDUCTIONS, 0, 1, 2) or left.pop("max_norm", None) is not None:
        return None
    name, _, overload = rule.operator.partition(".")
    schema = named(name + ("_" if left.get("inplace") else ""), overload)
    values = dict(rule.fixed)
    for p in schema.parameters:
        source = next((n for n in (rule.names.get(p.name), p.name, _BACK.get(p.name)) if n in left), None)
        if source is not None:
            values[p.name] = _theirs(rule, p.name, left.pop(source), values)
    if any(v is not None for k, v in left.items() if k not in _WITHOUT_EFFECT):
        return None
    if any(p.type.startswith("int[") and isinstance(values.get(p.name), Tensor) for p in schema.parameters):
        return None  # another overload takes a tensor
    return complete(schema, values)


_BACK = {"self": "input"}


def _theirs(rule: Rule, name: str, value: Any, before: dict[str, Any]) -> Any:
    if name == "reduction":
        return REDUCTIONS.index(value) if isinstance(value, str) else value
    if rule.function == "embedding" and name == "padding_idx":
        return -1 if value is None else value if value >= 0 else before["weight"]._array.shape[0] + value
    return value


def run(rule: Rule, values: dict[str, Any]) -> Any:
    """The function for the operator's arguments. Raises NotImplementedError for what the function cannot do."""
    given: dict[str, Any] = {}
    names = inspect.signature(getattr(F, rule.function)).parameters
    for key, value in values.items():
        target = next((n for n in (rule.names.get(key), key, _BACK.get(key)) if n in names), None)
        if target is not None:
            given[target] = _ours(rule, key, value)
        elif not key.startswith("cudnn_enable") and value is not None and value != rule.fixed.get(key, False):
            raise NotImplementedError(f"aten::{rule.operator} with {key}={value!r} is not implemented in Rushlight")
    return getattr(F, rule.function)(**given)


def _ours(rule: Rule, name: str, value: Any) -> Any:
    if name == "reduction":
        return REDUCTIONS[value]
    if rule.function == "embedding" and name == "padding_idx" and value == -1:
        return None
    return value
