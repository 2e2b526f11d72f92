"""Which operators an autocast region brings to another type, by torch's lists for the CPU.

A region is the thread's `state.autocast` (an object of `rushlight.amp`), None outside. It makes every call take the slow
path, where `slow.call` hands the inputs of a primitive to it. A composite that is in the lists as a whole, or that
looks at types before it calls a primitive, is published through `followed`: the region casts its arguments and is off
inside, as in torch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .mode import thread

LOWER, FLOAT32, WIDEST, INSIDE_OFF = "lower", "float32", "widest", "inside off"

_FLOAT32_PADS = "reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d"
_LISTS = {
    LOWER: "mm bmm matmul matmul.vector_matrix addmm addbmm baddbmm convolution convolution.input linear linear.plain "
    "linear.vector linear.nd linear.nd_plain lstm_layer lstm_layer.stack lstm_layer.packed",
    FLOAT32: "adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d max_unpool2d max_unpool3d fractional_max_pool2d "
    "fractional_max_pool3d grid_sampler_2d grid_sampler_3d mse_loss smooth_l1_loss huber_loss soft_margin_loss nll_loss "
    f"nll_loss2d prod prod.dim trace view_as_complex polar cholesky_inverse cholesky_solve linalg_qr linalg_eig "
    f"linalg_householder_product geqrf {_FLOAT32_PADS}",
    WIDEST: "cat stack index_copy",
}
POLICIES: dict[str, str] = {name: policy for policy, names in _LISTS.items() for name in names.split()}
"""What is done to the inputs of a primitive, by its record's name."""

_COMPOSITES = {
    LOWER: "scaled_dot_product_attention prelu linalg_vecdot",
    FLOAT32: "cross_entropy l1_loss kl_div poisson_nll_loss cosine_embedding_loss hinge_embedding_loss nll_loss "
    "margin_ranking_loss triplet_margin_loss multi_margin_loss multilabel_margin_loss ctc_loss binary_cross_entropy "
    "binary_cross_entropy_with_logits quantile nanquantile cdist cholesky inverse pinverse svd orgqr ormqr "
    "triangular_solve lu_solve grid_sample qr linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh "
    "linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank "
    "linalg_solve linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve",
    INSIDE_OFF: "bilinear",
}
COMPOSITES: dict[str, str] = {name: policy for policy, names in _COMPOSITES.items() for name in names.split()}
"""The same for composites, by their public name."""


def followed(name: str, f: Callable) -> Callable:
    """`f` itself, or if autocast regions change the arguments of a composite of this name, a function that asks them."""
    policy = COMPOSITES.get(name)
    if policy is None:
        return f

    @wraps(f)
    def call(*args, **kwargs):
        region = thread.state.autocast
        return f(*args, **kwargs) if region is None else region.around(f, policy, args, kwargs)

    return call


class Off:
    """A context without autocast: for calls with `out=`, which it does not touch."""

    def __enter__(self):
        state = thread.state
        self._outer, state.autocast = state.autocast, None

    def __exit__(self, *exc: object) -> None:
        thread.state.autocast = self._outer


class Remembered:
    """The autocast state of now, for code that runs again later: a context in which it holds once more."""

    def __init__(self):
        region = thread.state.autocast
        self._region = None if region is None else region.copy()

    def __enter__(self):
        state = thread.state
        self._outer, state.autocast = state.autocast, self._region
        state.refresh()

    def __exit__(self, *exc: object) -> None:
        thread.state.autocast = self._outer
        thread.state.refresh()
        if self._region is not None:
            self._region.forget()


def brought(policy: str, *tensors: Any) -> tuple | None:
    """The tensors in the type that the region has for `policy`; None outside a region, or where that changes nothing."""
    region = thread.state.autocast
    if region is None:
        return None
    results = region.cast(tensors, policy)
    return None if all(a is b for a, b in zip(results, tensors, strict=True)) else results
