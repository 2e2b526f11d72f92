"""Methods that change a tensor's own shape and strides: t_, transpose_, squeeze_, unsqueeze_, as_strided_. The memory stays."""

from __future__ import annotations

from ...core.dispatch.inplace import check_writable
from ...core.dispatch.mode import enable_grad, thread
from ...core.dispatch.op import composite
from ...core.dispatch.slow_path import watch_view
from ...core.tensor.node import Leaf, show_as
from ...core.tensor.storage import storage_of, user_line
from ...core.tensor.tensor import Tensor, alias
from .permute import t, transpose
from .slicing import as_strided
from .view import squeeze, unsqueeze


def _in_place(name: str, view_of) -> None:
    """The method `name_`: the tensor itself becomes that view of its memory."""

    def f(self, *args, **kwargs):
        check_writable(self, thread.state, may_share=True)
        if name == "swapaxes":
            kwargs = {"dim" + n.removeprefix("axis"): v for n, v in kwargs.items()}
        before = alias(self, Tensor)
        before._edge, before._view = edge, _ = self._edge, self._view
        with enable_grad():
            after = view_of(before, *args, **kwargs)
        views = _views_of(self)
        geometry = (before.shape, before.stride(), before.storage_offset()) if views else None
        self._array = after._array
        if type(edge) is Leaf:  # under no_grad: the leaf stays one
            edge.shape = after._array.shape
        else:
            self._edge = after._edge
            if self._edge is not None:
                shown = type(self._edge).__name__
                show_as(self._edge, f"{shown[:-1]}{int(shown[-1]) + (3 if name == 'squeeze' else 1)}")
        if before._view is not None:
            self._view = after._view
            for t in (before, self):  # in the order in which a write to the base gives them new histories
                watch_view(self._storage, t)
        if geometry:
            _give_parent(self, views, geometry)
        storage_of(self).wrote(thread.state.writer or user_line(2))
        return self

    f.__name__, f.__doc__ = (
        name + "_",
        f"Make the tensor `{name}` of itself, in place: its memory stays, its shape and strides change.",
    )
    composite(method=True, function=False)(f)


def _views_of(base: Tensor) -> list[Tensor]:
    """The live views of `base` and the views of those, oldest first."""
    found: list[Tensor] = []
    storage = base._storage
    for ref in (storage is not None and storage.views) or ():
        view = ref()
        if view is not None and view._view is not None:
            parent = view._view[0]
            if parent is base or any(parent is v for v in found):
                found.append(view)
    return found


def _give_parent(base: Tensor, views: list[Tensor], geometry: tuple) -> None:
    """Views that were made of `base` become views of a tensor that has the geometry it had."""
    with enable_grad():
        old = as_strided(base, *geometry)
    for view in views:
        parent, *how = view._view  # type: ignore[misc]
        if parent is base:
            view._view = (old, *how)
    storage = base._storage
    storage.views = [r for r in storage.views if not any(r() is v for v in views)]  # type: ignore[union-attr]
    for view in views:  # after `old`: new histories are given in this order
        watch_view(storage, view)  # type: ignore[arg-type]


_in_place("transpose", transpose)
_in_place("t", t)
_in_place("squeeze", squeeze)
_in_place("unsqueeze", unsqueeze)
for _alias in ("swapaxes", "swapdims"):
    _in_place(_alias, transpose)
_in_place("as_strided", as_strided)
composite(name="as_strided_")(
    lambda input, size, stride, storage_offset=None: input.as_strided_(size, stride, storage_offset)
)
