"""What a transform is, and those that are made of others."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.tensor.layout import finfo
from rushlight.core.tensor.tensor import Tensor

from . import constraints
from .utils import _sum_rightmost, lazy_property, undefined

__all__ = [
    "Alike",
    "ComposeTransform",
    "IndependentTransform",
    "Transform",
    "clipped_sigmoid",
    "identity_transform",
    "require_dims",
]


class Transform:
    """A function with an inverse and a Jacobian. A subclass defines `_call`, `_inverse`, `log_abs_det_jacobian`.

    bijective: whether `t.inv(t(x)) == x`. sign: +1 or -1 for monotone functions of one number. Transforms that are
    equal by `==` do the same.

    Shape: (*) -> (*), as the subclass changes it
    Raises:
        ValueError: `cache_size` is neither 0 nor 1, as in `Transform(cache_size=2)`.
    """

    bijective: Any = False
    domain: Any
    codomain: Any
    sign: Any = undefined("+1 where y grows with x, -1 where it falls.")

    def __init__(self, cache_size: int = 0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Transform | None = None
        self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict:
        return {**vars(self), "_inv": None, "_cached_x_y": (None, None)}

    @property
    def event_dim(self) -> int:
        """The number of axes of an event, where it is the same on both sides."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        """This transform, or a copy with a cache of that size."""
        return self if self._cache_size == cache_size else self._with_cache(cache_size)

    def _with_cache(self, cache_size: int) -> Transform:
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: Any) -> bool:
        return self is other

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size and x is self._cached_x_y[0]:
            return self._cached_x_y[1]
        y = self._call(x)
        self._remember(x, y)
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size and y is self._cached_x_y[1]:
            return self._cached_x_y[0]
        x = self._inverse(y)
        self._remember(x, y)
        return x

    def _remember(self, x: Tensor, y: Tensor) -> None:
        if self._cache_size:
            self._cached_x_y = (x, y)

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |det dy/dx| of each event."""
        raise NotImplementedError

    def forward_shape(self, shape: Any) -> Any:
        """The shape of `t(x)` for an x of the given shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of `t.inv(y)` for a y of the given shape."""
        return shape

    def __repr__(self) -> str:
        return self.__class__.__name__ + "()"


class _InverseTransform(Transform):
    """The way back. It shares the cache of its original."""

    _inv: Transform

    def __init__(self, transform: Transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> dict:
        return {**super().__getstate__(), "_inv": self._inv}

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def _with_cache(self, cache_size: int) -> Transform:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self._inv!r})"


class Alike(Transform):
    """A transform without parameters: all of a class are equal."""

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, type(self))


# ---------------------------------------------------------------------------------------------- of other transforms


class ComposeTransform(Transform):
    """Several transforms, the first one first. With none it is the identity.

    Shape: (*) -> (*), as the transforms change it

    >>> ComposeTransform([distributions.ExpTransform(), distributions.AffineTransform(1.0, 2.0)])(tensor([0.0]))
    tensor([3.])
    """

    def __init__(self, parts: list[Transform], cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        sides = [(part.domain, part.codomain) for part in reversed(self.parts)]
        return _end_of_chain(sides)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return _end_of_chain([(part.codomain, part.domain) for part in self.parts])

    @lazy_property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def _with_cache(self, cache_size: int) -> Transform:
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return ops.zeros_like(x)
        points = [x]
        for part in self.parts[:-1]:
            points.append(part(points[-1]))
        points.append(y)
        total, event_dim = None, self.domain.event_dim
        for part, before, after in zip(self.parts, points, points[1:]):
            term = part.log_abs_det_jacobian(before, after)
            term = _sum_rightmost(term, event_dim - part.domain.event_dim)
            total = term if total is None else total + term
            event_dim += part.codomain.event_dim - part.domain.event_dim
        assert total is not None
        return total

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


def _end_of_chain(sides: list[tuple[Any, Any]]) -> Any:
    """The region at the end of a chain of (near side, far side) pairs, walked from the other end.

    Its events grow by the axes that the events of other links have more.
    """
    if not sides:
        return constraints.real
    dims = [(near.event_dim, far.event_dim) for near, far in sides]
    event_dim = dims[0][1]
    for near, far in dims:
        event_dim = max(event_dim + near - far, near)
    end = sides[-1][0]
    extra = event_dim - dims[-1][0]
    return constraints.independent(end, extra) if extra > 0 else end


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """Another transform whose Jacobian is summed over further axes, which belong to the event.

    Shape: (*) -> (*), as the transform changes it

    >>> IndependentTransform(distributions.ExpTransform(), 1).log_abs_det_jacobian(ones(3), ones(3))
    tensor(3.)
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0):
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _with_cache(self, cache_size: int) -> Transform:
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Tensor:
        require_dims(x.dim(), self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        require_dims(y.dim(), self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


def require_dims(have: int, need: int) -> None:
    if have < need:
        raise ValueError("Too few dimensions on input")


def clipped_sigmoid(x: Tensor) -> Tensor:
    """sigmoid(x), kept within (0, 1) where it would round to an end."""
    limits = finfo(x.dtype)
    return x.sigmoid().clamp(min=limits.tiny, max=1.0 - limits.eps)
