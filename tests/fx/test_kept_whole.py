"""Functions that are kept whole while a graph is traced, and tracers outside that bring their own `trace`."""

import math
from math import sqrt
from types import FunctionType

import pytest

import rushlight as torch
from rushlight import fx, nn
from rushlight.fx import _symbolic_trace as inner


class Scaled(nn.Module):
    def forward(self, x):
        return x / sqrt(x.shape[1])


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.scaled = Scaled()

    def forward(self, x):
        return self.scaled(x) * sqrt(x.size(0)) + math.cos(x.size(1))


class Deep(fx.Tracer):
    def is_leaf_module(self, m, path):
        return False


def test_a_function_of_math_by_its_own_name_is_a_node():
    graph = Deep().trace(Two())
    assert [n.target for n in graph.nodes if n.op == "call_function"][:3] == [
        getattr,
        __import__("operator").getitem,
        math.sqrt,
    ]
    module = fx.GraphModule(Two(), graph)
    assert 'torch.fx._symbolic_trace.wrap("math_sqrt")' in module.code
    x = torch.ones(4, 9)
    assert torch.equal(module(x), Two()(x))
    assert sqrt is math.sqrt and sqrt(4) == 2  # put back


def test_a_module_in_another_file_has_its_functions_kept_whole():
    space = {"nn": nn, "sqrt": sqrt, "__name__": "elsewhere"}
    exec("class Inner(nn.Module):\n    def forward(self, x):\n        return x * sqrt(x.size(0))", space)

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = space["Inner"]()

        def forward(self, x):
            return self.inner(x)

    graph = Deep().trace(Outer())
    assert math.sqrt in [n.target for n in graph.nodes]
    assert space["sqrt"] is sqrt


class Copied(fx.Tracer):
    """`trace` as libraries copy it from torch (torch-geometric's `to_hetero`), by its inner functions."""

    def is_leaf_module(self, m, path):
        return True

    @inner.compatibility(is_backward_compatible=True)
    def trace(self, root, concrete_args=None):
        self.root, fn = root, type(root).forward
        self.graph = fx.Graph(tracer_cls=type(self))
        self.tensor_attrs = {}
        assert isinstance(fn, inner.FunctionType) and not isinstance(root, inner.ScriptObject)
        spaces = fn.__globals__
        fn, args = self.create_args_for_root(fn, True, concrete_args)
        parameters: dict[str, inner.Proxy] = {}

        @inner.functools.wraps(inner._orig_module_getattr)
        def attribute(module, name):
            return self.getattr(name, inner._orig_module_getattr(module, name), parameters)

        @inner.functools.wraps(inner._orig_module_call)
        def call(module, *args, **kwargs):
            inner._autowrap_check(patcher, module.forward.__globals__, self._autowrap_function_ids)
            forward = lambda *a, **k: inner._orig_module_call(module, *a, **k)  # noqa: E731
            return self.call_module(module, forward, args, kwargs)

        with inner._Patcher() as patcher:
            patcher.patch_method(nn.Module, "__getattr__", attribute, deduplicate=False)
            patcher.patch_method(nn.Module, "__call__", call, deduplicate=False)
            inner._patch_wrapped_functions(patcher)
            inner._autowrap_check(patcher, spaces, self._autowrap_function_ids)
            for module in self._autowrap_search:
                inner._autowrap_check(patcher, module.__dict__, self._autowrap_function_ids)
            self.create_node("output", "output", (self.create_arg(fn(*args)),), {})
        return self.graph


def test_a_tracer_with_a_copy_of_trace():
    before = nn.Module.__call__, nn.Module.__getattr__
    module = fx.GraphModule(Two(), Copied().trace(Two()))
    assert [n.target for n in module.graph.nodes if n.op == "call_module"] == ["scaled"]
    assert torch.equal(module(torch.ones(4, 9)), Two()(torch.ones(4, 9)))
    assert (nn.Module.__call__, nn.Module.__getattr__) == before
    assert isinstance(Two.forward, FunctionType)


def test_the_traced_function_may_have_another_name():
    class Other(nn.Module):
        def twice(self, x, *, times=2):
            return x * times

    class OfTwice(fx.Tracer):
        traced_func_name = "twice"

    assert [n.name for n in OfTwice().trace(Other()).nodes] == ["x", "times", "mul", "output"]


def test_a_patcher_puts_back_in_reverse_order_and_leaves_what_is_replaced():
    space = {"f": abs}
    with inner._Patcher() as patcher:
        patcher.patch(space, "f", lambda: 1)
        patcher.patch(space, "f", lambda: 2)  # replaced already
        patcher.patch(space, "len", lambda x: -1)
        assert space["f"]() == 1 and space["len"]([]) == -1
        assert patcher.visit_once(space) and not patcher.visit_once(space)
        with pytest.raises(KeyError):
            patcher.patch(space, "no_such_name", lambda: 0)
    assert space == {"f": abs}
