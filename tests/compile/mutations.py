"""Random training steps of which something of Python changes between two calls, compiled against eager.

    python tests/compile/mutations.py --count 10000 --seed 0
    python tests/compile/mutations.py --unmodified --count 1000
    python tests/compile/mutations.py --modules --count 1000

A step is put together from pieces, each of which reads something: a module, an optimizer, a hook, an object, a container,
a closure, a class. A piece knows some mutations of what it reads. Between the calls one to three of them happen. After
each call the result, the parameters, their gradients and the optimizer's state have to be those of the same step run
eagerly, or the same error has to come. With `--modules` the pieces are the forward of a module, whose calls become programs
without being asked, in a loop that is not compiled. Programs run with the kernels of eager
calls (`Interpreter`), so that nothing hides behind rounding; `--native` runs them as users do, and compares three digits.
Functions that run eagerly after a warning count as equal; how many do is printed.
"""

from __future__ import annotations

import argparse
import array
import collections
import dataclasses
import enum
import functools
import random
import sys
import types
import warnings
import weakref
from collections.abc import Callable

import numpy as np

import rushlight as torch
from rushlight import nn
from rushlight.compile.jit import module_calls
from rushlight.compile.jit import step as steps
from rushlight.compile.runtime.interpret import Interpreter
from rushlight.core.dispatch.extension_points import module_caller
from rushlight.core.jit_switch import jit
from rushlight.nn import functional as F

Mutation = Callable[[], object]
PIECES: dict[str, Callable] = {}


def piece(f):
    PIECES[f.__name__.rstrip("_")] = f
    return f


def setter(o, **values):
    """A mutation that sets attributes."""
    return lambda: [setattr(o, k, v) for k, v in values.items()]


# ---------------------------------------------------------------------------------------------- modules


@piece
def sequential(w):
    net = w.module(nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6)))

    def change_last():
        net[-1] = w.seeded(lambda: nn.Linear(6, 6))

    def drop():
        del net[1]

    return net, {
        "replace activation": lambda: net.__setitem__(1, nn.Sigmoid()),
        "replace linear": change_last,
        "append": lambda: net.append(nn.Sigmoid()),
        "insert": lambda: net.insert(1, nn.ReLU()),
        "delete": drop,
        "parameter replaced": lambda: setattr(net[0], "weight", nn.Parameter(torch.eye(6))),
        "parameter data": lambda: setattr(net[0].weight, "data", torch.eye(6)),
        "parameter frozen": lambda: net[0].weight.requires_grad_(False),
        "bias removed": lambda: setattr(net[0], "bias", None),
        "tied": lambda: setattr(net[-1], "weight", net[0].weight),
        "forward of one": lambda: setattr(net[1], "forward", lambda x: x * 0.5),
        "class of one": lambda: setattr(net[1], "__class__", nn.Sigmoid),
        "by its table": lambda: net._modules.__setitem__("1", nn.Softsign()),
    }


@piece
def dropout(w):
    m = w.module(nn.Dropout(0.3))
    return m, {"p": setter(m, p=0.8), "eval": m.eval, "p zero": setter(m, p=0.0), "inplace": setter(m, inplace=True)}


@piece
def batch_norm(w):
    m = w.module(nn.BatchNorm1d(6))

    def apply(h):
        return m(h)

    return apply, {
        "momentum": setter(m, momentum=0.9),
        "eps": setter(m, eps=0.5),
        "eval": m.eval,
        "track": setter(m, track_running_stats=False),
        "buffer": lambda: setattr(m, "running_mean", torch.full((6,), 2.0)),
        "buffer in place": lambda: m.running_var.fill_(3.0),
        "reset": m.reset_running_stats,
        "affine weight": lambda: m.weight.data.mul_(2.0),
    }


@piece
def leaky(w):
    m = nn.LeakyReLU(0.1)
    return m, {"slope": setter(m, negative_slope=0.7), "inf": setter(m, negative_slope=-1.0)}


@piece
def group_norm(w):
    m = w.module(nn.GroupNorm(2, 6))
    return m, {
        "groups": setter(m, num_groups=3),
        "eps": setter(m, eps=1.0),
        "weight": lambda: setattr(m, "weight", None),
    }


@piece
def conv(w):
    m = w.module(nn.Conv1d(1, 1, 3, padding=1))

    def apply(h):
        return m(h.unsqueeze(1)).squeeze(1)

    return apply, {
        "dilation": setter(m, dilation=(2,), padding=(2,)),
        "mode": lambda: setattr(m, "padding_mode", "circular"),
        "bias": lambda: setattr(m, "bias", None),
    }


@piece
def module_list(w):
    ms = w.module(nn.ModuleList([nn.Linear(6, 6), nn.Linear(6, 6)]))

    def apply(h):
        for m in ms:
            h = torch.tanh(m(h))
        return h

    return apply, {
        "append": lambda: ms.append(w.seeded(lambda: nn.Linear(6, 6))),
        "pop": lambda: ms.pop(-1),
        "reverse": lambda: ms.__setitem__(0, ms[1]),
    }


@piece
def module_dict(w):
    ms = w.module(nn.ModuleDict({"a": nn.Linear(6, 6), "b": nn.Tanh()}))
    use = {"key": "a"}

    def apply(h):
        return ms[use["key"]](h)

    return apply, {
        "key": lambda: use.update(key="b"),
        "update": lambda: ms.update({"a": nn.Softsign()}),
        "pop": lambda: (ms.pop("a"), ms.update({"a": nn.Sigmoid()})),
    }


@piece
def parameter_list(w):
    ps = w.module(nn.ParameterList([nn.Parameter(torch.ones(6)), nn.Parameter(torch.full((6,), 0.5))]))

    def apply(h):
        for p in ps:
            h = h * p
        return h

    return apply, {
        "append": lambda: ps.append(nn.Parameter(torch.full((6,), 2.0))),
        "set": lambda: ps.__setitem__(0, nn.Parameter(torch.zeros(6))),
    }


class Scaled(nn.Module):
    factor = 1.0

    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(6))
        self.offset = 0.5
        self.steps = [1.0, 2.0]
        self.act = torch.tanh
        self.register_buffer("shift", torch.zeros(6))

    def helper(self, h):
        return h * self.factor

    def forward(self, h):
        return self.helper(self.act(h * self.gain)) + self.offset * self.steps[0] + self.shift


@piece
def own_module(w):
    cls = type("Own", (Scaled,), {})
    m = w.module(cls())
    return m, {
        "class attribute": setter(cls, factor=3.0),
        "shadowed": setter(m, factor=0.25),
        "number": setter(m, offset=2.0),
        "same number as int": setter(m, offset=1),
        "list item": lambda: m.steps.__setitem__(0, 4.0),
        "list replaced": setter(m, steps=[7.0]),
        "function": setter(m, act=torch.sigmoid),
        "method of the class": setter(cls, helper=lambda self, h: h * 0.1),
        "method of the instance": setter(m, helper=lambda h: h * 0.2),
        "forward of the class": setter(cls, forward=lambda self, h: h * self.gain * 3),
        "buffer": lambda: setattr(m, "shift", torch.ones(6)),
        "buffer in place": lambda: m.shift.add_(1),
        "buffer by its table": lambda: m._buffers.__setitem__("shift", torch.full((6,), 4.0)),
        "deleted attribute": lambda: (setattr(cls, "offset", -1.0), m.__dict__.pop("offset")),
        "bases": lambda: setattr(cls, "__bases__", (type("Other", (Scaled,), {"helper": lambda self, h: h * 9}),)),
    }


@piece
def module_hooks(w):
    m = w.module(nn.Linear(6, 6))
    factor = types.SimpleNamespace(value=1.0)
    handles = [m.register_forward_hook(lambda module, args, out: out * factor.value)]

    def swap():
        handles[0].remove()
        handles[0] = m.register_forward_hook(lambda module, args, out: out + 3)

    return m, {
        "reads state": setter(factor, value=2.0),
        "swapped": swap,
        "removed": lambda: handles[0].remove(),
        "added": lambda: m.register_forward_hook(lambda module, args, out: out * 0.5),
        "pre": lambda: m.register_forward_pre_hook(lambda module, args: (args[0] * 2,)),
        "backward": lambda: m.register_full_backward_hook(lambda module, gi, go: tuple(g * 2 for g in gi)),
    }


@piece
def encoder(w):
    # without biases: the gradient of the keys' is zero but for rounding, which Adam makes a whole step of
    m = w.module(nn.TransformerEncoderLayer(6, 2, 8, dropout=0.0, batch_first=True, bias=False))

    def apply(h):
        return m(h.unsqueeze(0)).squeeze(0)

    return apply, {
        "activation": setter(m, activation=F.gelu),
        "norm first": setter(m, norm_first=True),
        "dropout": lambda: setattr(m.dropout, "p", 0.5),
    }


# ---------------------------------------------------------------------------------------------- tensors


@piece
def tensor_hooks(w):
    p = w.parameter(torch.full((6,), 0.7))
    scale = types.SimpleNamespace(k=1.0)
    handle = [p.register_hook(lambda g: g * scale.k)]

    def apply(h):
        return h * p

    return apply, {
        "reads state": setter(scale, k=-2.0),
        "added": lambda: p.register_hook(lambda g: g * 3),
        "removed": lambda: handle[0].remove(),
        "after accumulation": lambda: p.register_post_accumulate_grad_hook(lambda t: [t.grad.mul_(0.5)].clear()),
    }


@piece
def plain_tensor(w):
    box = types.SimpleNamespace(t=torch.full((6,), 1.5))
    kept = box.t

    def apply(h):
        return h * kept + box.t.shape[0] * 0.01 + (0.1 if box.t.requires_grad else 0.0)

    return apply, {
        "in place": lambda: kept.mul_(2),
        "data": lambda: setattr(kept, "data", torch.full((6,), -1.0)),
        "replaced": lambda: setattr(box, "t", torch.ones(3)),
        "requires grad": lambda: kept.requires_grad_(),
        "broadcast": lambda: setattr(kept, "data", torch.full((1,), 3.0)),
        "double": lambda: setattr(kept, "data", torch.full((6,), 0.5, dtype=torch.float64)),
        "strided": lambda: setattr(kept, "data", torch.arange(12.0)[::2]),
    }


@piece
def tensor_attribute(w):
    t = torch.ones(6)
    t.scale = 1.0

    def apply(h):
        return h * t * t.scale

    return apply, {"set": setter(t, scale=2.5), "tensor": lambda: setattr(t, "scale", torch.tensor(0.5))}


@piece
def values_decide(w):
    lengths = torch.tensor([2, 3])

    def apply(h):
        n = lengths.tolist()[0]
        return torch.cat([h[:, :n] * 2, h[:, n:]], 1)

    return apply, {"in place": lambda: lengths.fill_(4), "one": lambda: lengths.__setitem__(0, 1)}


@piece
def gradients(w):
    p = w.parameter(torch.ones(6))

    def apply(h):
        return h * p * (1.0 if p.grad is None else 2.0)

    return apply, {
        "set": lambda: setattr(p, "grad", torch.ones(6)),
        "none": lambda: setattr(p, "grad", None),
        "zero": lambda: p.grad is not None and p.grad.zero_(),
    }


@piece
def equal(w):
    a, b = torch.ones(2), torch.ones(2)

    def apply(h):
        return h * 2 if torch.equal(a, b) else h

    return apply, {"in place": lambda: b.add_(1)}


# ---------------------------------------------------------------------------------------------- objects


@dataclasses.dataclass
class Config:
    scale: float = 1.0
    mode: str = "tanh"
    layers: tuple = (1.0, 2.0)
    nested: object = None


class Slotted:
    __slots__ = ("scale", "f")


class Mode(enum.Enum):
    A = 1
    B = 2


@piece
def dataclass_(w):
    c = Config(nested=types.SimpleNamespace(deep=1.0))

    def apply(h):
        h = getattr(torch, c.mode)(h) * c.scale
        for layer in c.layers:
            h = h * layer
        return h * c.nested.deep

    return apply, {
        "number": setter(c, scale=0.3),
        "bool": setter(c, scale=True),
        "name": setter(c, mode="sigmoid"),
        "tuple": setter(c, layers=(0.5,)),
        "nested": setter(c.nested, deep=3.0),
        "nested replaced": setter(c, nested=types.SimpleNamespace(deep=-1.0)),
    }


@piece
def namespace(w):
    n = types.SimpleNamespace(scale=np.float32(1.5), mode=Mode.A, cut=slice(0, 3), f=None, order=(0, 1))

    def apply(h):
        h = h * n.scale
        if n.mode is Mode.B:
            h = -h
        h = h + h[:, n.cut].sum()
        return h if n.f is None else n.f(h)

    return apply, {
        "numpy number": setter(n, scale=np.float32(0.5)),
        "enum": setter(n, mode=Mode.B),
        "slice": setter(n, cut=slice(1, 2)),
        "function": setter(n, f=torch.tanh),
        "partial": lambda: setattr(n, "f", functools.partial(torch.mul, other=2.0)),
        "module": lambda: setattr(n, "f", nn.Tanh()),
    }


@piece
def slotted(w):
    s = Slotted()
    s.scale, s.f = 1.0, torch.relu

    def apply(h):
        return s.f(h) * s.scale

    return apply, {"number": setter(s, scale=2.0), "function": setter(s, f=torch.tanh)}


@piece
def argparse_(w):
    a = argparse.Namespace(alpha=1.0, use=False)

    def apply(h):
        return h * a.alpha * (2 if a.use else 1) * getattr(a, "beta", 1.0)

    return apply, {"number": setter(a, alpha=0.5), "flag": setter(a, use=True), "new": setter(a, beta=3.0)}


@piece
def properties(w):
    class P:
        def __init__(self):
            self._k = 1.0
            self.table = {"v": 1.0}

        @property
        def k(self):
            return self._k * self.table["v"]

        def __getattr__(self, name):
            if name == "extra":
                return self.table["v"]
            raise AttributeError(name)

    p = P()

    def apply(h):
        return h * p.k * p.extra

    return apply, {
        "private": setter(p, _k=2.0),
        "table": lambda: p.table.update(v=0.5),
        "the property": lambda: setattr(P, "k", property(lambda self: 4.0)),
        "no longer missing": setter(p, extra=3.0),
    }


@piece
def operators(w):
    class V:
        def __init__(self, k):
            self.k = k

        def __mul__(self, h):
            return h * self.k

        def __call__(self, h):
            return h + self.k

        def __len__(self):
            return int(self.k)

        def __enter__(self):
            return self.k

        def __exit__(self, *error):
            return False

    v = V(1.0)

    def apply(h):
        with v as k:
            return v(v * h) * len(v) * k

    return apply, {
        "state": setter(v, k=2.0),
        "method": lambda: setattr(V, "__call__", lambda self, h: h * 5),
        "length": lambda: setattr(V, "__len__", lambda self: 3),
        "class": lambda: setattr(v, "__class__", type("W", (V,), {"__mul__": lambda self, h: h * 7})),
    }


@piece
def inherited(w):
    class A:
        k = 1.0

        def f(self, h):
            return h * self.k

        @classmethod
        def g(cls, h):
            return h * cls.k

        @staticmethod
        def s(h):
            return h

    class B(A):
        def f(self, h):
            return super().f(h) * 2

    b = B()

    def apply(h):
        return B.s(B.g(b.f(h)))

    return apply, {
        "attribute of the base": setter(A, k=2.0),
        "method of the base": lambda: setattr(A, "f", lambda self, h: h * 3),
        "static": lambda: setattr(A, "s", staticmethod(lambda h: h * 4)),
        "shadowed": setter(B, k=0.5),
        "of the instance": setter(b, k=0.7),
    }


# ---------------------------------------------------------------------------------------------- containers


@piece
def dict_(w):
    d = {"scale": 1.0, "f": torch.tanh, "inner": {"a": [1.0, 2.0]}}

    def apply(h):
        h = d["f"](h) * d["scale"] * d.get("more", 1.0) * len(d)
        return h * d["inner"]["a"][0]

    return apply, {
        "value": lambda: d.update(scale=3.0),
        "function": lambda: d.update(f=torch.relu),
        "new key": lambda: d.update(more=2.0),
        "other key": lambda: d.update(unused=0),
        "inner": lambda: d["inner"]["a"].__setitem__(0, 5.0),
        "inner replaced": lambda: d.update(inner={"a": [0.5]}),
        "cleared": lambda: (d.clear(), d.update(scale=2.0, f=torch.relu, inner={"a": [1.0]})),
    }


@piece
def list_(w):
    numbers, functions, nested = [1.0, 0.5], [torch.tanh, torch.relu], [[1.0], [2.0]]

    def apply(h):
        for f in functions:
            h = f(h)
        return h * sum(numbers) * nested[1][0] * len(nested)

    return apply, {
        "item": lambda: numbers.__setitem__(1, 3.0),
        "append": lambda: numbers.append(2.0),
        "function": lambda: functions.__setitem__(0, torch.sigmoid),
        "pop": lambda: functions.pop(),
        "reverse": lambda: functions.reverse(),
        "nested": lambda: nested[1].__setitem__(0, -1.0),
        "nested append": lambda: nested.append([]),
        "sort": lambda: nested.sort(key=lambda row: -row[0]),
    }


@piece
def other_containers(w):
    s, q, b = {1, 2}, collections.deque([1.0, 2.0]), bytearray(b"\x01\x02")
    a, o = array.array("d", [1.0]), collections.OrderedDict(a=1.0, b=2.0)
    view = types.MappingProxyType({"k": 1.0})
    base = {"k": 1.0}
    view = types.MappingProxyType(base)

    def apply(h):
        return h * len(s) * q[0] * b[0] * a[0] * next(iter(o.values())) * view["k"]

    return apply, {
        "set": lambda: s.add(9),
        "deque": lambda: q.appendleft(0.5),
        "rotate": lambda: q.rotate(1),
        "bytes": lambda: b.__setitem__(0, 3),
        "array": lambda: a.__setitem__(0, 0.5),
        "order": lambda: o.move_to_end("a"),
        "behind a view": lambda: base.update(k=4.0),
    }


@piece
def arrays(w):
    numbers = np.ones(6, np.float32)
    table = {"mask": np.array([True, False, True, True, False, True])}

    def apply(h):
        h = h * torch.tensor(numbers) + float(numbers[0])
        return torch.where(torch.as_tensor(table["mask"].copy()), h, h * 0.5)

    return apply, {
        "in place": lambda: numbers.__setitem__(0, 3.0),
        "all": lambda: numbers.fill(0.5),
        "mask": lambda: table["mask"].__setitem__(1, True),
        "replaced": lambda: table.update(mask=np.zeros(6, bool)),
    }


@piece
def from_numpy(w):
    numbers = np.full(6, 0.5, np.float32)
    t = torch.from_numpy(numbers)

    def apply(h):
        return h * t

    return apply, {"in place": lambda: numbers.fill(2.0), "one": lambda: numbers.__setitem__(3, -1.0)}


# ---------------------------------------------------------------------------------------------- functions


@piece
def closure(w):
    k, f = 1.0, torch.tanh

    def apply(h):
        return f(h) * k

    def number():
        nonlocal k
        k = 2.0

    def function():
        nonlocal f
        f = torch.relu

    return apply, {"number": number, "function": function}


@piece
def helper(w):
    def scale(h, k=1.0, *, j=1.0):
        return h * k * j * scale.extra

    scale.extra = 1.0

    def other(h, k=1.0, *, j=1.0):
        return h * 4 * k * j * scale.extra

    def apply(h):
        return scale(h)

    return apply, {
        "defaults": setter(scale, __defaults__=(2.0,)),
        "keyword defaults": setter(scale, __kwdefaults__={"j": 3.0}),
        "keyword default in place": lambda: scale.__kwdefaults__.update(j=0.5),
        "attribute": setter(scale, extra=5.0),
        "code": setter(scale, __code__=other.__code__),
    }


@piece
def decorated(w):
    settings = {"k": 1.0}

    def decorate(f):
        @functools.wraps(f)
        def wrapped(*args):
            return f(*args) * settings["k"]

        return wrapped

    @decorate
    def double(h):
        return h * 2

    @functools.lru_cache
    def cached():
        return settings["k"]

    def apply(h):
        return double(h) * cached()

    return apply, {
        "state": lambda: settings.update(k=0.5),
        "cache": lambda: (settings.update(k=3.0), cached.cache_clear()),
    }


@piece
def generators(w):
    weights = [1.0, 2.0]

    def each():
        for k in weights:
            yield k * 0.5

    def apply(h):
        return h * sum(each()) * sum(k for k in weights) * sorted(weights, key=lambda k: -k)[0]

    return apply, {"item": lambda: weights.__setitem__(0, 3.0), "append": lambda: weights.append(0.25)}


@piece
def global_names(w):
    scope = {"torch": torch, "factor": 1.0, "act": torch.tanh, "__builtins__": __builtins__}
    exec("def helper(h):\n    return h * 2\ndef apply(h):\n    return act(helper(h) * factor) * abs(-1.0)", scope)

    def new_helper():
        exec("def helper(h):\n    return h * 5", scope)

    return scope["apply"], {
        "number": lambda: scope.update(factor=2.0),
        "function": lambda: scope.update(act=torch.relu),
        "user function": new_helper,
        "shadows a builtin": lambda: scope.update(abs=lambda v: 7.0),
        "unrelated": lambda: scope.update(unrelated=1),
    }


@piece
def patched(w):
    own = types.ModuleType("own")
    own.act, own.k = torch.tanh, 1.0

    def apply(h):
        return own.act(h) * own.k

    return apply, {"function": setter(own, act=torch.relu), "number": setter(own, k=3.0)}


@piece
def custom_function(w):
    state = types.SimpleNamespace(forward=2.0, backward=2.0)

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * state.forward

        @staticmethod
        def backward(ctx, g):
            return g * state.backward

    p = w.parameter(torch.full((6,), 0.3))

    def apply(h):
        return h * Twice.apply(p)

    return apply, {"forward": setter(state, forward=0.5), "backward": setter(state, backward=-1.0)}


@piece
def random_numbers(w):
    g = types.SimpleNamespace(g=torch.Generator().manual_seed(3))

    def apply(h):
        return h + torch.rand(6) + torch.randn(6, generator=g.g) * 0.1

    return apply, {
        "replaced": lambda: setattr(g, "g", torch.Generator().manual_seed(8)),
        "seeded": lambda: g.g.manual_seed(5),
        "global seed": lambda: torch.manual_seed(11),
    }


@piece
def python_random(w):
    def apply(h):
        return h * 2 if random.random() < 0.1 else h

    return apply, {"seed": lambda: random.seed(4)}


@piece
def modes(w):
    def apply(h):
        return h * (2.0 if torch.is_grad_enabled() else 1.0)

    return apply, {
        "no grad": lambda: w.modes.append(torch.no_grad()),
        "autocast": lambda: w.modes.append(torch.autocast("cpu")),
    }


# ---------------------------------------------------------------------------------------------- optimizers

OPTIMIZERS: dict[str, Callable] = {
    "sgd": lambda ps: torch.optim.SGD(ps, 0.01),
    "momentum": lambda ps: torch.optim.SGD(ps, 0.01, momentum=0.9, nesterov=True),
    "adam": lambda ps: torch.optim.Adam(ps, 0.01),
    "adamw": lambda ps: torch.optim.AdamW(ps, 0.01, weight_decay=0.1),
    "rmsprop": lambda ps: torch.optim.RMSprop(ps, 0.01),
    "adagrad": lambda ps: torch.optim.Adagrad(ps, 0.05),
}


def of_optimizer(w) -> dict[str, Mutation]:
    """Mutations of a world's optimizer."""
    o, extra = w.optimizer, nn.Parameter(torch.full((6,), 0.2))
    w.extra = extra

    def first_state():
        return next(iter(o.state.values()), {})

    def replace_state():
        state = first_state()
        for k, v in state.items():
            if isinstance(v, torch.Tensor) and v.dim():
                state[k] = torch.full_like(v, 0.1)

    def pop_state():
        if len(o.state):
            o.state.pop(next(iter(o.state)))

    def reload():
        saved = o.state_dict()
        saved["param_groups"][0]["lr"] = 0.05
        o.load_state_dict(saved)

    def swap():
        w.optimizer = torch.optim.SGD(o.param_groups[0]["params"], 0.1)

    return {
        "lr": lambda: o.param_groups[0].update(lr=0.05),
        "lr zero": lambda: o.param_groups[0].update(lr=0.0),
        "weight decay": lambda: o.param_groups[0].update(weight_decay=0.3),
        "maximize": lambda: o.param_groups[0].update(maximize=True),
        "add_param_group": lambda: o.add_param_group({"params": [extra], "lr": 0.1}),
        "groups pop": lambda: o.param_groups.pop(),
        "param replaced": lambda: o.param_groups[0]["params"].__setitem__(-1, extra),
        "params append": lambda: o.param_groups[0]["params"].append(extra),
        "state clear": lambda: o.state.clear(),
        "state pop": pop_state,
        "state replaced": replace_state,
        "reload": reload,
        "optimizer replaced": swap,
        "pre hook": lambda: o.register_step_pre_hook(
            lambda opt, a, k: [
                p.grad.mul_(2) for g in opt.param_groups for p in g["params"] if p.grad is not None
            ].clear()
        ),
        "step replaced": lambda: setattr(o, "step", lambda: None),
    }


# ---------------------------------------------------------------------------------------------- the world


class World:
    """What one random step refers to. net: a weak reference to the module that calls its pieces, if one does."""

    net = None

    def __init__(self, seed: int):
        rng = self.rng = random.Random(seed)
        torch.manual_seed(seed)
        random.seed(seed)
        self.parameters: list = []
        self.modes: list = []
        self.extra = torch.zeros(6)
        self.mutations: dict[str, Mutation] = {}
        self.first = self.parameter(torch.randn(6, 6) * 0.3)
        self.pieces = []
        for name in rng.sample(sorted(PIECES), rng.randint(1, 3)):
            apply, mutations = PIECES[name](self)
            self.pieces.append(apply)
            self.mutations |= {f"{name}: {k}": m for k, m in mutations.items()}
        self.trains = rng.random() < 0.7
        self.optimizer = OPTIMIZERS[rng.choice(sorted(OPTIMIZERS))](self.parameters)
        if self.trains:
            own = of_optimizer(self)
            chosen = rng.sample(sorted(own), 6)
            self.mutations |= {f"optimizer: {k}": own[k] for k in chosen}

    def parameter(self, t):
        p = nn.Parameter(t)
        self.parameters.append(p)
        return p

    def module(self, m):
        self.parameters += list(m.parameters())
        return m

    def seeded(self, make: Callable):
        """What `make` gives with a seed of its own, so that the streams stay together."""
        state = torch.get_rng_state()
        torch.manual_seed(77)
        made = make()
        torch.set_rng_state(state)
        return made

    def forward(self, x):
        h = x @ self.first
        for apply in self.pieces:
            h = torch.tanh(apply(h))
        return h

    def step(self, x):
        if self.trains:
            self.optimizer.zero_grad()
        h = self.forward(x) if self.net is None else self.net()(x)
        loss = (h * h).mean() + (self.extra * self.extra).sum() * 0.1
        if self.trains:
            loss.backward()
            self.optimizer.step()
        return loss, h

    def shown(self, result) -> list:
        """Everything that a call leaves behind, as arrays."""
        tensors = [*result, *self.parameters, *(p.grad for p in self.parameters), self.extra]
        for state in self.optimizer.state.values():
            tensors += [v for v in state.values() if isinstance(v, torch.Tensor)]
        tensors.append(torch.rand(2))  # where the random stream is
        return [None if t is None else t.detach().double().numpy().copy() for t in tensors]


class Pieces(nn.Module):
    """The pieces of a step as a module."""

    def __init__(self, first, pieces):
        super().__init__()
        self.first, self.pieces = first, pieces

    forward = World.forward


def run(seed: int, compiled: bool, only: str | None = None, in_module: bool = False) -> tuple[list, list[str], bool]:
    """What each call left behind or raised, the mutations that happened, and whether it ran eagerly."""
    w = World(seed)
    net = Pieces(w.first, w.pieces)
    w.net = weakref.ref(net) if in_module else None
    rng = random.Random(seed + 1)
    calls = rng.randint(7, 12)
    names = rng.sample(sorted(w.mutations), min(len(w.mutations), rng.choice((1, 1, 2, 2, 3))))
    at = {name: rng.randrange(1, calls) for name in names}
    xs = w.seeded(lambda: [torch.randn(4, 6) for _ in range(2)])
    step = torch.compile(w.step) if compiled else w.step
    seen: list = []
    for i in range(calls):
        for name in names:
            if at[name] == i and (only is None or name == only):
                try:
                    w.mutations[name]()
                except Exception as error:  # another mutation took away what it needs
                    seen.append(type(error).__name__)
        try:
            for mode in w.modes:
                mode.__enter__()
            try:
                result = step(xs[i % 2])
            finally:
                for mode in reversed(w.modes):
                    mode.__exit__(None, None, None)
            seen.append(w.shown(result))
        except Exception as error:
            seen.append(type(error).__name__)
    return seen, [f"{name} before call {at[name] + 1}" for name in names], getattr(step, "given_up", False)


def difference(a: list, b: list, digits: int) -> str | None:
    """Where two runs differ in the first `digits`."""
    near = 10.0**-digits
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        if isinstance(x, str) or isinstance(y, str):
            if x is not y and x != y:
                return f"call {i + 1}: {x if isinstance(x, str) else 'a result'} eagerly, {y if isinstance(y, str) else 'a result'} compiled"
            continue
        if len(x) != len(y):
            return f"call {i + 1}: {len(x)} tensors eagerly, {len(y)} compiled"
        for k, (s, t) in enumerate(zip(x, y, strict=True)):
            if (s is None) != (t is None) or (s is not None and s.shape != t.shape):
                return f"call {i + 1}, tensor {k}: another shape, or none"
            if s is not None and not np.allclose(s, t, rtol=near, atol=near * 0.1, equal_nan=True):
                return f"call {i + 1}, tensor {k}: {s.ravel()[:4]} eagerly, {t.ravel()[:4]} compiled"
    return None


def check(seed: int, digits: int = 6) -> tuple[str | None, bool]:
    """What is wrong with one seed's step, and whether it ran eagerly."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eager, what, _ = run(seed, compiled=False)
        got, _, gave_up = run(seed, compiled=True)
    wrong = difference(eager, got, digits)
    return (None if wrong is None else f"seed {seed}: {'; '.join(what)}: {wrong}"), gave_up


def check_unmodified(seed: int) -> tuple[str | None, bool]:
    """The same for a loop without torch.compile: with native backward passes and optimizers against none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jit.on = False
        eager, what, _ = run(seed, compiled=False)
        jit.on = True
        got, _, _ = run(seed, compiled=False)
    wrong = difference(eager, got, 5)
    return (None if wrong is None else f"seed {seed}: {'; '.join(what)}: {wrong}"), False


class Everywhere(module_calls.Search):
    """Notes each outermost module, for as long as the block lasts, and captures its calls from the first on."""

    programs = 0

    def called(self):
        pass

    def __enter__(self):
        module_calls.SHORTEST, module_calls.FIRST = 1, 0
        module_calls.made.register(self.count)
        module_caller.register(self)
        return self

    def count(self, calls):
        self.programs += 1

    def __exit__(self, *error):
        module_caller.register(None)
        module_calls.made.register(None)
        module_calls.SHORTEST, module_calls.FIRST = _USUAL


_USUAL = module_calls.SHORTEST, module_calls.FIRST


def check_module(seed: int, digits: int = 6) -> tuple[str | None, bool]:
    """The same for a module that a loop calls, whose calls become programs by themselves, and whether they did not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        eager, what, _ = run(seed, compiled=False, in_module=True)
        with Everywhere() as search:
            got, _, _ = run(seed, compiled=False, in_module=True)
    wrong = difference(eager, got, digits)
    return (None if wrong is None else f"seed {seed}: {'; '.join(what)}: {wrong}"), not search.programs


def kinds() -> int:
    """How many kinds of mutations there are."""
    names = set()
    for name, make in PIECES.items():
        w = World(0)
        names |= {f"{name}: {k}" for k in make(w)[1]}
    return len(names) + len(of_optimizer(World(0)))


def interpreted() -> None:
    """Let programs run with the kernels of eager calls, and eager steps without native code."""
    jit.on = False
    steps.build = Interpreter


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--native", action="store_true")
    parser.add_argument("--unmodified", action="store_true", help="loops that are not compiled by name")
    parser.add_argument("--modules", action="store_true", help="modules that are called by such loops")
    options = parser.parse_args()
    if options.unmodified:  # a gradient that is zero but for rounding is a whole step of Adam; in double it is none
        torch.set_default_dtype(torch.float64)
    elif not options.native:
        interpreted()
    failed = eagerly = 0
    for seed in range(options.seed, options.seed + options.count):
        if options.unmodified:
            wrong, gave_up = check_unmodified(seed)
        elif options.modules:
            wrong, gave_up = check_module(seed, 3 if options.native else 6)
        else:
            wrong, gave_up = check(seed, 3 if options.native else 6)
        eagerly += gave_up
        if wrong is not None:
            failed += 1
            print(wrong, flush=True)
        torch.compiler.reset()
    print(f"{options.count} steps, {kinds()} kinds of mutations: {failed} differ, {eagerly} ended up eager")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
