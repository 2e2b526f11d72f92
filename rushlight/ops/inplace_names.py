"""Functions of the top level whose work a tensor's method does in place: `torch.clamp_(x, 0, 1)` is `x.clamp_(0, 1)`."""

from __future__ import annotations

from typing import Any

from ..core.dispatch.docs import like
from ..core.dispatch.op import OPS, composite
from ..core.tensor.tensor import Tensor
from .nn.embedding import renormalise

_IN_PLACE = "In-place form of `{}`: the result is written into the tensor, which is returned."


def _of_method(name: str) -> Any:
    def f(input, *args, **kwargs):
        return getattr(input, name)(*args, **kwargs)

    f.__name__ = f.__qualname__ = name
    method = f.__wrapped__ = getattr(Tensor, name)  # type: ignore[attr-defined]  # inspect.signature looks there
    f.__doc__ = method.__doc__
    if not hasattr(method, "record"):
        text = method.__doc__ or _IN_PLACE.format(name[:-1])
        f.__doc__ = like(OPS[name[:-1]], name, text, without=("Args:",) if name == "ldexp_" else ())
    return f


def _of_option(name: str) -> Any:
    function = OPS[name[:-1]]

    def f(input, p, train):
        return function(input, p, train, True)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = like(function, name, _IN_PLACE.format(name[:-1]), without=("Args:",))
    return f


for _name in (
    "addmv_", "clamp_", "clamp_max_", "clamp_min_", "clip_", "conj_physical_", "detach_", "gcd_", "lcm_", "ldexp_",
    "logit_", "nan_to_num_", "round_", "xlogy_",
):  # fmt: skip
    if _name not in OPS:
        assert hasattr(Tensor, _name), _name
        composite(name=_name)(_of_method(_name))
for _name in ("alpha_dropout_", "dropout_", "feature_alpha_dropout_", "feature_dropout_"):
    composite(name=_name)(_of_option(_name))


@composite()
def embedding_renorm_(input, indices, max_norm, norm_type):
    """Scale the rows at `indices` down to the norm `max_norm`, in place.

    Shape: (V, E), indices (*) int64 -> (V, E)

    >>> embedding_renorm_(tensor([[3.0, 4.0], [3.0, 4.0]]), tensor([1]), 1.0, 2.0)
    tensor([[3.0000, 4.0000],
            [0.6000, 0.8000]])
    """
    renormalise(input, indices, max_norm, norm_type)
    return input
