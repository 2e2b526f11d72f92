"""`__torch_dispatch__`: tensors that wrap others, and modes, beside the operators alone. In a process of their own for modes:

functions that were ever asked for ask from then on.
"""

import subprocess
import sys
import textwrap

import pytest

import rushlight as torch
from rushlight.compile.install import install_native
from rushlight.core.random import manual_seed
from rushlight.nn import functional as F
from rushlight.testing.samples import SAMPLES, function_of, samples_of
from rushlight.testing.suite import _gradients, _replaced, _weights, results_of, tensors_in
from rushlight.utils._python_dispatch import TorchDispatchMode
from rushlight.utils._pytree import tree_map

NAMES = [name for name in SAMPLES if function_of(name) is not None]

# What needs the elements, or a write with a history: a class is not asked, and the call is refused
REFUSED = {
    "multi_margin_loss", "lstm", "gru", "rnn_tanh", "rnn_relu", "fill", "as_strided",
    "as_strided_copy", "repeat_interleave", "Tensor.__getitem__", "select_scatter", "slice_scatter", "diagonal_scatter",
}  # fmt: skip


class Wrapped(torch.Tensor):
    """Holds another tensor, on which every operator runs."""

    __torch_function__ = staticmethod(torch._C._disabled_torch_function_impl)

    @staticmethod
    def __new__(cls, elem, requires_grad=False):
        options = {"dtype": elem.dtype, "strides": elem.stride(), "requires_grad": requires_grad}
        return torch.Tensor._make_wrapper_subclass(cls, elem.size(), **options)

    def __init__(self, elem, requires_grad=False):
        self.elem = elem

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        result = func(*tree_map(bare, args), **tree_map(bare, kwargs or {}))
        return tree_map(lambda t: cls(t) if type(t) is torch.Tensor else t, result)


def bare(t):
    return t.elem if isinstance(t, Wrapped) else t


class Passing(TorchDispatchMode):
    """Calls each operator as it is, and keeps the names."""

    def __init__(self):
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def alike(a, b):
    for x, y in zip(a, b, strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            assert x.dtype == y.dtype
            assert x.shape == y.shape
            assert torch.allclose(x.detach(), y.detach(), 1e-9, 1e-9, equal_nan=True)


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
@pytest.mark.parametrize("name", NAMES)
def test_wrapped(name):
    refused = 0
    for sample in samples_of(name):
        here, there = sample.make(grad=True), sample.make(grad=True)
        there = _replaced(there, (Wrapped(t.detach(), t.requires_grad) for t in tensors_in(list(there))))
        manual_seed(0)
        expected = results_of(name, *here)
        manual_seed(0)
        try:
            found = results_of(name, *there)
            alike(expected, [bare(t) for t in found])
            assert [t.requires_grad for t in expected] == [t.requires_grad for t in found]
            leaves = [[t for t in tensors_in(list(given)) if t.requires_grad] for given in (here, there)]
            if leaves[0] and any(t.requires_grad for t in expected):
                weights = [None if w is None else Wrapped(w) for w in _weights(expected)]
                grads = _gradients(found, leaves[1], weights)
                alike(_gradients(expected, leaves[0], _weights(expected)), [bare(g) for g in grads])
        except NotImplementedError as error:
            if name not in REFUSED:
                raise
            assert "wraps other tensors" in str(error)
            refused += 1
    assert bool(refused) == (name in REFUSED)


def test_wrapped_where_pools_are_generated_code():
    """They took the address of a placeholder, and gave what was in the memory."""
    install_native()
    x = torch.arange(32.0).reshape(1, 2, 4, 4)
    for pool in F.avg_pool2d, F.max_pool2d, F.adaptive_avg_pool2d:
        found = pool(Wrapped(x), 2)
        assert type(found) is Wrapped
        assert found.elem.tolist() == pool(x, 2).tolist()


def test_in_a_mode():
    """Every sample of every operator, with its gradient, as without the mode."""
    done = run(
        """
        sys.path.insert(0, "tests")
        from core.test_torch_dispatch import *
        from core.test_torch_dispatch import _gradients, _weights

        for name in NAMES:
            for sample in samples_of(name):
                here, there = sample.make(grad=True), sample.make(grad=True)
                manual_seed(0)
                expected = results_of(name, *here)
                manual_seed(0)
                with Passing() as mode:
                    found = results_of(name, *there)
                try:
                    alike(expected, found)
                    assert [t.requires_grad for t in expected] == [t.requires_grad for t in found]
                    leaves = [[t for t in tensors_in(list(given)) if t.requires_grad] for given in (here, there)]
                    if leaves[0] and any(t.requires_grad for t in expected):
                        with mode:
                            grads = _gradients(found, leaves[1], _weights(found))
                        alike(_gradients(expected, leaves[0], _weights(expected)), grads)
                except AssertionError:
                    print(name, repr(sample), mode.seen)
        """
    )
    assert done == ""


PROGRAMS = {
    "what a mode sees": (
        """
        class Log(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                print(func)
                return func(*args, **(kwargs or {}))

        w = torch.ones(5, 4, requires_grad=True)
        with Log():
            x = torch.zeros(3, 4)
            y = torch.nn.functional.linear(x, w).relu().sum(1).add_(1)
            y[1:].detach()
        """,
        "zeros.default t.default mm.default relu.default sum.dim_IntList add_.Tensor slice.Tensor detach.default",
    ),
    "one mode in another": (
        """
        class Named(TorchDispatchMode):
            def __init__(self, name):
                self.name = name

            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                print(f"aten.{self.name}.{func}".replace("aten.", ""))
                return func(*args, **(kwargs or {}))

        with Named("outer"), Named("inner"):
            torch.ones(2).exp()
        """,
        "inner.ones.default outer.ones.default inner.exp.default outer.exp.default",
    ),
    "a mode that computes something else": (
        """
        class AddsInstead(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                if func is torch.ops.aten.mul.Tensor:
                    func = torch.ops.aten.add.Tensor
                return func(*args, **(kwargs or {}))

        x = torch.tensor([3.0])
        with AddsInstead():
            print("aten.", int((x * x).item()))
        print("aten.", int((x * x).item()))
        """,
        " 6  9",
    ),
    "an error leaves no mode behind": (
        """
        class Fails(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                raise ValueError("no")

        x = torch.ones(2)
        try:
            with Fails():
                x + 1
        except ValueError:
            pass
        assert (x + 1).tolist() == [2, 2]
        print("aten.done")
        """,
        "done",
    ),
}


@pytest.mark.parametrize("program, said", PROGRAMS.values(), ids=PROGRAMS)
def test_programs(program, said):
    assert run(program).replace("aten.", "").split() == said.split()


def run(program):
    start = """
import sys
from rushlight.alias import install
install()
import torch
from torch.utils._python_dispatch import TorchDispatchMode
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", start + textwrap.dedent(program)], capture_output=True, text=True
    )
    assert not done.stderr
    return done.stdout


# ------------------------------------------------------------------------------------------ wrappers


def test_batch_norm_moves_its_statistics():
    x = torch.arange(12.0).view(2, 3, 2)
    wrapped, plain = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3)
    torch.testing.assert_close(wrapped(Wrapped(x)).elem, plain(x))
    torch.testing.assert_close(wrapped.running_mean, plain.running_mean)
    torch.testing.assert_close(wrapped.running_var, plain.running_var)


def test_a_wrapper_is_a_leaf_whose_gradient_is_one():
    x = Wrapped(torch.tensor([1.0, 2.0]), True)
    assert x.is_leaf
    for _ in range(2):
        (x * 3).sum().backward()
    assert type(x.grad) is Wrapped
    assert x.grad.elem.tolist() == [6, 6]
    assert (x * x).grad_fn.name() == "MulBackward0"


def test_a_parameter_keeps_its_class():
    p = torch.nn.Parameter(Wrapped(torch.ones(2, 3)))
    assert type(p) is Wrapped
    assert isinstance(p, torch.nn.Parameter)
    module = torch.nn.Linear(3, 2, bias=False)
    module.weight = p
    module(torch.ones(1, 3)).sum().backward()
    assert p.grad.elem.tolist() == [[1, 1, 1], [1, 1, 1]]
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    optimizer.step()
    assert p.elem.tolist() == [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]


def test_writes():
    x = Wrapped(torch.ones(3))
    x.add_(1).mul_(2)
    x[0].fill_(9)
    assert x.elem.tolist() == [9, 4, 4]
    x.copy_(torch.zeros(3))
    assert x.elem.tolist() == [0, 0, 0]
    y = Wrapped(torch.ones(3), True) * 1
    with pytest.raises(NotImplementedError, match=r"add_\(\) of Wrapped, which wraps other tensors"):
        y.add_(1)


def test_what_is_refused():
    class NoDispatch(torch.Tensor):
        pass

    with pytest.raises(RuntimeError, match="must define __torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(NoDispatch, (2,))

    class Says(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(
        TypeError, match=r"torch\._ops\.aten\.exp\.default.*all __torch_dispatch__ handlers returned NotImplemented"
    ):
        Says(torch.ones(2)).exp()


def test_swapped_parameters():
    from rushlight.torch import __future__ as future

    module = torch.nn.Linear(2, 2)
    weight, before = module.weight, id(module.weight)
    future.set_swap_module_params_on_conversion(True)
    try:
        module.double()
        assert id(module.weight) == before
        assert weight.dtype == torch.float64
        module.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.zeros(2)}, assign=True)
        assert weight.tolist() == [[1, 1], [1, 1]]
        assert weight.dtype == torch.float32
    finally:
        future.set_swap_module_params_on_conversion(False)
    future.set_overwrite_module_params_on_conversion(True)
    try:
        module.double()
        assert module.weight is not weight
    finally:
        future.set_overwrite_module_params_on_conversion(False)


def test_casts_to_the_same_type_and_python_values():
    wrapped = Wrapped(torch.ones(2))
    assert (
        wrapped.float() is wrapped and wrapped.to(torch.float32) is wrapped and wrapped.double().dtype is torch.float64
    )
    sparse = torch.ones(2).to_sparse()
    assert sparse.float() is sparse
    with pytest.raises(RuntimeError, match=r"\.numpy\(\) is not supported for tensor subclasses"):
        wrapped.numpy()
    with pytest.raises(RuntimeError, match=r"\.tolist\(\) is not supported for tensor subclasses, got Wrapped"):
        wrapped.tolist()


def test_overloads_tell_their_schema():
    from rushlight.core.dispatch.aten import OpOverload, OpOverloadPacket, operator

    add = operator("add_").Tensor
    assert (
        type(add) is OpOverload
        and type(add.overloadpacket) is OpOverloadPacket
        and repr(OpOverload)[8:18] == "torch._ops"
    )
    schema = add._schema
    assert (schema.name, schema.overload_name, schema.is_mutable) == ("aten::add_", "Tensor", True)
    assert [(a.name, a.type, a.default_value, a.kwarg_only) for a in schema.arguments] == [
        ("self", "Tensor", None, False), ("other", "Tensor", None, False), ("alpha", "number", 1, True),
    ]  # fmt: skip
    assert schema.arguments[0].alias_info.is_write and schema.arguments[1].alias_info is None
    assert str(schema) == "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"
    assert operator("view").default.is_view and not operator("relu").default.is_view
    assert operator("_rushlight_native_batch_norm").default._schema.name == "aten::_rushlight_native_batch_norm"


class Opened(torch.Tensor):
    """A wrapper whose operators give plain tensors."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return func(*tree_map(lambda a: a.inner if isinstance(a, Opened) else a, args), **(kwargs or {}))


class Watched(Opened):
    called = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.called.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})


@pytest.mark.parametrize(
    "function",
    [
        torch.relu,
        lambda t: t + t,
        lambda t: t < 0,
        lambda t: torch.cat([t, t]),
        lambda t: t.split(1)[0],
        lambda t: t.max(0).values,
        lambda t: t.sum(),
        lambda t: t @ t,
        lambda t: torch.ones(2, 2) - t,
        torch.nn.functional.gelu,
    ],
)
def test_what_a_class_returns_keeps_its_type(function):
    plain = torch.arange(4.0).reshape(2, 2) - 1
    for kind in (Opened, Watched):  # as torch: a class with `__torch_dispatch__` does not convert results
        result = function(kind(plain))
        assert type(result) is torch.Tensor and torch.equal(result, function(plain))
    assert Opened.__torch_function__ is torch._C._disabled_torch_function_impl and Watched.called
