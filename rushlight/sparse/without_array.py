"""The class of tensors without an array: sparse and nested ones.

Their elements are in another tensor, the values, and their history and gradient are those of the values. Operators see a
`Placeholder` in place of an array, and come back to `_call_operator`, which looks them up in `rules.py` or refuses them by name.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..core.dispatch.torch_function import disabled_impl
from ..core.tensor import dtype as dtypes
from ..core.tensor.placeholder import no_kernel
from ..core.tensor.tensor import Tensor, alias, type_word

if TYPE_CHECKING:
    from ..core.dispatch.op import Op


@cache
def rules() -> ModuleType:
    """The operators' rules for sparse tensors: a file above this one, since they create sparse tensors."""
    from . import rules

    return rules


class WithoutArray(Tensor):
    """A tensor whose elements are in a tensor of values."""

    __slots__ = ()
    __torch_function__: Any = staticmethod(disabled_impl)  # results are of the class that the operator gives
    _entries: Tensor  # the values, with their history
    _rest: Tensor | None = None  # zeros with the history of what is not stored, where that has one (`entries.unstored`)

    # the history and the gradient are those of the values

    @property
    def _edge(self) -> Any:
        return self._entries._edge

    @_edge.setter
    def _edge(self, edge: Any) -> None:
        self._entries._edge = edge

    @property
    def _grad(self) -> Any:
        g = self._entries._grad
        return None if g is None else self._gradient(g)

    @_grad.setter
    def _grad(self, value: Any) -> None:
        self._entries._grad = None if value is None else self._values_like_mine(value)

    def _like(self, values: Tensor) -> Any:
        """A tensor with other values at the same places."""
        raise NotImplementedError

    def _filled_like(self, name: str, dtype: Any, requires_grad: bool) -> Any:
        """`zeros_like` and its like."""
        return rules().filled_like(self, name, dtype, requires_grad)

    def _gradient(self, values: Tensor) -> Any:
        """The gradient of this tensor, from that of its values."""
        return self._like(values)

    def _values_like_mine(self, other: Tensor) -> Tensor:
        """The entries of `other`, sparse or dense, at this tensor's places."""
        raise NotImplementedError

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Say in place whether operations on this leaf are recorded. Returns the tensor."""
        if requires_grad and self._entries._edge is None:
            self._entries = alias(self._entries, Tensor)
        self._entries.requires_grad_(requires_grad)
        return self

    def detach(self) -> Any:
        """The tensor without history; it shares its values' memory."""
        return self._like(self._entries.detach())

    def detach_(self) -> Any:
        """Cut the tensor from its history in place."""
        self._entries = self._entries.detach()
        return self

    @property
    def data(self) -> Any:
        return self._like(self._entries.data)

    @data.setter
    def data(self, value: Any) -> None:
        raise no_kernel("set_data")

    def _as_gradient(self, g: Any) -> Any:
        """What the engine found for this tensor's `_edge`, as the gradient of the tensor."""
        return self._gradient(g)

    @property
    def grad(self) -> Any:
        return self._grad

    @grad.setter
    def grad(self, value: Any) -> None:
        self._grad = value

    def retain_grad(self) -> None:
        """Keep `.grad` of this tensor in backward. Does nothing for a leaf."""
        self._entries.retain_grad()

    @property
    def retains_grad(self) -> bool:
        return self._entries.retains_grad

    def register_hook(self, hook: Any) -> Any:
        """Call `hook(grad)` with the sparse gradient of this tensor; it may return another one."""

        def on_values(g: Tensor) -> Any:
            new = hook(self._gradient(g))
            return None if new is None else self._values_like_mine(new)

        return self._entries.register_hook(on_values)

    def backward(self, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False, inputs: Any = None):
        """Accumulate the gradients of this tensor into the leaves it depends on."""
        g = None if gradient is None else self._values_like_mine(gradient)
        self._entries.backward(g, retain_graph, create_graph, inputs=inputs)  # type: ignore[attr-defined]

    # what needs an array

    def numpy(self, *, force: bool = False) -> Any:
        """Raises TypeError: there is no array of the elements."""
        raise TypeError(f"can't convert {self._layout_word} layout tensor to numpy. Use Tensor.to_dense() first.")

    _layout_word = "Sparse"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.numpy()

    def tolist(self) -> Any:
        """The elements as nested lists."""
        return self.to_dense().tolist()  # type: ignore[attr-defined]

    def item(self) -> Any:
        """The value of a one-element tensor as a Python number."""
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        return self.to_dense().item()  # type: ignore[attr-defined]

    def __bool__(self) -> bool:
        if self._array.size != 1:
            return Tensor.__bool__(self)
        return bool(self.item())

    def _one_value(self, how: str) -> Any:
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __index__(self) -> int:
        raise TypeError("only integer tensors of a single element can be converted to an index")

    def stride(self, dim: int | None = None) -> Any:
        """Zeros, as torch says: the elements are not contiguous in memory."""
        return (0,) * self._array.ndim if dim is None else 0

    def storage_offset(self) -> int:
        """Raises RuntimeError: a sparse tensor has no storage."""
        raise RuntimeError("sparse tensors do not have a storage")

    def data_ptr(self) -> int:
        """Raises RuntimeError: a sparse tensor has no storage."""
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """False: the elements are not contiguous in memory."""
        return False

    def contiguous(self, memory_format: Any = None) -> Any:
        """Raises: the elements are not contiguous in memory."""
        raise no_kernel("contiguous")

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The old name of the tensor's type, 'torch.sparse.FloatTensor'; or, with `dtype`, the tensor as that type."""
        if dtype is None:
            return f"torch.sparse.{type_word(self.dtype)}Tensor"
        if isinstance(dtype, str):
            dtype = getattr(dtypes, _TYPE_NAMES[dtype.rsplit(".", 1)[-1]])
        return self.to(dtype)  # type: ignore[attr-defined]

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def _new_dense(self, *args: Any, **kwargs: Any) -> Any:
        raise no_kernel("new")

    new = new_zeros = new_ones = new_empty = new_full = new_tensor = (
        _new_dense  # would not be sparse, as torch's are; see create.py
    )

    # operators

    def _call_operator(self, record: Op, tensors: tuple, metadata: tuple) -> Any:
        return rules().call(record, tensors, metadata)

    def _write_operator(self, record: Op, target: Tensor, others: tuple, metadata: tuple) -> Any:
        return rules().write(record, target, others, metadata)


_TYPE_NAMES = {
    "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16",
    "ByteTensor": "uint8", "CharTensor": "int8", "ShortTensor": "int16", "IntTensor": "int32", "LongTensor": "int64",
    "BoolTensor": "bool_",
}  # fmt: skip


__all__ = ["WithoutArray", "rules"]
