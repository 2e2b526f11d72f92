"""Questions about tensors and types, answered with Python values."""

from __future__ import annotations

import sys

from ..core.dispatch.op import composite
from ..core.tensor import dtype as dtypes
from ..core.tensor.tensor import Tensor


@composite(method=False)
def resolve_conj(input):
    """The tensor itself: conjugation is never lazy here."""
    return input


@composite(method=False)
def resolve_neg(input):
    """The tensor itself: negation is never lazy here."""
    return input


def _predicate(name: str) -> None:
    def f(input):
        return getattr(input, name)()

    f.__name__, f.__doc__ = name, f"`input.{name}()`."
    composite()(f)


for _name in ("is_floating_point", "is_complex", "is_signed", "is_conj", "is_neg", "is_inference", "numel"):
    _predicate(_name)


@composite()
def is_tensor(obj):
    """Whether `obj` is a tensor."""
    return isinstance(obj, Tensor)


@composite()
def is_storage(obj):
    """Whether `obj` is the memory of a tensor."""
    from ..core.tensor.pickling import Memory

    storages = sys.modules.get(
        __package__.replace(".ops", ".core.tensor.typed_storage")
    )  # loaded where a program has asked for one
    return isinstance(obj, Memory) or (storages is not None and storages.is_storage(obj))


@composite()
def is_nonzero(input):
    """Whether the one element of `input` is not zero."""
    if input._array.size != 1:
        n = "no values" if not input._array.size else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {n} is ambiguous")
    return bool(input)


@composite(method=True)
def is_same_size(input, other):
    """Whether two tensors have the same shape."""
    return input._array.shape == other._array.shape


@composite()
def result_type(tensor1, tensor2):
    """The dtype of an arithmetic operation on two tensors or numbers."""
    p = dtypes.Promotion()
    for v in (tensor1, tensor2):
        if isinstance(v, Tensor):
            p.add_array(v.dtype, v._array.ndim)
        else:
            p.add_number(v)
    return p.result()
