"""Products of many indices: einsum, tensordot, Kronecker and chained products, powers, distances."""

from __future__ import annotations

import functools
import math
from math import prod

import numpy as np

from ...core.dispatch.errors import argument_type, type_error
from ...core.dispatch.op import OPS, composite, primitive
from ...core.dispatch.scalars import type_name
from ...core.dispatch.slow_path import write_out
from ...core.dispatch.torch_function import told_by_keyword
from ...core.tensor.dtype import bool_
from ...core.tensor.layout import contiguous_format
from ...core.tensor.node import Leaf
from ...core.tensor.size import broadcast_shapes, wrap_dim
from ...core.tensor.tensor import Tensor, type_word
from ...core.warn import warn
from ..creation.filled import eye
from ..pointwise.building_blocks import dense
from ..pointwise.checks import not_implemented
from ..shape.view import _unsafe_view
from .matmul import bmm, conjugate, matmul, mm
from .of_arrays import product, refuse_bool

# ---------------------------------------------------------------------------------------------- pairs of dimensions


@told_by_keyword
@composite()
def tensordot(a, b, dims=2, out=None):
    """The sum of products over pairs of dimensions.

    Args:
        dims: how many of the last dimensions of `a` go with the first of `b`, or two lists of dimensions.
        out: the tensor to write the result to.
    Shape: a (*, k), b (k, +) -> (*, +)
    Raises:
        RuntimeError: the sizes of a pair differ, as in `tensordot(ones(2, 3), ones(2, 3), dims=1)`.

    >>> tensordot(ones(2, 3, 4), ones(3, 4, 5), dims=2).shape
    torch.Size([2, 5])
    """
    x, y = a._array, b._array
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(x.ndim, y.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a, dims_b = list(range(-dims, 0)), list(range(dims))
    elif not isinstance(dims, (tuple, list)):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, but "
            f"got dims={dims}"
        )
    else:
        dims_a, dims_b = dims
        for i, d in enumerate((dims_a, dims_b)):
            if not isinstance(d, (tuple, list)):
                raise TypeError(
                    f"tensordot(): argument 'dims_{('self', 'other')[i]}' (position {i + 3}) must be tuple of ints, not "
                    f"{type(d).__name__}"
                )
    if len(dims_a) != len(dims_b):
        raise RuntimeError("both dimension lists should have same length")
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    given = zip(dims_a, dims_b, strict=True)
    dims_a, dims_b = [wrap_dim(d, x.ndim) for d in dims_a], [wrap_dim(d, y.ndim) for d in dims_b]
    for (of_a, of_b), i, j in zip(given, dims_a, dims_b, strict=True):
        n, m = x.shape[i], y.shape[j]
        if n == 1 and m != 1:
            b = b.sum(j, keepdim=True)
        elif m == 1 and n != 1:
            a = a.sum(i, keepdim=True)
        elif n != m:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {of_a} and second has size {m} in "
                f"dim {of_b}"
            )
    r = _contract_pairs(a, b, dims_a, dims_b)
    if out is None:
        return r
    return write_out("tensordot", (a, b), r, out)


def _contract_pairs(a, b, dims_a, dims_b):
    free_a = [i for i in range(a._array.ndim) if i not in dims_a]
    free_b = [i for i in range(b._array.ndim) if i not in dims_b]
    lead, tail = [a._array.shape[i] for i in free_a], [b._array.shape[i] for i in free_b]
    k = prod(a._array.shape[i] for i in dims_a)
    left = a.permute([*free_a, *dims_a]).reshape(prod(lead), k)
    right = b.permute([*dims_b, *free_b]).reshape(k, prod(tail))
    return mm(left, right).view((*lead, *tail))


@composite(method=True, out=True)
def kron(input, other):
    """The Kronecker product: every element of the first times the whole second.

    Args:
        out: the tensor to write the result to.
    Shape: (n, m), (k, l) -> (n k, m l)

    >>> kron(tensor([1, 10]), tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    for n, (name, x) in enumerate((("input", input), ("other", other)), 1):
        if not isinstance(x, Tensor):
            raise argument_type("kron", name, n, x)
    x, y = input._array.shape, other._array.shape
    n = max(len(x), len(y))
    x, y = (1,) * (n - len(x)) + x, (1,) * (n - len(y)) + y
    left = input.reshape([s for a in x for s in (a, 1)])
    right = other.reshape([s for b in y for s in (1, b)])
    return _unsafe_view(left * right, [a * b for a, b in zip(x, y, strict=True)])


# ---------------------------------------------------------------------------------------------- many matrices


@composite()
def chain_matmul(*matrices, out=None):
    """The product of matrices in the cheapest order. Deprecated: use `linalg.multi_dot`.

    Shape: (n, k), (k, l), ..., (l, m) -> (n, m)
    Raises:
        RuntimeError: the sizes do not fit, as in `chain_matmul(ones(2, 3), ones(2, 3))`.
    """
    warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters.",
    )
    matrices = matrices[0] if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)) else matrices
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for t in matrices:
        if t._array.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {t._array.ndim}, expected 2 instead.")
    r = matrices[0] if len(matrices) == 1 else _chain(list(matrices))
    return r if out is None else out.copy_(r)


@composite(name="multi_dot", out=True)
def multi_dot(tensors):
    """The product of matrices in the cheapest order; the first and the last may be vectors."""
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    first, last = tensors[0]._array.ndim == 1, tensors[-1]._array.ndim == 1
    for i, t in enumerate(tensors):
        ends = i in (0, len(tensors) - 1)
        if t._array.ndim != 2 and not (ends and t._array.ndim == 1):
            which = "the first tensor must be 1D or 2D" if i == 0 else f"tensor {i} must be 2D"
            raise RuntimeError(f"multi_dot(): {which} but got {t._array.ndim}D")
    if first:
        tensors[0] = tensors[0].unsqueeze(0)
    if last:
        tensors[-1] = tensors[-1].unsqueeze(1)
    for i in range(len(tensors) - 1):
        a, b = tensors[i]._array, tensors[i + 1]._array
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a.shape)} and {list(b.shape)} cannot be "
                "multiplied"
            )
    r = _chain(tensors)
    rows, columns = r._array.shape
    return r.view(() if first and last else (columns,) if first else (rows,) if last else (rows, columns))


def _chain(matrices):
    """The product in the order of fewest multiplications (the classic table over all ranges)."""
    sizes = [m._array.shape[0] for m in matrices] + [matrices[-1]._array.shape[1]]
    n = len(matrices)
    cost = [[0.0] * n for _ in range(n)]
    cut = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i][j], cut[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    return _product_of(matrices, cut, 0, n - 1)


def _product_of(matrices, cut, i, j):  # not within `_chain`: a function that calls itself from there is a cycle
    if i == j:
        return matrices[i]
    return mm(_product_of(matrices, cut, i, cut[i][j]), _product_of(matrices, cut, cut[i][j] + 1, j))


@composite(method=True, out=True)
def matrix_power(input, n):
    """A square matrix (or a batch of them) multiplied with itself n times; a negative n powers the inverse.

    Args:
        out: the tensor to write the result to.
    Shape: (*, m, m) -> (*, m, m)
    Raises:
        RuntimeError: the matrices are not square, as in `matrix_power(ones(2, 3), 2)`.

    >>> matrix_power(tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    a = input._array
    if a.ndim < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"linalg.matrix_power: A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} "
            "matrices"
        )
    if n == 0:
        nothing = input.clone(memory_format=contiguous_format).masked_fill(
            eye(1, dtype=bool_, device=input.device)[0], 0
        )
        return nothing + eye(a.shape[-1], dtype=input.dtype, device=input.device)
    if n == 1:
        return input.clone(memory_format=contiguous_format)
    if n < 0:
        inverse = OPS["inverse"](input)
        return inverse if n == -1 else matrix_power(inverse, -n)
    result = None
    square = input
    while True:
        if n & 1:
            result = square if result is None else matmul(result, square)
        n >>= 1
        if not n:
            return result
        square = matmul(square, square)


@primitive(method=True)
def trace(input, /):
    """The sum of a matrix' diagonal.

    Shape: (n, m) -> ()
    Raises:
        RuntimeError: `input` is not a matrix, as in `trace(ones(2))`.

    >>> trace(tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    d = input.dtype
    kind = np.int64 if d.kind in "iub" else d
    return np.add.reduce(input.diagonal(), dtype=np.float32 if d.itemsize == 2 and d.kind not in "iu" else kind).astype(
        kind
    )


@trace.vjp
def _(g, input_shape):
    return g * eye(*input_shape, dtype=g.dtype, device=g.device)


# ---------------------------------------------------------------------------------------------- einsum


def _parse(equation, ranks):
    """(the subscripts of each operand, those of the result or None), an ellipsis as '.'."""
    text = equation.replace(" ", "")
    if "." in text.replace("...", ""):
        operand = text[: text.replace("...", "   ").index(".")].count(",")
        raise RuntimeError(f"einsum(): found '.' for operand {operand} that is not part of any ellipsis")
    text = text.replace("...", ".")
    left, arrow, right = text.partition("->")
    for i, c in enumerate(left):
        if not (c.isascii() and c.isalpha()) and c not in ".,":
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {i} in the equation string, subscripts must be in [a-zA-Z]"
            )
    inputs = left.split(",")
    if len(inputs) > len(ranks):
        raise RuntimeError("einsum(): fewer operands were provided than specified in the equation")
    if len(inputs) < len(ranks):
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    for i, (subscripts, n) in enumerate(zip(inputs, ranks, strict=True)):
        _check_operand(i, subscripts, n)
    return inputs, right if arrow else None


def _check_operand(i, subscripts, ndim):
    if subscripts.count(".") > 1:
        raise RuntimeError(f"einsum(): found '.' for operand {i} for which an ellipsis was already found")
    n = len(subscripts) - subscripts.count(".")
    if "." not in subscripts and n != ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({n}) does not match the number of dimensions "
            f"({ndim}) for "
            f"operand {i} and no ellipsis was given"
        )
    if n > ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({n}) is more than the number of dimensions ({ndim}) "
            "for "
            f"operand {i}"
        )


def _check_result(right, inputs):
    for i, c in enumerate(right):
        if c != "." and not (c.isascii() and c.isalpha()):
            raise RuntimeError(
                f"einsum(): invalid subscript given at index {i} in the equation string, subscripts must be in [a-zA-Z]"
            )
        if right.count(c) > 1:
            raise RuntimeError(f"einsum(): output subscript {c} appears more than once in the output")
        if c != "." and not any(c in s for s in inputs):
            raise RuntimeError(f"einsum(): output subscript {c} does not appear in the equation for any input operand")


class _Labels:
    """The equation with every dimension, those of the ellipsis too, under a number of its own."""

    def __init__(self, equation, shapes):
        inputs, right = _parse(equation, [len(s) for s in shapes])
        letters = sorted({c for s in inputs for c in s if c != "."})
        extra = [len(shape) - len(s) + 1 if "." in s else 0 for s, shape in zip(inputs, shapes, strict=True)]
        self.width = max(extra)
        ellipsis = list(range(self.width))
        number = {c: self.width + i for i, c in enumerate(letters)}
        self.inputs = [
            [n for c in s for n in (ellipsis[self.width - e :] if c == "." else [number[c]])]
            for s, e in zip(inputs, extra, strict=True)
        ]
        if right is None:
            once = [c for c in letters if sum(s.count(c) for s in inputs) == 1]
            self.result = ellipsis + [number[c] for c in once]
        else:
            _check_result(right, inputs)
            self.result = [n for c in right for n in (ellipsis if c == "." else [number[c]])]
        self.letter = {n: c for c, n in number.items()}
        rest = sorted({x for row in self.inputs for x in row}.difference(self.result))
        self.rank = {x: i for i, x in enumerate([*self.result, *rest])}
        self._check_sizes(shapes)

    def _check_sizes(self, shapes):
        sizes: dict[int, int] = {}
        for i, (labels, shape) in enumerate(zip(self.inputs, shapes, strict=True)):
            own: dict[int, int] = {}
            for axis, (label, n) in enumerate(zip(labels, shape, strict=True)):
                if own.setdefault(label, n) != n:
                    raise RuntimeError(
                        f"einsum(): subscript {self.letter[label]} is repeated for operand {i} but the sizes don't match, "
                        f"{n} != {own[label]}"
                    )
                known = sizes.get(label, 1)
                if known != n and known != 1 and n != 1:
                    self._refuse(label, axis, i, n, known)
                sizes[label] = n if known == 1 else known

    def _refuse(self, label, axis, i, n, known):
        if label in self.letter:
            raise RuntimeError(
                f"einsum(): subscript {self.letter[label]} has size {n} for operand {i} which does not broadcast with "
                f"previously seen size {known}"
            )
        raise RuntimeError(
            f"einsum(): dimension {axis} covered by ellipsis in operand {i}has size {n} which does not broadcast with "
            f"previously seen ellipsis with size {known} for the respective dimension"
        )


_labels = functools.lru_cache(1024)(_Labels)


def _diagonals(t, labels):
    """The operand with repeated labels read along their diagonal."""
    if len(set(labels)) == len(labels):
        return t, labels
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            t = t.diagonal(0, i, j)
            labels = [x for k, x in enumerate(labels) if k not in (i, j)] + [label]
    return t, labels


def _reduce(t, labels, keep):
    """Sum over the labels that nothing else needs."""
    gone = [i for i, label in enumerate(labels) if label not in keep]
    return (t.sum(gone), [x for x in labels if x in keep]) if gone else (t, labels)


def _multiply(a, left, b, right, keep, rank):
    """The product of two operands, summed over the labels that are in both and not in `keep`.

    rank: the place of each label of the equation in the result, those that are summed last. The memory of the product has
    the labels of both, those of the first, those of the second, each group in that order; the operands change places where
    the result is then in its own order. A label of size 1 belongs to the other operand, if to none to the second.
    """
    ones_a = [x for x in left if x in right and a.size(left.index(x)) == 1]
    ones_b = [x for x in right if x in left and x not in ones_a and b.size(right.index(x)) == 1]
    sums = sorted(
        [x for x in left if x in right and x not in keep and x not in ones_a and x not in ones_b], key=rank.get
    )
    a, left = _summed(a, left, [*keep, *sums])  # a label of size 1 on one side is summed on the other alone
    b, right = _summed(b, right, [*keep, *sums])
    if not sums:
        order = sorted({*left, *right}, key=rank.get)
        return _aligned(a, left, order) * _aligned(b, right, order), order
    a, left = _without(a, left, ones_a)
    b, right = _without(b, right, ones_b)
    batch = sorted([x for x in left if x in right and x not in sums], key=rank.get)
    free_a = sorted([x for x in left if x not in right], key=rank.get)
    free_b = sorted([x for x in right if x not in left], key=rank.get)
    others = rank.keys() - {*sums, *batch, *free_a}
    if free_a and others and max(rank[x] for x in others) < rank[free_a[0]]:
        a, left, free_a, b, right, free_b = b, right, free_b, a, left, free_a
    a = _ordered(a, [left.index(x) for x in (*batch, *free_a, *sums)])
    b = _ordered(b, [right.index(x) for x in (*batch, *sums, *free_b)])
    shape_a, shape_b = a._array.shape, b._array.shape
    if not batch and len(free_a) == len(sums) == len(free_b) == 1:
        return mm(a, b).view(shape_a[0], shape_b[1]), [*free_a, *free_b]
    lead, shared = len(batch), len(sums)
    k = prod(shape_b[lead : lead + shared])
    outs, rows, columns = shape_a[:lead], shape_a[lead : len(shape_a) - shared], shape_b[lead + shared :]
    a = a.reshape(prod(outs), prod(rows), k)
    b = b.reshape(prod(outs), k, prod(columns))
    return bmm(a, b).view((*outs, *rows, *columns)), [*batch, *free_a, *free_b]


def _summed(t, labels, keep):
    """As `_reduce`, without a sum over labels of size 1, which are the same elements."""
    ones = [x for x, n in zip(labels, t._array.shape, strict=True) if n == 1 and x not in keep]
    return _reduce(*_without(t, labels, ones), keep)


def _without(t, labels, ones):
    """The operand without dimensions of size 1."""
    gone = [i for i, x in enumerate(labels) if x in ones]
    return (t.squeeze(gone), [x for x in labels if x not in ones]) if gone else (t, labels)


def _ordered(t, order):
    """The operand's dimensions in the given order; of a leaf always a view, as in torch: see `Op.keeps`."""
    return t if order == [*range(len(order))] and type(t._edge) is not Leaf else t.permute(order)


def _aligned(t, labels, order):
    """The operand's dimensions in the given order, with size 1 for those that it lacks."""
    t = _ordered(t, [labels.index(x) for x in order if x in labels])
    shape = iter(t._array.shape)
    return t.reshape([next(shape) if x in labels else 1 for x in order])


def _sublists(args):
    """The operands and the equation of einsum(op1, [0, 1], op2, [1, 2], [0, 2])."""

    def text(labels):
        return "".join("..." if n is Ellipsis else chr((65 if n < 26 else 71) + n) for n in labels)

    operands, lists = list(args[0 : len(args) - len(args) % 2 : 2]), args[1 : len(args) - len(args) % 2 : 2]
    equation = ",".join(text(labels) for labels in lists)
    return operands, f"{equation}->{text(args[-1])}" if len(args) % 2 else equation


def _equation_first(args):
    """The arguments of `einsum` as (equation, operand, operand, ...), in whichever form they were given."""
    if len(args) < 2:
        return args
    if isinstance(args[1], (list, tuple)) and not isinstance(args[0], str):
        operands, equation = _sublists(args)
        return equation, *operands
    if len(args) == 2 and isinstance(args[1], (list, tuple)):
        return args[0], *args[1]
    return args


@composite()
def einsum(*args):
    """Products of tensors summed over the indices that the result lacks, as `equation` names them.

    einsum("ik,kj->ij", a, b) is the matrix product; '...' means leading dimensions, which are broadcast; a letter
    twice in one operand takes its diagonal; without '->' the letters that appear once remain, in alphabetical order.

    Shape: (i, k), (k, j), ... -> (i, j), as the equation says
    Raises:
        RuntimeError: the sizes of a letter differ, as in `einsum("i,i->", ones(2), ones(3))`.
        RuntimeError: an operand has another number of dimensions, as in `einsum("ij->i", ones(2))`.

    >>> einsum("ik,kj->ij", ones(2, 3), ones(3, 4)).shape
    torch.Size([2, 4])
    """
    if len(args) < 2:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts "
            "list"
        )
    equation, *operands = _equation_first(args)
    if not isinstance(equation, str):
        raise type_error(f"einsum(): argument 'equation' (position 1) must be str, not {type_name(equation)}")
    for i, t in enumerate(operands):
        if not isinstance(t, Tensor):
            raise argument_type("einsum", "tensors", i + 2, t)
    labels = _labels(equation, tuple([t._array.shape for t in operands]))
    t, here = _diagonals(operands[0], labels.inputs[0])
    for i in range(1, len(operands)):
        later = [x for rest in labels.inputs[i + 1 :] for x in rest]
        t, here = _reduce(t, here, [*labels.result, *later, *labels.inputs[i]])
        other, there = _diagonals(operands[i], labels.inputs[i])
        t, here = _multiply(t, here, other, there, [*labels.result, *later], labels.rank)
    summed = len(here) > len(labels.result)
    t, here = _reduce(t, here, labels.result)
    order = [here.index(x) for x in labels.result]
    return t if order == [*range(len(order))] and (summed or len(operands) > 1) else t.permute(order)


einsum.arguments_as_told = lambda args, kwargs: (_equation_first(args), kwargs)  # to classes with __torch_function__


# ---------------------------------------------------------------------------------------------- vectors in space


@composite(method=True, out=True)
def cross(input, other, dim=None):
    """The cross product along a dimension of size 3.

    Args:
        other: a tensor, broadcast against `input`.
        dim: the dimension; by default the first of size 3.
        out: the tensor to write the result to.
    Shape: (*, 3), (*, 3) -> (*, 3)
    Raises:
        RuntimeError: the dimension has another size, as in `cross(ones(2), ones(2), 0)`.

    >>> cross(tensor([1, 0, 0]), tensor([0, 1, 0]), 0)
    tensor([0, 0, 1])
    """
    if dim is None:
        warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly "
            "or simply "
            "use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a "
            "future "
            "release.",
        )
        shape = broadcast_shapes(input._array.shape, other._array.shape)
        dim = next((i for i, n in enumerate(shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return cross_along(input, other, dim)


def cross_along(input, other, dim=-1):
    """torch.linalg.cross: the cross product along a dimension of size 3, the last by default."""
    n, m = input._array.ndim, other._array.ndim
    if n != m:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    d = wrap_dim(dim, n)
    if input.size(d) != 3 or other.size(d) != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.size(d)} and {other.size(d)}"
        )
    broadcast_shapes(input._array.shape, other._array.shape)
    refuse_bool(input._array, "cross")
    if input.dtype is not other.dtype:
        raise RuntimeError(f"expected scalar type {type_word(input.dtype)} but found {type_word(other.dtype)}")
    return linalg_cross(input, other, d)


@primitive(name="linalg_cross", public=False, promote="same")
def linalg_cross(input, other, /, dim):
    """The cross product along a dimension of size 3."""
    x, y = (np.moveaxis(a, dim, 0) for a in np.broadcast_arrays(input, other))
    out = np.stack([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]], dim)
    out = out.astype(input.dtype, copy=False)
    return out if out.flags.c_contiguous else out.copy()


@linalg_cross.vjp("input")
def _(g, other, dim):
    return linalg_cross(conjugate(other), g, dim)


@linalg_cross.vjp("other")
def _(g, input, dim):
    return linalg_cross(g, conjugate(input), dim)


def vecdot(x, y, *, dim=-1):
    """torch.linalg.vecdot: the sums of conj(x) y along one dimension."""
    return (conjugate(x) * y).sum(dim)


# ---------------------------------------------------------------------------------------------- distances


@primitive(name="cdist", public=False)
def _cdist(x1, x2, /, p):
    """All distances of rows. Shape: (*, n, k), (*, m, k) -> (*, n, m)"""
    return dense(_norms(np.abs(x1[..., :, None, :] - x2[..., None, :, :]), p))


def _norms(difference, p):
    """The p-norm of each row of what is positive."""
    if p == 0:
        return (difference != 0).sum(-1).astype(difference.dtype)
    if p == 1:
        return np.add.reduce(difference, -1)
    if p == 2:
        return np.sqrt(np.add.reduce(difference * difference, -1))
    if p == math.inf:
        return np.maximum.reduce(difference, -1, initial=0)
    return np.add.reduce(difference**p, -1) ** (1 / p)


@_cdist.vjp
def _(g, out, x1, x2, p, needs):
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    g, distance = g.unsqueeze(-1), out.unsqueeze(-1)
    if p == 0:
        part = difference * 0
    elif p == 1:
        part = g * difference.sign()
    elif p == math.inf:
        part = g * difference.sign() * (difference.abs() == distance).to(difference.dtype)
    else:
        safe = distance.masked_fill(distance == 0, 1)
        scaled = difference if p == 2 else difference.sign() * difference.abs().pow(p - 1)
        part = (g * scaled / (safe if p == 2 else safe.pow(p - 1))).masked_fill(distance == 0, 0)
    return part.sum(-2) if needs[0] else None, -part.sum(-3) if needs[1] else None


@primitive(name="_euclidean_dist", public=False, node="EuclideanDistBackward0")
def _euclidean_by_product(x1, x2, /):
    """|a - b| from |a|^2 - 2 a.b + |b|^2: one matrix product, less exact for near points."""
    kind = x1.dtype
    n1, n2 = (np.add.reduce(x * x, -1, dtype=None if kind.itemsize > 2 else np.float32) for x in (x1, x2))
    if kind.itemsize == 2:  # torch rounds the squares' sums, and the one product that they are columns of
        x1, x2, n1, n2 = (a.astype(np.float32) for a in (x1, x2, n1.astype(kind), n2.astype(kind)))
    squares = product(x1, x2.swapaxes(-2, -1)) * x1.dtype.type(-2)
    squares = (squares + n1[..., None] + n2[..., None, :]).astype(kind, copy=False)
    return np.sqrt(np.maximum(squares, kind.type(0)))


@_euclidean_by_product.vjp
def _(g, out, x1, x2, needs):
    share = (g / out).masked_fill(out == 0, 0)
    g1 = x1 * share.sum(-1, True) - matmul(share, x2) if needs[0] else None
    g2 = x2 * share.sum(-2).unsqueeze(-1) - matmul(share.mT, x1) if needs[1] else None
    return g1, g2


@told_by_keyword
@composite()
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances of all pairs of rows.

    Args:
        p: a number or inf.
        compute_mode: how 2-norms are computed: by a matrix product for more than 25 rows (the default), always or
            never.
    Shape: (*, n, k), (*, m, k) -> (*, n, m)
    Raises:
        RuntimeError: the lengths of the rows differ, as in `cdist(ones(2, 3), ones(2, 4))`.

    >>> cdist(tensor([[0.0, 0.0]]), tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    modes = {
        "use_mm_for_euclid_dist_if_necessary": None,
        "use_mm_for_euclid_dist": True,
        "donot_use_mm_for_euclid_dist": False,
    }
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    a, b = x1._array, x2._array
    pairs = (x1, "X1"), (x2, "X2")
    for t, name in pairs:
        if t._array.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {t._array.ndim}D")
    if a.shape[-1] != b.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {a.shape[-1]} X2: {b.shape[-1]}")
    for t, name in pairs:
        if not t.dtype.is_floating_point:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {type_word(t.dtype)}")
    if x1.dtype is not x2.dtype:
        raise RuntimeError(f"expected scalar type {type_word(x1.dtype)} but found {type_word(x2.dtype)}")
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    by_product = modes[compute_mode]
    if by_product is None:
        by_product = a.shape[-2] > 25 or b.shape[-2] > 25
    if p == 2 and by_product and a.shape[-1]:
        d = _euclidean_by_product(x1, x2)
        return d.view(d.shape)
    if x1._array.dtype.itemsize == 2:
        raise not_implemented("cdist", x1._array.dtype)
    return _cdist(x1, x2, float(p))
