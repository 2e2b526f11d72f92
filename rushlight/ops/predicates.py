"""Questions about tensors and types, answered with Python values."""

from __future__ import annotations

import sys

from ..core.dispatch.op import composite
from ..core.tensor import dtype as dtypes
from ..core.tensor.tensor import Tensor


def _predicate(name: str, doc: str, shown: str) -> None:
    def f(input):
        return getattr(input, name)()

    f.__name__, f.__doc__ = (
        name,
        f"""{doc}

    Shape: (*) -> {"int" if name == "numel" else "bool"}

    >>> {name}(tensor([1.0, 2.0]))
    {shown}
    """,
    )
    composite()(f)


_predicate("is_floating_point", "Whether the type is of floating-point numbers, also of 16 bits.", "True")
_predicate("is_complex", "Whether the type is of complex numbers.", "False")
_predicate("is_signed", "Whether the type has negative numbers.", "True")
_predicate("is_conj", "Whether it is a conjugated view of other memory.", "False")
_predicate("is_neg", "Whether it is a negated view of other memory.", "False")
_predicate("is_inference", "Whether the tensor was made in inference mode.", "False")
_predicate("numel", "The number of elements.", "2")


@composite()
def is_tensor(obj):
    """Whether `obj` is a tensor.

    Shape: any object (*) -> bool

    >>> is_tensor(ones(2)), is_tensor(1.0)
    (True, False)
    """
    return isinstance(obj, Tensor)


@composite()
def is_storage(obj):
    """Whether `obj` is the memory of a tensor.

    Shape: any object, such as a tensor (*) -> bool

    >>> is_storage(ones(2)), is_storage(ones(2).untyped_storage())
    (False, True)
    """
    from ..core.tensor.pickling import Memory

    # loaded where a program has asked for one
    storages = sys.modules.get(__name__.replace(".ops.predicates", ".core.tensor.typed_storage"))
    return isinstance(obj, Memory) or (storages is not None and storages.is_storage(obj))


@composite()
def is_nonzero(input):
    """Whether the one element of `input` is not zero.

    Shape: (1) -> bool
    Raises:
        RuntimeError: there is not one element, as in `is_nonzero(ones(2))`.

    >>> is_nonzero(tensor(0.5))
    True
    """
    if input._array.size != 1:
        n = "no values" if not input._array.size else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {n} is ambiguous")
    return bool(input)


@composite(method=True)
def is_same_size(input, other):
    """Whether two tensors have the same shape.

    Shape: (*), (*) -> bool

    >>> is_same_size(ones(2), ones(2, 1))
    False
    """
    return input._array.shape == other._array.shape


@composite()
def result_type(tensor1, tensor2):
    """The dtype of an arithmetic operation on two tensors or numbers.

    Shape: (*), (*) -> a dtype, as for tensors of (*)

    >>> result_type(tensor([1]), 0.5)
    torch.float32
    """
    p = dtypes.Promotion()
    for v in (tensor1, tensor2):
        if isinstance(v, Tensor):
            p.add_array(v.dtype, v._array.ndim)
        else:
            p.add_number(v)
    return p.result()
