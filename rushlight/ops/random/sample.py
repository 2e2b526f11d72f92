"""Random tensors. Every draw comes from `core/random`, which reproduces torch's CPU streams."""

from __future__ import annotations

from functools import partial
from operator import index
from typing import Any

import numpy as np

from ...core import random as streams
from ...core.device import devices
from ...core.device.backend import Backend, out_of_memory, run_on
from ...core.dispatch.aten.wrapper import Wrapper
from ...core.dispatch.errors import argument_type, type_error
from ...core.dispatch.extension_points import CALL, profiled_block
from ...core.dispatch.inplace import check_writable
from ...core.dispatch.mode import emit_event, thread
from ...core.dispatch.op import composite, primitive
from ...core.dispatch.overlap import check_apart, shares_places
from ...core.dispatch.scalars import float_of, type_name
from ...core.dispatch.slow_path import resize_out
from ...core.tensor import dtype as dtypes
from ...core.tensor.casting import dense_like
from ...core.tensor.size import new_shape_from, shape_keyword
from ...core.tensor.strides import innermost_first
from ...core.tensor.tensor import Tensor, type_word, wrap
from ..creation.arguments import arranged, backend_for, backend_like, check_options, fresh, made_like, numpy_type
from ..creation.filled import by_class
from ..creation.into import kind_of, put, sized
from ..shape.copying import history_node, write_values


def drawn(name: str, draw: Any, *arguments: Any, where: Backend | None = None) -> Any:
    """`draw(*arguments)`, an array of random numbers that no operator's call shows; a listener is told of it."""
    try:
        if (block := profiled_block.value) is None:
            values = draw(*arguments) if where is None else where.draw(draw, arguments)
        else:
            with block(f"aten::{name}", CALL):
                values = draw(*arguments) if where is None else where.draw(draw, arguments)
    except MemoryError as error:
        raise out_of_memory(error) from None
    if thread.state.level > 1:
        emit_event("drew", values, name, draw, arguments)
    return values


# ---------------------------------------------------------------------------------------------- by shape


def _of_shape(
    name: str, draw: Any, generator: Any, shape: tuple, kind: Any, *rest: Any, requires_grad: bool, device: Any = None
) -> Tensor:
    """A new tensor of `draw(generator, shape, kind, *rest)`."""
    batching = thread.state.batching
    where = backend_for(device) if device is not None or devices.redirected else None
    if batching is None:
        return fresh(drawn(name, draw, generator, shape, kind, *rest, where=where), requires_grad)
    return batching(
        lambda lead: fresh(drawn(name, draw, generator, (*lead, *shape), kind, *rest, where=where), requires_grad)
    )


def _drawn_into(
    name: str, draw: Any, generator: Any, shape: tuple, out: Any, dtype: Any, requires_grad: bool, scattered: Any = None
) -> Tensor:
    """`out` with this shape, filled by `draw(generator, shape, type)` in the order of its memory.

    scattered: what draws where that is not contiguous, if it is something else.
    """
    kind = kind_of(name, out, dtype)
    like = sized(out, shape)._array
    check_apart(like)
    where = backend_like(out)
    if like.flags.c_contiguous:
        values = drawn(name, draw, generator, shape, kind, where=where)
    else:
        values = drawn(name, _draw_like, scattered or draw, generator, like, where=where)
    return put(name, out, wrap(values), requires_grad)


def _draw_like(draw: Any, generator: Any, like: np.ndarray) -> np.ndarray:
    return streams.store(dense_like(like), draw(generator, like.shape, like.dtype))


def _creator(name: str, draw: Any, scattered: Any, doc: str) -> Any:
    def f(*args, size=None, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
          pin_memory=False):  # fmt: skip
        if layout is not None or pin_memory:
            check_options(layout, pin_memory)
        if not args and size is None:
            raise _no_match(name, (), ("(tuple of ints size, *, torch.Generator generator = None, " + _OPTIONS,))
        shape = new_shape_from(args if size is None else (shape_keyword(size, name),), name)
        if out is not None:
            return _drawn_into(name, draw, generator, shape, out, dtype, requires_grad, scattered)
        default = dtypes.get_default_dtype()
        kind = default.numpy if dtype is None else numpy_type(dtype, default)
        return _of_shape(name, draw, generator, shape, kind, requires_grad=requires_grad, device=device)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = doc
    return composite()(f)


def _uniform(generator: Any, shape: tuple, kind: np.dtype) -> np.ndarray:
    return (
        _complex(streams.uniform, generator, shape, kind)
        if kind.kind == "c"
        else streams.uniform(generator, shape, kind)
    )


def _normal(generator: Any, shape: tuple, kind: np.dtype, contiguous: bool = True) -> np.ndarray:
    if kind.kind == "c":
        half = np.dtype(np.float32 if kind == np.complex64 else np.float64)
        both = streams.normal(generator, (*shape, 2), half, 0.0, 0.5**0.5, contiguous)
        return both.view(kind).reshape(shape)
    return streams.normal(generator, shape, kind, 0.0, 1.0, contiguous)


def _complex(draw: Any, generator: Any, shape: tuple, kind: np.dtype) -> np.ndarray:
    half = np.dtype(np.float32 if kind == np.complex64 else np.float64)
    return draw(generator, (*shape, 2), half).view(kind).reshape(shape)


rand = _creator(
    "rand",
    _uniform,
    None,
    """A tensor of uniform random numbers in [0, 1).

    Args:
        size: the shape, instead of numbers or one tuple as the first arguments.
        generator: the source of random numbers; the default one of the CPU by default.
        out: the tensor to write the result to.
        dtype: by default the default float type.
    Shape: -> (size)
    Raises:
        RuntimeError: a size is negative, as in `rand(-1)`.
        NotImplementedError: `dtype` is of integers, as in `rand(2, dtype=int64)`.

    >>> _ = manual_seed(0)
    >>> rand(3)
    tensor([0.4963, 0.7682, 0.0885])
    """,
)
randn = _creator(
    "randn",
    _normal,
    partial(_normal, contiguous=False),
    """A tensor of normal random numbers with mean 0 and variance 1.

    Args:
        size: the shape, instead of numbers or one tuple as the first arguments.
        generator: the source of random numbers; the default one of the CPU by default.
        out: the tensor to write the result to.
        dtype: by default the default float type.
    Shape: -> (size)
    Raises:
        RuntimeError: a size is negative, as in `randn(-1)`.
        NotImplementedError: `dtype` is of integers, as in `randn(2, dtype=int64)`.

    >>> _ = manual_seed(0)
    >>> randn(3)
    tensor([ 1.5410, -0.2934, -2.1788])
    """,
)


_OPTIONS = (
    "Tensor out = None, torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, bool pin_memory "
    "= False, bool requires_grad = False)"
)


def _no_match(name: str, given: tuple, forms: tuple[str, ...]) -> TypeError:
    """torch's error for positional arguments that fit none of a function's forms."""
    got = ", ".join(type(v).__name__ for v in given)
    expected = "".join(f"\n * {form}" for form in forms)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:{expected}\n"
    )


def _limits(low: Any, high: Any, size: Any) -> tuple[Any, Any, Any]:
    """low, high and size of randint from its first three arguments: the limit may be one, the size is a sequence."""
    given = low, high, size
    if size is None and isinstance(high, (tuple, list)):
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if not (isinstance(size, (tuple, list)) and hasattr(low, "__index__") and hasattr(high, "__index__")):
        rest = "tuple of ints size, *, torch.Generator generator = None, " + _OPTIONS
        raise _no_match(
            "randint", tuple(v for v in given if v is not None), ("(int high, " + rest, "(int low, int high, " + rest)
        )
    return low, high, size


@composite()
def randint(low=0, high=None, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
            requires_grad=False, pin_memory=False):  # fmt: skip
    """A tensor of random integers in [low, high): `randint(high, size)` or `randint(low, high, size)`.

    Args:
        size: a tuple.
        generator: the source of random numbers; the default one of the CPU by default.
        out: the tensor to write the result to.
        dtype: by default int64.
    Shape: -> (size)
    Raises:
        RuntimeError: low >= high, as in `randint(3, 3, (2,))`.

    >>> _ = manual_seed(0)
    >>> randint(10, (4,))
    tensor([4, 9, 3, 0])
    """
    if layout is not None or pin_memory:
        check_options(layout, pin_memory)
    low, high, size = _limits(low, high, size)
    shape, limits = new_shape_from((size,), "randint"), (int(low), int(high))
    if out is not None:
        draw = partial(streams.randint, low=limits[0], high=limits[1])
        return _drawn_into("randint", draw, generator, shape, out, dtype, requires_grad)
    kind = numpy_type(dtype, dtypes.int64)
    return _of_shape(
        "randint", streams.randint, generator, shape, kind, *limits, requires_grad=requires_grad, device=device
    )


@composite()
def randperm(
    n, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """A random order of the integers 0 ... n - 1.

    Args:
        generator: the source of random numbers; the default one of the CPU by default.
        out: the tensor to write the result to.
        dtype: by default int64.
    Shape: -> (n)
    Raises:
        RuntimeError: `n` is negative, as in `randperm(-1)`.

    >>> _ = manual_seed(0)
    >>> randperm(4)
    tensor([0, 1, 3, 2])
    """
    check_options(layout, pin_memory)
    where = backend_for(device) if out is None else backend_like(out)
    n = index(n)
    kind = numpy_type(dtype, dtypes.int64) if out is None else kind_of("randperm", out, dtype)
    values = drawn("randperm", streams.randperm, generator, n, kind, where=where)
    return (
        fresh(values, requires_grad) if out is None else put("randperm", sized(out, (n,)), wrap(values), requires_grad)
    )


def _like(name: str, draw: Any, scattered: Any) -> None:
    """The operator `name`: `draw` into contiguous memory, `scattered` into any other."""

    def f(
        input,
        *,
        dtype=None,
        layout=None,
        device=None,
        requires_grad=False,
        memory_format=None,
        generator=None,
        pin_memory=False,
    ):
        check_options(layout, pin_memory)
        if not isinstance(input, Tensor):
            raise argument_type(name, "input", 1, input)
        kind = numpy_type(dtype, input.dtype)
        if type(input._array) is Wrapper:
            return by_class(name, input, dtype=dtype, requires_grad=requires_grad)
        of_batch = getattr(input, "_drawn_like", None)
        if of_batch is not None:
            return of_batch(lambda t: f(t, dtype=dtype, requires_grad=requires_grad, generator=generator))
        where = backend_like(input, device)
        out = arranged(made_like(dense_like, input._array, kind, device), memory_format)
        is_contiguous = out.flags.c_contiguous
        if is_contiguous and 1 not in out.shape:
            return fresh(drawn(name, draw, generator, out.shape, kind, where=where), requires_grad)
        how = draw if is_contiguous else scattered  # along dimensions of one element the strides may still be others
        return fresh(drawn(name, _draw_like, how, generator, out, where=where), requires_grad)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"""`{name[:-5]}` in the shape and type of `input`.

    Args:
        dtype: by default the type of `input`.
        memory_format: the order in memory; by default that of `input`.
        generator: the source of random numbers; the default one of the CPU by default.
    Shape: (*) -> (*)
    Raises:
        TypeError: `input` is not a tensor, as in `{name}([1.0, 2.0])`.
        NotImplementedError: the type is of integers, as in `{name}(tensor([1, 2]))`.

    >>> {name}(zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    composite()(f)


_like("rand_like", _uniform, _uniform)
_like("randn_like", _normal, partial(_normal, contiguous=False))


@composite()
def randint_like(
    input, low=0, high=None, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False,
    memory_format=None,
):  # fmt: skip
    """`randint` in the shape and type of `input`.

    Args:
        low: 0 by default, where only the upper limit is given.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: low >= high, as in `randint_like(ones(2), 3, 3)`.

    >>> _ = manual_seed(0)
    >>> randint_like(ones(3), 10)
    tensor([4., 9., 3.])
    """
    check_options(layout, False)
    if high is None:
        low, high = 0, low
    kind = numpy_type(dtype, input.dtype)
    if hasattr(input, "_drawn_like"):  # a batch
        return input._drawn_like(lambda t: randint_like(t, low, high, dtype=dtype, requires_grad=requires_grad))
    out = arranged(made_like(dense_like, input._array, kind, device), memory_format)
    draw = partial(streams.randint, low=int(low), high=int(high))
    where = backend_like(input, device)
    return fresh(drawn("randint_like", _draw_like, draw, generator, out, where=where), requires_grad)


# ---------------------------------------------------------------------------------------------- by parameters


def _drawn(name: str, kernel: Any, node: str | None = None) -> Any:
    """An operator that draws by an array of parameters. Its gradient is zero, as in torch."""
    op = primitive(name=name, public=False, node=node, draws="data")(kernel)
    op.vjp(lambda g: g * 0)
    return op


_bernoulli = _drawn("bernoulli", lambda input, /, generator: streams.bernoulli_of(generator, input))
_bernoulli_p = primitive(name="bernoulli.p", public=False, node="NotImplemented", draws="data")(
    lambda input, /, p, generator: streams.bernoulli(generator, input.shape, input.dtype, p)
)
_poisson = _drawn("poisson", lambda input, /, generator: streams.poisson(generator, input))


@composite(method=True)
def bernoulli(input, p=None, *, generator=None, out=None):
    """Ones with the probabilities in `input`, zeros elsewhere.

    Args:
        p: one probability for all; then `input` only gives the shape and type.
        generator: the source of random numbers; the default one of the CPU by default.
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: a probability is outside [0, 1], as in `bernoulli(tensor([2.0]))`.
        NotImplementedError: `input` is of integers, as in `bernoulli(tensor([1]))`.

    >>> bernoulli(tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    if out is not None:
        kind_of("bernoulli", out)
        return sized(out, input._array.shape).bernoulli_(input if p is None else p, generator=generator)
    return _bernoulli(input, generator) if p is None else _bernoulli_p(input, p, generator)


@composite()
def poisson(input, generator=None):
    """Poisson counts with the rates in `input`, in its type.

    Args:
        generator: the source of random numbers; the default one of the CPU by default.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: a rate is negative, as in `poisson(tensor([-1.0]))`.

    >>> poisson(tensor([0.0, 0.0]))
    tensor([0., 0.])
    """
    return _poisson(input, generator)


@primitive(name="binomial", public=False, differentiable=False, draws="data")
def _binomial(count, prob, /, generator):
    return streams.binomial(generator, count, prob)


@composite()
def binomial(count, prob, generator=None):
    """Binomial counts of `count` trials with probability `prob`, in the type of `count`.

    Args:
        generator: the source of random numbers; the default one of the CPU by default.
    Shape: (*), (*) -> (*), broadcast

    >>> binomial(tensor([5.0, 5.0]), tensor([0.0, 1.0]))
    tensor([0., 5.])
    """
    return _binomial(count, prob, generator)


@primitive(name="multinomial", public=False, differentiable=False, draws="data")
def _multinomial(input, /, num_samples, replacement, generator):
    return streams.multinomial(generator, input, num_samples, replacement)


@composite(method=True)
def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
    """`num_samples` column indices for each row of weights.

    Args:
        input: weights, not negative; they need not add up to 1.
        replacement: whether an index may be drawn twice.
        generator: the source of random numbers; the default one of the CPU by default.
        out: the tensor to write the result to.
    Shape: (N, C) -> (N, num_samples) int64; (C) -> (num_samples)
    Raises:
        RuntimeError: a weight is negative, as in `multinomial(tensor([-1.0, 1.0]), 1)`.
        RuntimeError: there are too few to draw without replacement, as in `multinomial(ones(2), 3)`.

    >>> multinomial(tensor([0.0, 1.0, 0.0]), 1)
    tensor([1])
    """
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {type_word(out.dtype)}")
    result = _multinomial(input, num_samples, replacement, generator)
    return result if out is None else put("multinomial", sized(out, result._array.shape), result)


@composite(name="normal")
def normal(mean=0.0, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
           requires_grad=False, pin_memory=False):  # fmt: skip
    """Normal random numbers: means and deviations from tensors or numbers, or numbers and a `size`.

    Args:
        mean: a tensor or a number.
        std: a tensor, broadcast against `mean`, or a number.
        size: the shape, where both are numbers.
        generator: the source of random numbers; the default one of the CPU by default.
        out: the tensor to write the result to.
    Shape: (*), (*) -> (*), broadcast
    Raises:
        RuntimeError: a deviation is negative, as in `normal(zeros(2), -1.0)`.

    >>> normal(tensor([1.0, 2.0]), tensor([0.0, 0.0]))
    tensor([1., 2.])
    """
    check_options(layout, pin_memory)
    if size is not None:
        shape = new_shape_from((shape_keyword(size, "normal"),), "normal")
        moments = float_of("normal", "mean", mean), float_of("normal", "std", std)
        if out is not None:
            draw = partial(streams.normal, mean=moments[0], std=moments[1])
            scattered = partial(draw, contiguous=False)
            return _drawn_into("normal", draw, generator, shape, out, dtype, requires_grad, scattered)
        kind = numpy_type(dtype, dtypes.get_default_dtype())
        t = _of_shape(
            "normal", streams.normal, generator, shape, kind, *moments, requires_grad=requires_grad, device=device
        )
    elif out is not None:
        return _normal_into(out, mean, std, generator)
    elif isinstance(mean, Tensor) and isinstance(std, Tensor):
        t = _normal_both(mean, std, generator)
    elif isinstance(mean, Tensor):
        t = _normal_mean(mean, std, generator)
    elif isinstance(std, Tensor):
        t = _normal_std(std, mean, generator)
    else:
        raise type_error("normal() received numbers for mean and std and no size: give size=, or a tensor")
    return t


def _normal_into(out: Any, mean: Any, std: Any, generator: Any) -> Tensor:
    """`normal` of tensors into `out`: drawn in its memory, then scaled and moved."""
    kind_of("normal", out)
    shape = np.broadcast_shapes(*(t._array.shape for t in (mean, std) if isinstance(t, Tensor)))
    if isinstance(std, Tensor) and not bool((std._array >= 0).all()):
        raise RuntimeError("normal expects all elements of std >= 0.0")
    if out._array.shape != shape:
        resize_out(out, run_on(backend_like(out), np.empty, shape, out._array.dtype))
    out.normal_(0.0, 1.0 if isinstance(std, Tensor) else std, generator=generator)
    if isinstance(std, Tensor):
        out.mul_(std)
    return out.add_(mean)


_normal_mean = _drawn(
    "normal.mean", lambda input, /, std, generator: streams.normal_of(generator, input, std), "NormalBackward1"
)
_normal_std = _drawn(
    "normal.std", lambda input, /, mean, generator: streams.normal_of(generator, mean, input), "NormalBackward2"
)


@primitive(name="normal.both", public=False, node="NormalBackward3", draws="data")
def _normal_both(mean, std, /, generator):
    return streams.normal_of(generator, mean, std)


@_normal_both.vjp
def _(g):
    return g * 0, g * 0


# ---------------------------------------------------------------------------------------------- in place


def _filler(name: str, node: str, draw: Any, doc: str) -> Any:
    """The method `name`, which overwrites the tensor with draws."""
    history = primitive(name=name, public=False, node=node)(lambda input, /: input)
    history.vjp(lambda g: g * 0)

    def f(self, *args, generator=None, **kwargs):
        a = self._array
        check_writable(self, thread.state)  # before the generator goes on
        if name != "bernoulli_":
            args, kwargs = tuple(map(_number, args)), {k: _number(v) for k, v in kwargs.items()}
        values = drawn(name, _fill, draw, generator, a, args, kwargs, where=backend_like(self))
        return write_values(self, values, (), lambda: history_node(history, (self._edge,)))

    f.__name__, f.__doc__ = name, doc
    return composite(method=True, function=False)(f)


def _number(value: Any) -> Any:
    """An argument, as Python's number where it is a tensor without dimensions."""
    return value.item() if isinstance(value, Tensor) and not value._array.ndim else value


def _fill(draw: Any, generator: Any, a: np.ndarray, args: tuple, kwargs: dict) -> np.ndarray:
    """Draws in the layout of `a`; where its elements share places, in the order in which torch goes through them."""
    p = args[0] if args else kwargs.get("p")
    of_each = isinstance(p, Tensor)  # a probability for each element
    if shares_places(a) or (of_each and not a.flags.c_contiguous):
        order = innermost_first(a.shape, [a.strides])[::-1]
        if isinstance(p, Tensor):
            args, kwargs = (p.expand(a.shape).permute(order), *args[1:]), {k: v for k, v in kwargs.items() if k != "p"}
        return draw(generator, a.transpose(order), *args, **kwargs).transpose(np.argsort(order))
    values = draw(generator, a, *args, **kwargs)
    return values if a.flags.c_contiguous else streams.store(dense_like(a), values)


def _draw_normal(generator, a, mean=0.0, std=1.0):
    if a.dtype.kind == "c":  # torch moves both parts
        draws = _normal(generator, a.shape, a.dtype, a.flags.c_contiguous)
        return draws if (mean, std) == (0.0, 1.0) else draws * std + complex(mean, mean)
    moments = float_of("normal_", "mean", mean), float_of("normal_", "std", std)
    return streams.normal(generator, a.shape, a.dtype, *moments, contiguous=a.flags.c_contiguous)


def _draw_random(generator, a, *args, **named):
    if len(args) > 2 or not set(named) <= {"from", "to"}:
        raise type_error(f"random_() received an invalid combination of arguments - got {(*args, *named)}")
    from_, to = [*args, *(named[n] for n in ("from", "to") if n in named), None, None][:2]
    if args and args[0] is None or isinstance(from_, np.bool_) or isinstance(to, np.bool_):
        got = ", ".join(map(type_name, args))
        raise type_error(f"random_() received an invalid combination of arguments - got ({got}), but expected integers")
    if to is None and from_ is not None and "from" not in named and len(args) < 2:  # (0, None) has no upper bound
        from_, to = 0, from_
    return streams.random_(generator, a.shape, a.dtype, from_, to)


def _draw_uniform(generator, a, from_=0.0, to=1.0, **named):
    from_ = named.pop("from", from_)
    if named:
        raise type_error(f"uniform_() got an unexpected keyword argument '{next(iter(named))}'")
    return streams.uniform(
        generator, a.shape, a.dtype, float_of("uniform_", "from", from_), float_of("uniform_", "to", to)
    )


def _draw_bernoulli(generator, a, p=0.5):
    if isinstance(p, Tensor):
        # `expand` raises where it does not fit
        return streams.bernoulli_of(generator, p.expand(a.shape)._array, a.dtype, a.shape)
    return streams.bernoulli(generator, a.shape, a.dtype, p)


_filler("uniform_", "UniformBackward0", _draw_uniform, "Overwrite with uniform random numbers in [from, to).")
_filler("normal_", "NormalBackward0", _draw_normal, "Overwrite with normal random numbers.")
_filler("random_", "RandomBackward2", _draw_random, "Overwrite with random integers in [from, to).")
_filler("bernoulli_", "BernoulliBackward2", _draw_bernoulli, "Overwrite with ones of probability `p`, zeros elsewhere.")
_filler("exponential_", "ExponentialBackward0", lambda gen, a, lambd=1.0: streams.exponential(gen, a.shape, a.dtype, lambd),
        "Overwrite with exponentially distributed numbers of rate `lambd`.")  # fmt: skip
_filler("geometric_", "GeometricBackward0", lambda gen, a, p: streams.geometric(gen, a.shape, a.dtype, p),
        "Overwrite with numbers of trials up to the first success of probability `p`.")  # fmt: skip
_filler("cauchy_", "CauchyBackward0", lambda gen, a, median=0.0, sigma=1.0: streams.cauchy(gen, a.shape, a.dtype, median, sigma),
        "Overwrite with Cauchy distributed numbers.")  # fmt: skip
_filler("log_normal_", "LogNormalBackward0", lambda gen, a, mean=1.0, std=2.0: streams.log_normal(gen, a.shape, a.dtype, mean, std),
        "Overwrite with numbers whose logarithm is normal.")  # fmt: skip

# ---------------------------------------------------------------------------------------------- the generator's state


def get_rng_state():
    """The default generator's state, a uint8 tensor in torch's layout."""
    return wrap(streams.default_generator.state_bytes())


def set_rng_state(new_state):
    """Set the default generator's state."""
    streams.default_generator.set_state(new_state)
