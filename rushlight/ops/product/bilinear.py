"""The product of two inputs and a weight: bilinear."""

from __future__ import annotations

import numpy as np

from ...core.dispatch.op import composite, primitive
from ...core.tensor.dtype import c_word
from .matmul import mm
from .of_arrays import product


@composite(functional=True)
def bilinear(input1, input2, weight, bias=None):
    """out[k] = x1^T W[k] x2 + b[k].

    Args:
        bias: a tensor that is added, or None.
    Shape: (*, n), (*, m), weight (k, n, m), bias (k) -> (*, k)
    Raises:
        RuntimeError: the sizes do not fit, as in `bilinear(ones(1, 2), ones(1, 2), ones(1, 3, 2))`.

    >>> bilinear(ones(4, 2), ones(4, 3), ones(5, 2, 3)).shape
    torch.Size([4, 5])
    """
    x, y, w = input1._array, input2._array, weight._array
    _check_types(input1=input1, input2=input2, weight=weight, bias=bias)
    if x.ndim != y.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {x.ndim} and {y.ndim}")
    for i in range(x.ndim - 1):
        if x.shape[i] != y.shape[i]:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {i}: got {x.shape[i]} and {y.shape[i]}"
            )
    for i, a in ((1, x), (2, y)):
        if a.shape[-1] != w.shape[i]:
            raise RuntimeError(
                f"bilinear(): input{i} size does not match weight size: got {a.shape[-1]} but expected {w.shape[i]}"
            )
    if bias is not None and bias._array.shape[0] != w.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias._array.shape[0]} but expected {w.shape[0]}"
        )
    rows = int(np.prod(x.shape[:-1]))
    r = _trilinear(_rows(input1, rows), weight, _rows(input2, rows))
    r = r.view((*x.shape[:-1], w.shape[0]))
    return r if bias is None else r + bias


def _check_types(**tensors):
    given = {name: t.dtype for name, t in tensors.items() if t is not None}
    if len(set(given.values())) > 1:
        words = ", ".join(f"{name}: {c_word(d)}" for name, d in given.items())
        raise RuntimeError(f"All tensors must have the same dtype, got {words}")


def _rows(t, n):
    """The tensor as n rows, of a matrix as well a view: see `Op.keeps`."""
    a = t._array
    return t.view(n, a.shape[-1]) if type(a) is np.ndarray and a.flags.c_contiguous else t.reshape(n, a.shape[-1])


@primitive(name="_trilinear", public=False, node="TrilinearBackward0")
def _trilinear(input1, weight, input2, /):
    """x1^T W[k] x2 of each row. Shape: (rows, n), (k, n, m), (rows, m) -> (rows, k)"""
    k, n, m = weight.shape
    left = product(input1, weight.transpose(1, 0, 2).reshape(n, k * m)).reshape(-1, k, m)
    return product(left, input2[:, :, None])[:, :, 0]


@_trilinear.vjp
def _(g, input1, weight, input2, needs):
    k, n, m = weight.shape
    rows = g.shape[0]
    g1 = g2 = g_weight = None
    if needs[0]:
        right = mm(input2, weight.permute(2, 0, 1).reshape(m, k * n)).view(rows, k, n)
        g1 = (right * g.unsqueeze(2)).sum(1)
    if needs[1]:
        pairs = input1.unsqueeze(2) * input2.unsqueeze(1)
        g_weight = mm(g.t(), pairs.reshape(rows, n * m)).view(k, n, m)
    if needs[2]:
        left = mm(input1, weight.permute(1, 0, 2).reshape(n, k * m)).view(rows, k, m)
        g2 = (left * g.unsqueeze(2)).sum(1)
    return g1, g_weight, g2
