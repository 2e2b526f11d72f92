"""One thing of Python changes between the calls of a compiled function: it goes on as the function itself would.

Each case makes a function, a change, and arguments; the function runs eagerly and compiled, with the change in the middle.
"""

import argparse
import array as arrays
import collections
import contextvars
import dataclasses
import enum
import functools
import io
import itertools
import os
import random
import threading
import types
import warnings
import weakref

import numpy as np
import pytest

import rushlight as torch
from rushlight import distributions, nn
from rushlight.nn import functional as F
from rushlight.nn.modules.module import register_module_forward_hook
from rushlight.optim.optimizer import register_optimizer_step_post_hook
from rushlight.overrides import TorchFunctionMode

CASES = {}
CLEAN = []  # what takes a change back


def case(f):
    CASES[f.__name__.rstrip("_")] = f
    return f


def plain(o):
    if isinstance(o, torch.Tensor):
        return o.detach().numpy().tolist()
    return [plain(v) for v in o] if isinstance(o, (tuple, list)) else o


def run(make, compiled, calls=8, at=5):
    torch.manual_seed(0)
    random.seed(12)
    np.random.seed(3)
    f, change, args = make()
    g = torch.compile(f) if compiled else f
    seen = []
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*runs eagerly")
            for i in range(calls):
                if i == at:
                    change()
                seen.append(plain(g(*(a() if callable(a) else a for a in args))))
    finally:
        while CLEAN:
            CLEAN.pop()()
    return seen, getattr(g, "given_up", False)


def three():
    return torch.ones(3)


@case
def equal():
    a = torch.ones(1)
    b = [torch.ones(1)]

    def mut():
        b[0] = torch.zeros(1)

    return (lambda x, y: x if torch.equal(x, y) else x * 100), mut, (a, lambda: b[0].clone())


@case
def allclose():
    a = torch.ones(1)
    b = [torch.ones(1)]

    def mut():
        b[0] = torch.zeros(1)

    return (lambda x, y: x if torch.allclose(x, y) else x * 100), mut, (a, lambda: b[0].clone())


@case
def layer_replaced():
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def mut():
        net[1] = nn.Tanh()

    return (lambda x: net(x)), mut, (lambda: torch.ones(2, 4),)


@case
def layer_appended():
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    return (lambda x: net(x)), lambda: net.append(nn.Tanh()), (lambda: torch.ones(2, 4),)


@case
def moduledict():
    net = nn.ModuleDict({"a": nn.Tanh()})

    def f(x):
        for m in net.values():
            x = m(x)
        return x

    return f, lambda: net.update({"b": nn.Sigmoid()}), (three,)


@case
def paramlist():
    ps = nn.ParameterList([nn.Parameter(torch.ones(3))])

    def f(x):
        for p in ps:
            x = x * p * 2
        return x

    return f, lambda: ps.append(nn.Parameter(torch.ones(3) * 3)), (three,)


@case
def slope():
    act = nn.LeakyReLU(0.1)

    def mut():
        act.negative_slope = 0.5

    return (lambda x: act(-x)), mut, (three,)


@case
def dropout_p():
    d = nn.Dropout(0.1)

    def mut():
        d.p = 0.7

    return (lambda x: d(x)), mut, (lambda: torch.ones(30),)


@case
def bn():
    b = nn.BatchNorm1d(3)

    def mut():
        b.momentum = None

    def f(x):
        y = b(x)
        return y, b.running_mean.clone()

    return f, mut, (lambda: torch.arange(12.0).reshape(4, 3),)


@case
def bn_buffer():
    b = nn.BatchNorm1d(3)

    def mut():
        b.running_mean = torch.ones(3) * 5

    def f(x):
        y = b(x)
        return y, b.running_mean.clone()

    return f, mut, (lambda: torch.arange(12.0).reshape(4, 3),)


def opt_case(mut_, cls=None, **kw):
    def make():
        net = nn.Linear(4, 4)
        w2 = nn.Parameter(torch.ones(4))
        opt = (cls or torch.optim.SGD)(net.parameters(), lr=0.1, **kw)

        def step(x):
            opt.zero_grad()
            l = (net(x) * w2).pow(2).mean()
            l.backward()
            opt.step()
            return net.weight.detach().clone(), w2.detach().clone()

        return step, lambda: mut_(opt, net, w2), (lambda: torch.ones(2, 4),)

    return make


CASES["add_param_group"] = opt_case(lambda o, n, w: o.add_param_group({"params": [w], "lr": 0.3}))
CASES["groups_pop"] = opt_case(lambda o, n, w: o.param_groups.pop())


def _rp(o, n, w):
    o.param_groups[0]["params"][-1] = w


CASES["param_replaced"] = opt_case(_rp)
CASES["state_clear"] = opt_case(lambda o, n, w: o.state.clear(), torch.optim.Adam)


def _sa(o, n, w):
    o.state[n.weight]["exp_avg"] = torch.ones(4, 4)


CASES["state_set"] = opt_case(_sa, torch.optim.Adam)


def _st(o, n, w):
    o.state[n.weight]["step"] = torch.tensor(100.0)


CASES["state_step"] = opt_case(_st, torch.optim.Adam)
CASES["state_pop"] = opt_case(lambda o, n, w: o.state[n.weight].pop("momentum_buffer"), momentum=0.9)


def _pre(o, n, w):
    o.register_step_pre_hook(lambda opt, a, k: [p.grad.mul_(0) for g in opt.param_groups for p in g["params"]].clear())


CASES["step_pre_hook"] = opt_case(_pre)


def _glob(o, n, w):
    h = register_optimizer_step_post_hook(lambda opt, a, k: [n.weight.data.zero_()].clear())
    CLEAN.append(h.remove)


CASES["global_post_hook"] = opt_case(_glob)
CASES["acc_hook"] = opt_case(
    lambda o, n, w: n.weight.register_post_accumulate_grad_hook(lambda p: [p.grad.mul_(5)].clear()) and None
)
CASES["tensor_hook"] = opt_case(lambda o, n, w: n.weight.register_hook(lambda g: g * 10) and None)


@case
def hook_swapped():
    net = nn.Linear(3, 3)
    h = [net.register_forward_hook(lambda m, a, o: o * 2)]

    def mut():
        h[0].remove()
        h[0] = net.register_forward_hook(lambda m, a, o: o * 3)

    return (lambda x: net(x)), mut, (three,)


@case
def global_fw_hook():
    net = nn.Linear(3, 3)

    def mut():
        h = register_module_forward_hook(lambda m, a, o: o * 3)
        CLEAN.append(h.remove)

    return (lambda x: net(x)), mut, (three,)


@case
def hook_reads_state():
    w = torch.ones(2, requires_grad=True)
    s = types.SimpleNamespace(scale=1.0)
    w.register_hook(lambda g: g * s.scale)

    def f(x):
        w.grad = None
        (w * x).sum().backward()
        return w.grad.clone()

    def mut():
        s.scale = 4.0

    return f, mut, (lambda: torch.ones(2),)


def doubled(x):
    return x * 2


def tripled(x):
    return x * 3


helper = doubled


@case
def global_function():
    def mut():
        global helper
        helper = tripled

    global helper
    helper = doubled
    return (lambda x: helper(x)), mut, (three,)


@case
def attr_function():
    s = types.SimpleNamespace(act=torch.tanh)

    def mut():
        s.act = torch.sigmoid

    return (lambda x: s.act(x)), mut, (three,)


@case
def loss_attr():
    class T:
        def __init__(s):
            s.loss = F.l1_loss

        def __call__(s, x):
            return s.loss(x, x * 2)

    t = T()

    def mut():
        t.loss = F.mse_loss

    return (lambda x: t(x * 3)), mut, (three,)


@case
def dict_fn():
    cfg = {"f": torch.tanh}

    def mut():
        cfg["f"] = torch.sigmoid

    return (lambda x: cfg["f"](x)), mut, (three,)


@case
def list_fn():
    fs = [torch.tanh]

    def mut():
        fs[0] = torch.sigmoid

    return (lambda x: fs[0](x)), mut, (three,)


@case
def partial_():
    s = types.SimpleNamespace(f=functools.partial(torch.mul, other=2.0))

    def mut():
        s.f = functools.partial(torch.mul, other=5.0)

    return (lambda x: s.f(x)), mut, (three,)


class Mode(enum.Enum):
    A = 1
    B = 2


@case
def enum_():
    s = types.SimpleNamespace(m=Mode.A)

    def mut():
        s.m = Mode.B

    return (lambda x: x if s.m is Mode.A else x * 9), mut, (three,)


@case
def slice_():
    s = types.SimpleNamespace(m=slice(0, 2))

    def mut():
        s.m = slice(0, 1)

    return (lambda x: x[s.m]), mut, (three,)


@case
def none_obj():
    s = types.SimpleNamespace(m=None)

    def mut():
        s.m = torch.tanh

    return (lambda x: x if s.m is None else s.m(x)), mut, (three,)


@case
def list_replaced():
    s = types.SimpleNamespace(cfg=[1.0])

    def mut():
        s.cfg = [3.0]

    return (lambda x: x * s.cfg[0]), mut, (three,)


@case
def nested_ns():
    s = types.SimpleNamespace(a=types.SimpleNamespace(b=1.0))

    def mut():
        s.a = types.SimpleNamespace(b=2.0)

    return (lambda x: x * s.a.b), mut, (three,)


@case
def defaults():
    def h(x, k=2.0):
        return x * k

    def mut():
        h.__defaults__ = (5.0,)

    return (lambda x: h(x)), mut, (three,)


@case
def code():
    def h(x):
        return x * 2

    def k(x):
        return x * 7

    def mut():
        h.__code__ = k.__code__

    return (lambda x: h(x)), mut, (three,)


@case
def fn_attr():
    def h(x):
        return x * h.scale

    h.scale = 2.0

    def mut():
        h.scale = 3.0

    return (lambda x: h(x)), mut, (three,)


@case
def f_patched():
    old = F.relu
    CLEAN.append(lambda: setattr(F, "relu", old))

    def mut():
        F.relu = lambda x: x * 77

    return (lambda x: F.relu(x)), mut, (three,)


@case
def f_patched_in_module():
    old = F.relu
    CLEAN.append(lambda: setattr(F, "relu", old))
    m = nn.ReLU()

    def mut():
        F.relu = lambda x, inplace=False: x * 77

    return (lambda x: m(x)), mut, (three,)


@case
def tensor_patched():
    old = torch.Tensor.relu
    CLEAN.append(lambda: setattr(torch.Tensor, "relu", old))

    def mut():
        torch.Tensor.relu = lambda x: x * 77

    return (lambda x: x.relu()), mut, (three,)


@case
def forward_patched():
    class M(nn.Module):
        def forward(s, x):
            return x * 2

    m = M()

    def mut():
        M.forward = lambda s, x: x * 3

    return (lambda x: m(x)), mut, (three,)


@case
def forward_patched_instance():
    m = nn.ReLU()

    def mut():
        m.forward = lambda x: x * 3

    return (lambda x: m(x)), mut, (three,)


@case
def class_attr():
    class M(nn.Module):
        scale = 1.0

        def forward(s, x):
            return x * s.scale

    m = M()

    def mut():
        M.scale = 3.0

    return (lambda x: m(x)), mut, (three,)


@case
def shadow():
    class M:
        scale = 1.0

        def __call__(s, x):
            return x * s.scale

    m = M()

    def mut():
        m.scale = 3.0

    return (lambda x: m(x)), mut, (three,)


@case
def new_key():
    cfg = {}

    def mut():
        cfg["scale"] = 3.0

    return (lambda x: x * cfg.get("scale", 1.0)), mut, (three,)


@case
def list_append():
    l = []
    return (lambda x: x * (1 + len(l))), lambda: l.append(1), (three,)


@case
def set_():
    l = {1}
    return (lambda x: x * (1 + len(l))), lambda: l.add(9), (three,)


@case
def deque_():
    l = collections.deque([1])
    return (lambda x: x * (1 + len(l))), lambda: l.append(9), (three,)


@case
def bytearray_():
    l = bytearray(b"a")

    def mut():
        l[0] = 5

    return (lambda x: x * l[0]), mut, (three,)


@case
def array_():
    l = arrays.array("d", [1.0])

    def mut():
        l[0] = 5

    return (lambda x: x * l[0]), mut, (three,)


@case
def ndarray():
    a = np.ones(3)

    def mut():
        a[0] = 5

    return (lambda x: x * float(a[0])), mut, (three,)


@case
def ndarray_from():
    a = np.ones(3, np.float32)

    def mut():
        a[0] = 5

    return (lambda x: x * torch.tensor(a)), mut, (three,)


@case
def ndarray_from_numpy():
    a = np.ones(3, np.float32)

    def mut():
        a[0] = 5

    return (lambda x: x * torch.from_numpy(a)), mut, (three,)


@case
def ndarray_arg_number():
    a = np.ones(3, np.float32)

    def mut():
        a[0] = 5

    return (lambda x, a: x * float(a[0])), mut, (three, a)


@case
def ndarray_arg_tensor():
    a = np.ones(3, np.float32)

    def mut():
        a[0] = 5

    return (lambda x, a: x * torch.tensor(a)), mut, (three, a)


@case
def ndarray_arg_from():
    a = np.ones(3, np.float32)

    def mut():
        a[0] = 5

    return (lambda x, a: x * torch.from_numpy(a)), mut, (three, a)


@case
def npscalar():
    s = {"k": np.float32(2)}

    def mut():
        s["k"] = np.float32(3)

    return (lambda x: x * s["k"]), mut, (three,)


@case
def slots():
    class S:
        __slots__ = ("k",)

    s = S()
    s.k = 2.0

    def mut():
        s.k = 3.0

    return (lambda x: x * s.k), mut, (three,)


@case
def tensor_attr():
    t = torch.ones(3)
    t.scale = 2.0

    def mut():
        t.scale = 3.0

    return (lambda x: x * t * t.scale), mut, (three,)


@case
def contextvar():
    v = contextvars.ContextVar("v", default=1.0)
    return (lambda x: x * v.get()), lambda: v.set(3.0), (three,)


@case
def local_():
    l = threading.local()
    l.k = 1.0

    def mut():
        l.k = 3.0

    return (lambda x: x * l.k), mut, (three,)


@case
def environ():
    os.environ["QQ"] = "1"

    def mut():
        os.environ["QQ"] = "3"

    return (lambda x: x * float(os.environ["QQ"])), mut, (three,)


@case
def getenv():
    os.environ["QQ"] = "1"

    def mut():
        os.environ["QQ"] = "3"

    return (lambda x: x * float(os.getenv("QQ"))), mut, (three,)


@case
def generator_replaced():
    s = types.SimpleNamespace(g=torch.Generator().manual_seed(1))

    def mut():
        s.g = torch.Generator().manual_seed(9)

    return (lambda x: x * torch.rand(3, generator=s.g)), mut, (three,)


@case
def random_rare():
    return (lambda x: x * 5 if random.random() < 0.2 else x), lambda: 0, (three,)


@case
def random_choice():
    fs = [torch.tanh] * 9 + [torch.exp]
    return (lambda x: random.choice(fs)(x)), lambda: 0, (three,)


@case
def np_random_rare():
    return (lambda x: x * 5 if np.random.rand() < 0.2 else x), lambda: 0, (three,)


@case
def np_rng_rare():
    rng = np.random.default_rng(0)
    return (lambda x: x * 5 if rng.random() < 0.2 else x), lambda: 0, (three,)


@case
def cycle_():
    it = itertools.cycle([1.0] * 4 + [2.0])
    return (lambda x: x * next(it)), lambda: 0, (three,)


@case
def gen_():
    it = (float(i // 4) for i in itertools.count())
    return (lambda x: x * next(it)), lambda: 0, (three,)


@case
def file_():
    b = io.StringIO()

    def f(x):
        b.write("a")
        return x * len(b.getvalue())

    return f, lambda: 0, (three,)


@case
def overlap():
    w = torch.zeros(6)
    other = torch.ones(3)
    st = {"a": other}

    def f(x):
        y = x * 2
        w.mul_(0.5).add_(1)
        return y + x

    def mut():
        st["a"] = w[2:5]

    return f, mut, (lambda: st["a"],)


@case
def getattr_keyerror():
    class GA:
        def __init__(s):
            s.__dict__["table"] = {"v": 1.0}

        def __getattr__(s, k):
            return s.__dict__["table"][k]

    s = GA()

    def mut():
        s.table["v"] = 3.0

    return (lambda x: x * s.v), mut, (three,)


@case
def argparse_():
    a = argparse.Namespace(k=1.0)

    def mut():
        a.k = 2.0

    return (lambda x: x * a.k), mut, (three,)


@case
def property_():
    class P:
        def __init__(s):
            s._k = 1.0

        @property
        def k(s):
            return s._k * 2

    p = P()

    def mut():
        p._k = 2.0

    return (lambda x: x * p.k), mut, (three,)


@case
def closure_factory():
    def mk(k):
        def h(x):
            return x * k

        return h

    hs = {"h": mk(2.0)}

    def mut():
        hs["h"] = mk(3.0)

    return (lambda x: hs["h"](x)), mut, (three,)


@case
def dataclass_():
    @dataclasses.dataclass
    class C:
        k: float = 1.0

    c = C()

    def mut():
        c.k = 2.0

    return (lambda x: x * c.k), mut, (three,)


@case
def method_swap():
    class A:
        def f(s, x):
            return x * 2

    class B(A):
        def f(s, x):
            return x * 3

    h = [A()]

    def mut():
        h[0].__class__ = B

    return (lambda x: h[0].f(x)), mut, (three,)


@case
def lru():
    t = {"k": 1.0}

    @functools.lru_cache
    def h():
        return t["k"]

    def mut():
        t["k"] = 3.0
        h.cache_clear()

    return (lambda x: x * h()), mut, (three,)


@case
def func_mode():
    class M(TorchFunctionMode):
        def __torch_function__(s, f, t, a=(), k=None):
            r = f(*a, **(k or {}))
            return r * 10 if getattr(f, "__name__", "") == "exp" else r

    m = M()

    def mut():
        m.__enter__()
        CLEAN.append(lambda: m.__exit__(None, None, None))

    return (lambda x: torch.exp(x)), mut, (three,)


@case
def dist_obj():
    d = distributions.Normal(torch.zeros(3), torch.ones(3))

    def mut():
        d.loc = torch.ones(3) * 9

    return (lambda x: d.log_prob(x)), mut, (three,)


@case
def weak():
    class A:
        pass

    a = A()
    a.k = 1.0
    r = weakref.ref(a)

    def mut():
        a.k = 4.0

    return (lambda x: x * r().k), mut, (three,)


# what cannot be a condition: the function runs eagerly, with one warning
EAGERLY = {
    "equal", "allclose", "contextvar", "local", "random_rare", "random_choice", "np_random_rare", "np_rng_rare", "cycle", "gen",
    "file", "step_pre_hook", "bn", "overlap",
}  # fmt: skip


def close(a, b):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    return a == b or (isinstance(a, float) and a == pytest.approx(b, rel=1e-5, abs=1e-8))


@pytest.mark.parametrize("name", CASES)
def test_a_change_is_seen(name):
    (eager, _), (compiled, gave_up) = run(CASES[name], False), run(CASES[name], True)
    assert close(eager, compiled), (eager, compiled)
    assert gave_up == (name in EAGERLY)


def test_most_changes_change_the_result():
    """Else the cases could not fail."""
    same = {name for name, make in CASES.items() if run(make, False)[0] == run(make, False, at=99)[0]}
    assert same == {"random_rare", "random_choice", "np_random_rare", "np_rng_rare", "cycle", "gen", "file"}
