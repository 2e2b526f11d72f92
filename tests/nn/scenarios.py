"""What a user does with modules, as functions of the library under test: each returns plain data to compare.

`tests/golden/make_nn.py` runs them with torch and writes the answers; `test_scenarios.py` runs them with Rushlight.
"""

import copy
import pickle
import warnings
from collections import OrderedDict


def attempt(action):
    """The action's result, or its error as text."""
    try:
        return plain(action())
    except Exception as error:
        return plain(f"{type(error).__name__}: {error}")


def plain(value):
    """Data that JSON holds: numbers, text, lists. The library's own name is written as torch."""
    if isinstance(value, (bool, int, float, type(None))):
        return value
    if isinstance(value, str):
        return value.replace("rushlight", "torch")
    if isinstance(value, dict):
        return [[plain(k), plain(v)] for k, v in value.items()]
    if hasattr(value, "detach"):
        return value.detach().tolist()
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return [plain(v) for v in value]
    return plain(repr(value))


def warned(action):
    """The action's result and the warnings it gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = attempt(action)
    return [result, [f"{w.category.__name__}: {plain(str(w.message))}" for w in caught]]


def ramp(T, *shape):
    n = 1
    for extent in shape:
        n *= extent
    return (T.arange(n).float() - n / 2).reshape(*shape) / n


def net(T):
    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = T.nn.Linear(3, 4)
            self.norm = T.nn.BatchNorm1d(4)
            self.head = T.nn.Sequential(T.nn.ReLU(), T.nn.Linear(4, 2, bias=False))
            self.register_buffer("offset", T.zeros(2))
            self.register_buffer("scratch", T.ones(1), persistent=False)
            self.scale = T.nn.Parameter(T.ones(2))

        def forward(self, x):
            return self.head(self.norm(self.first(x))) * self.scale + self.offset

    T.manual_seed(3)
    return Net()


# ------------------------------------------------------------------------------------------------------ the module


def attributes(T):
    nn = T.nn
    m = nn.Module()
    log = []
    m.p = nn.Parameter(T.ones(2))
    m.plain_tensor = T.ones(2)
    m.child = nn.ReLU()
    m.b = nn.Buffer(T.zeros(1))
    m.c = nn.Buffer(T.zeros(1), persistent=False)
    log.append([list(m._parameters), list(m._buffers), list(m._modules), sorted(m._non_persistent_buffers_set)])
    log.append(sorted(k for k in m.__dict__ if not k.startswith("_")))
    m.p = None
    m.b = T.ones(3)
    m.child = None
    log.append([list(m._parameters), m.p, list(m._buffers), m.b, m.child])
    log.append([k for k, _ in m.named_parameters()] + [k for k, _ in m.named_buffers()])
    m.b = nn.Parameter(T.ones(1))  # a buffer becomes a parameter, a plain attribute a module, a module plain
    m.plain_tensor = nn.ReLU()
    del m.child
    m.child = 3
    log.append([list(m._parameters), list(m._buffers), list(m._modules), m.child])
    del m.b, m.c, m.plain_tensor
    log.append([list(m._parameters), list(m._buffers), hasattr(m, "b"), hasattr(m, "plain_tensor")])
    log.append([name for name in ("p", "training", "forward", "child", "b") if name in dir(m)])
    return plain(log)


def attribute_errors(T):
    nn = T.nn

    class Early(nn.Module):
        def __init__(self, value):
            self.early = value

    m = nn.Linear(2, 2)
    m.register_buffer("buf", T.zeros(1))
    m.sub = nn.ReLU()
    product = nn.Parameter(T.ones(1)) * 2
    return [
        attempt(lambda: m.nothing),
        attempt(lambda: setattr(m, "weight", 3)),
        attempt(lambda: setattr(m, "weight", T.ones(2, 2))),
        attempt(lambda: setattr(m, "sub", 3)),
        attempt(lambda: setattr(m, "sub", T.ones(2))),
        attempt(lambda: setattr(m, "buf", 3)),
        attempt(lambda: delattr(m, "nothing")),
        attempt(lambda: Early(nn.Parameter(T.ones(1)))),
        attempt(lambda: Early(nn.ReLU())),
        attempt(lambda: Early(nn.Buffer(T.ones(1)))),
        attempt(lambda: Early(3).early),
        attempt(lambda: m.register_parameter("a.b", None)),
        attempt(lambda: m.register_parameter("", None)),
        attempt(lambda: m.register_parameter("extra_repr", None)),
        attempt(lambda: m.register_parameter(3, None)),
        attempt(lambda: m.register_parameter("w", 3)),
        attempt(lambda: m.register_parameter("w", product)),
        attempt(lambda: m.register_buffer("a.b", None)),
        attempt(lambda: m.register_buffer("", None)),
        attempt(lambda: m.register_buffer("weight", None)),
        attempt(lambda: m.register_buffer(3, None)),
        attempt(lambda: m.register_buffer("w", 3)),
        attempt(lambda: m.add_module("a.b", None)),
        attempt(lambda: m.add_module("", None)),
        attempt(lambda: m.add_module("weight", None)),
        attempt(lambda: m.add_module(3, None)),
        attempt(lambda: m.add_module("w", 3)),
        attempt(lambda: nn.Module(3)),
        attempt(lambda: nn.Module(a=3)),
        attempt(lambda: nn.Module()(3)),
        attempt(lambda: m.train(1)),
    ]


def traversal(T):
    nn = T.nn
    m = net(T)
    shared = nn.Linear(2, 2)
    m.again = nn.ModuleList([shared, shared, nn.Sequential(shared)])
    m.tied = m.first.weight
    return plain(
        [
            [k for k, _ in m.named_parameters()],
            [k for k, _ in m.named_parameters(prefix="net", recurse=False)],
            [k for k, _ in m.named_parameters(remove_duplicate=False)],
            [k for k, _ in m.named_buffers()],
            [k for k, _ in m.named_modules()],
            [k for k, _ in m.named_modules(prefix="x", remove_duplicate=False)],
            [k for k, _ in m.named_children()],
            len(list(m.parameters())),
            len(list(m.parameters(recurse=False))),
            len(list(m.buffers())),
            len(list(m.modules())),
            len(list(m.children())),
            sum(p.numel() for p in m.parameters()),
        ]
    )


def by_name(T):
    m = net(T)
    log = [
        attempt(lambda: m.get_submodule("head.0")),
        attempt(lambda: m.get_submodule("") is m),
        attempt(lambda: m.get_submodule("head.7")),
        attempt(lambda: m.get_submodule("scale")),
        attempt(lambda: m.get_parameter("head.1.weight").shape[0]),
        attempt(lambda: m.get_parameter("head.1.nothing")),
        attempt(lambda: m.get_parameter("offset")),
        attempt(lambda: m.get_buffer("norm.running_mean")),
        attempt(lambda: m.get_buffer("scale")),
        attempt(lambda: m.get_buffer("none")),
        attempt(lambda: m.set_submodule("head.0", T.nn.Tanh())),
        attempt(lambda: m.set_submodule("new", T.nn.Tanh())),
        attempt(lambda: m.set_submodule("other", T.nn.Tanh(), strict=True)),
        attempt(lambda: m.set_submodule("scale", T.nn.Tanh())),
        attempt(lambda: m.set_submodule("", T.nn.Tanh())),
        attempt(lambda: m.set_submodule("first", 3)),
    ]
    return [*log, repr(m)]


def training_mode(T):
    m = net(T)
    log = [[child.training for child in m.modules()]]
    log.append(m.eval() is m)
    m.head.train()
    log.append([child.training for child in m.modules()])
    m.requires_grad_(False)
    log.append([p.requires_grad for p in m.parameters()])
    order = []
    m.apply(lambda child: order.append(type(child).__name__))
    return [*log, order]


def gradients(T):
    m = net(T)
    m(ramp(T, 5, 3)).sum().backward()
    log = [[k for k, p in m.named_parameters() if p.grad is not None]]
    kept = m.scale.grad
    m.zero_grad(set_to_none=False)
    log.append([m.scale.grad is kept, m.scale.grad, m.first.bias.grad])
    m.zero_grad()
    log.append([p.grad is None for p in m.parameters()])
    return plain(log)


def parameters(T):
    nn = T.nn
    p = nn.Parameter(T.tensor([1.0, 2.0]))
    q = copy.deepcopy(p)
    r = pickle.loads(pickle.dumps(p))
    r2 = pickle.loads(pickle.dumps(nn.Parameter(T.tensor([1.0]), requires_grad=False)))
    base = T.tensor([1.0, 2.0])
    shared = nn.Parameter(base)
    base[0] = 7.0
    b = nn.Buffer(T.ones(2))
    with T.no_grad():
        quiet = nn.Parameter(T.ones(1))
    return plain(
        [
            repr(p),
            repr(nn.Parameter(T.tensor([1.0]), requires_grad=False)),
            [isinstance(p, nn.Parameter), isinstance(p, T.Tensor), isinstance(base, nn.Parameter), p.is_leaf],
            [isinstance(q, nn.Parameter), q, q.requires_grad, q is p],
            [isinstance(r, nn.Parameter), r, r.requires_grad, r2.requires_grad, r2],
            [shared, nn.Parameter().shape[0], quiet.requires_grad],
            [type(p * 2) is T.Tensor, type(p.data) is T.Tensor, type(p.detach()) is T.Tensor],
            [isinstance(b, nn.Buffer), b.persistent, b.requires_grad, isinstance(T.ones(1), nn.Buffer)],
            attempt(lambda: nn.Parameter(T.tensor([1, 2]))),
            nn.Parameter(T.tensor([1, 2]), requires_grad=False),
        ]
    )


def copies(T):
    m = net(T)
    m.norm.eval()
    c = copy.deepcopy(m)
    same = [T.equal(a, b) and a is not b for a, b in zip(m.parameters(), c.parameters(), strict=True)]
    tied = T.nn.Module()
    tied.a = T.nn.Linear(2, 2)
    tied.b = tied.a
    tied_copy = copy.deepcopy(tied)
    s = pickle.loads(pickle.dumps(T.nn.Sequential(T.nn.Linear(2, 3), T.nn.BatchNorm1d(3), T.nn.Dropout(0.2)).eval()))
    return plain([same, c.norm.training, tied_copy.a is tied_copy.b, repr(s), s.training, list(s.state_dict())])


def registration_hooks(T):
    from_module = T.nn.modules.module
    log = []
    handles = [
        from_module.register_module_parameter_registration_hook(lambda m, n, p: log.append(["parameter", n])),
        from_module.register_module_buffer_registration_hook(lambda m, n, b: log.append(["buffer", n])),
        from_module.register_module_module_registration_hook(lambda m, n, c: log.append(["module", n])),
    ]
    net(T)
    for handle in handles:
        handle.remove()
    net(T)
    return log


# ------------------------------------------------------------------------------------------------------- state


def state(T):
    m = net(T)
    sd = m.state_dict()
    kept = m.state_dict(keep_vars=True)
    mine = OrderedDict()
    m.state_dict(destination=mine, prefix="net.")
    return plain(
        [
            type(sd).__name__,
            [[k, list(v.shape), v.requires_grad] for k, v in sd.items()],
            dict(sd._metadata),
            [kept["scale"] is m.scale, sd["scale"].data_ptr() == m.scale.data_ptr()],
            list(mine),
            warned(lambda: list(m.state_dict(OrderedDict(), "p.", True))[:2]),
        ]
    )


def loading(T):
    def changed(**changes):
        sd = net(T).state_dict()
        for key, value in changes.items():
            key = key.replace("__", ".")
            if value is None:
                del sd[key]
            else:
                sd[key] = value
        return sd

    load = lambda sd, **kw: attempt(lambda: net(T).load_state_dict(sd, **kw))  # noqa: E731
    wrong = changed(scale=T.ones(3), first__bias=None, extra=T.ones(1), head__5__w=T.ones(1))
    m = net(T)
    result = m.load_state_dict(changed(scale=T.tensor([5.0, 6.0])))
    old = OrderedDict((k, v) for k, v in changed().items() if "num_batches" not in k)  # without metadata
    return plain(
        [
            load(changed()),
            load(changed(scale=None)),
            load(changed(scale=None), strict=False),
            load(changed(extra=T.ones(1))),
            load(changed(extra=T.ones(1)), strict=False),
            load(wrong),
            load(changed(scale=T.ones(3)), strict=False),
            load(changed(scale=3)),
            load([1]),
            load(old),
            [repr(result), str(result), list(result), m.scale, result.missing_keys],
            [type(result).__name__, result._fields],
            load(changed(norm__num_batches_tracked=T.tensor([4]))),
        ]
    )


def assigning(T):
    m = net(T)
    sd = {k: v.clone().double() if v.is_floating_point() else v for k, v in m.state_dict().items()}
    m.scale.requires_grad_(False)
    m.load_state_dict(sd, assign=True)
    return plain(
        [
            str(m.scale.dtype),
            m.scale.requires_grad,
            m.first.weight.requires_grad,
            isinstance(m.scale, T.nn.Parameter),
            m.first.weight.data_ptr() == sd["first.weight"].data_ptr(),
            m.offset is sd["offset"],
        ]
    )


def state_hooks(T):
    log = []
    m = net(T)
    m.register_state_dict_pre_hook(lambda mod, prefix, keep: log.append(["pre", prefix, keep]))
    m.register_state_dict_post_hook(lambda mod, sd, prefix, meta: log.append(["post", len(sd), dict(meta)]))
    m.head.register_state_dict_pre_hook(lambda mod, prefix, keep: log.append(["head pre", prefix, keep]))
    m._register_state_dict_hook(lambda mod, sd, prefix, meta: OrderedDict(list(sd.items())[:1]))
    sd = m.state_dict()
    log.append(list(sd))

    def rename(mod, sd, prefix, meta, strict, missing, unexpected, errors):
        log.append(["load pre", type(mod).__name__, prefix, strict, len(sd)])
        if "old" in sd:
            sd["scale"] = sd.pop("old")

    full = net(T).state_dict()
    full["old"] = full.pop("scale")
    m.register_load_state_dict_pre_hook(rename)
    m.head._register_load_state_dict_pre_hook(lambda *a: log.append(["head load pre", a[1]]))
    m.register_load_state_dict_post_hook(lambda mod, keys: log.append(["load post", list(keys.missing_keys)]))
    log.append(repr(m.load_state_dict(full)))
    forgiving = net(T)
    forgiving.register_load_state_dict_post_hook(lambda mod, keys: keys.missing_keys.clear())
    del full["old"]
    log.append(repr(forgiving.load_state_dict(full)))
    bad = net(T)
    bad.register_load_state_dict_post_hook(lambda mod, keys: 3)
    log.append(attempt(lambda: bad.load_state_dict(full, strict=False)))
    worse = net(T)
    worse.register_state_dict_post_hook(lambda *a: 3)
    log.append(attempt(worse.state_dict))
    return plain(log)


def extra_state(T):
    class Counter(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    m = T.nn.Sequential(Counter(), T.nn.ReLU())
    m[0].count = 5
    sd = m.state_dict()
    n = T.nn.Sequential(Counter(), T.nn.ReLU())
    n.load_state_dict(sd)
    stray = OrderedDict(sd)
    stray["1._extra_state"] = 3
    return plain(
        [
            dict(sd),
            n[0].count,
            attempt(lambda: n.load_state_dict({})),
            attempt(lambda: n.load_state_dict(stray)),
            attempt(T.nn.ReLU().get_extra_state)[:60],
        ]
    )


# ------------------------------------------------------------------------------------------------------- hooks


def forward_hooks(T):
    log = []

    class Add(T.nn.Module):
        def forward(self, x, y=1):
            log.append(["forward", x, y])
            return x + y

    def pre(mod, args):
        log.append(["pre", args])

    def pre_change(mod, args):
        return args[0] * 10

    def pre_kwargs(mod, args, kwargs):
        log.append(["pre kwargs", args, sorted(kwargs)])
        return args, {"y": 100}

    def post(mod, args, out):
        log.append(["post", args, out])

    def post_change(mod, args, kwargs, out):
        return out + 0.5 + len(kwargs)

    m = Add()
    m.register_forward_pre_hook(pre)
    changing = m.register_forward_pre_hook(pre_change, prepend=True)
    m.register_forward_pre_hook(pre_kwargs, with_kwargs=True)
    m.register_forward_hook(post)
    m.register_forward_hook(post_change, prepend=True, with_kwargs=True)
    log.append(m(3, y=2))
    changing.remove()
    changing.remove()
    log.append(m(3))
    with m.register_forward_pre_hook(pre_change):
        log.append(m(4))
    log.append([len(m._forward_pre_hooks), len(m._forward_pre_hooks_with_kwargs), len(m._forward_hooks)])
    m.register_forward_pre_hook(lambda mod, a, k: 3, with_kwargs=True)
    log.append(attempt(lambda: m(1)))
    return plain(log)


def global_hooks(T):
    modules = T.nn.modules.module
    log = []
    m = T.nn.Sequential(T.nn.ReLU(), T.nn.Tanh())
    m[0].register_forward_hook(lambda mod, a, out: log.append("own"))
    handles = [
        modules.register_module_forward_pre_hook(lambda mod, a: log.append(["pre", type(mod).__name__])),
        modules.register_module_forward_hook(lambda mod, a, out: log.append(["post", type(mod).__name__])),
        modules.register_module_forward_hook(lambda mod, a, k, out: log.append(["kw", sorted(k)]), with_kwargs=True),
        modules.register_module_full_backward_pre_hook(lambda mod, g: log.append(["bpre", type(mod).__name__])),
        modules.register_module_full_backward_hook(lambda mod, gi, go: log.append(["bpost", type(mod).__name__])),
    ]
    m(T.ones(1, requires_grad=True)).sum().backward()
    for handle in handles:
        handle.remove()
    log.append("removed")
    m(T.ones(1))
    return plain(log)


def always_called(T):
    log = []

    class Fails(T.nn.Module):
        def forward(self, x):
            raise ValueError("no")

    m = Fails()
    m.register_forward_hook(lambda mod, a, out: log.append("never"))
    m.register_forward_hook(lambda mod, a, out: log.append(["always", a, out]), always_call=True)
    m.register_forward_hook(lambda mod, a, k, out: log.append(sorted(k)), always_call=True, with_kwargs=True)

    def broken(mod, a, out):
        raise KeyError("hook")

    m.register_forward_hook(broken, always_call=True)
    log.append(warned(lambda: m(3)))
    good = T.nn.Identity()
    good.register_forward_hook(lambda mod, a, out: log.append("first"), always_call=True)
    good.register_forward_hook(broken, always_call=True)
    log.append(attempt(lambda: good(1)))
    return plain(log)


def full_backward_hooks(T):
    log = []

    class Two(T.nn.Module):
        def forward(self, x, scale, y):
            return x * scale + y, 2 * y, "text"

    m = Two()
    m.register_full_backward_pre_hook(lambda mod, go: log.append(["pre", go]))
    m.register_full_backward_hook(lambda mod, gi, go: log.append(["full", gi, go]))
    x, y = T.tensor([1.0, 2.0], requires_grad=True), T.tensor([3.0, 4.0], requires_grad=True)
    a, b, _ = m(x, 3, y)
    (a.sum() + b.sum()).backward()
    log.append([x.grad, y.grad])
    (m(x, 3, y)[0].sum()).backward()

    m = T.nn.Linear(2, 1)
    with T.no_grad():
        m.weight.copy_(T.tensor([[1.0, 2.0]]))
        m.bias.zero_()
    m.register_full_backward_pre_hook(lambda mod, go: (go[0] * 10,))
    m.register_full_backward_hook(lambda mod, gi, go: (gi[0] + 0.5,))
    m.register_full_backward_hook(lambda mod, gi, go: log.append(["first", gi, go]), prepend=True)
    x = T.tensor([[1.0, 2.0]], requires_grad=True)
    out = m(x)
    log.append(type(out.grad_fn).__name__)
    out.sum().backward()
    log.append([x.grad, m.weight.grad])
    log.append(warned(lambda: m(T.ones(1, 2)).sum().backward()))
    with T.no_grad():
        log.append(m(x))
    wrong = T.nn.ReLU()
    wrong.register_full_backward_hook(lambda mod, gi, go: (None, None))
    log.append(attempt(lambda: wrong(x).sum().backward()))
    wrong = T.nn.ReLU()
    wrong.register_full_backward_pre_hook(lambda mod, go: (None, None))
    log.append(attempt(lambda: wrong(x).sum().backward()))
    return plain(log)


def legacy_backward_hooks(T):
    log = []
    m = T.nn.ReLU()
    m.register_backward_hook(lambda mod, gi, go: log.append([type(mod).__name__, gi, go]))
    x = T.tensor([1.0, -2.0], requires_grad=True)
    m(x * 1).sum().backward()
    log.append(attempt(lambda: m.register_full_backward_hook(print)))
    n = T.nn.ReLU()
    n.register_full_backward_hook(print)
    log.append(attempt(lambda: n.register_backward_hook(print)))
    s = T.nn.Sequential(T.nn.ReLU(), T.nn.Tanh())
    s.register_backward_hook(lambda mod, gi, go: log.append(["chain", gi, go]))
    log.append(warned(lambda: s(x).sum().backward()))
    return plain(log)


# -------------------------------------------------------------------------------------------------- conversions


def conversions(T):
    m = net(T)
    kinds = lambda: [str(p.dtype) for p in m.parameters()][:2] + [str(b.dtype) for b in m.buffers()]  # noqa: E731
    log = [kinds()]
    m(ramp(T, 5, 3)).sum().backward()
    weight, grad = m.first.weight, m.first.weight.grad
    m.double()
    log += [kinds(), [m.first.weight is weight, m.first.weight.grad is grad, str(grad.dtype)]]
    m.to(T.float32)
    log.append(kinds())
    m.to("cpu", T.float64, non_blocking=True)
    log.append(kinds())
    m.to(T.ones(1))
    log.append(kinds())
    m.to(dtype=T.float64, device=T.device("cpu"))
    log.append(kinds())
    m.float().half()
    log.append(kinds())
    m.bfloat16()
    log.append(kinds())
    log.append([m.cpu() is m, m.to("cpu") is m])
    log.append(attempt(lambda: m.to(T.int64)))
    log.append(attempt(lambda: m.to("nowhere")).split(":")[0])
    log.append(attempt(lambda: m.to([])).split("\n")[0].split(" - ")[0])
    m.type(T.float32)
    log.append(kinds())
    e = T.nn.Linear(2, 3).to_empty(device="cpu")
    log.append([list(e.weight.shape), e.weight.requires_grad])
    return plain(log)


# --------------------------------------------------------------------------------------------------- containers


def sequential(T):
    nn = T.nn
    names = lambda m: [[k, type(v).__name__] for k, v in m.named_children()]  # noqa: E731
    s = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())
    o = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    log = [names(s), names(o), repr(s[-1]), repr(o[1]), names(s[1:]), names(o[:1]), len(s), names(s + o), names(s * 2)]
    log += [names(2 * o), [type(m).__name__ for m in s], attempt(lambda: s[3]), attempt(lambda: s * 0)]
    log += [attempt(lambda: s * 1.5), attempt(lambda: s + 3), attempt(lambda: s.insert(9, nn.ReLU()))]
    s += nn.Sequential(nn.ELU())
    s *= 2
    log.append(names(s))
    del s[0]
    log.append(names(s))
    del s[::2]
    log.append(names(s))
    log.append([repr(s.pop(0)), names(s)])
    s.insert(0, nn.GELU()).append(nn.ReLU6()).extend([nn.SELU()])
    log.append(names(s))
    s.insert(-1, nn.CELU())
    s[0] = nn.Softsign()
    o.b = nn.Hardtanh()
    log += [names(s), names(o), attempt(lambda: nn.Sequential(3)), attempt(lambda: s.insert(0, 3)).split("<")[0]]
    log += [nn.Sequential(nn.ReLU(), nn.Identity())(T.tensor([-1.0, 1.0])), nn.Sequential()(3)]
    return plain(log)


def module_list(T):
    nn = T.nn
    names = lambda m: [[k, type(v).__name__] for k, v in m.named_children()]  # noqa: E731
    m = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    log = [names(m), repr(m[-1]), names(m[:1]), type(m[:1]).__name__, len(m), attempt(lambda: m[2])]
    m.append(nn.ELU()).extend([nn.SELU(), nn.CELU()])
    m += [nn.GELU()]
    m.insert(1, nn.Sigmoid())
    log.append(names(m))
    del m[0]
    del m[-2:]
    log += [names(m), names(m + [nn.ReLU()]), repr(m.pop(1)), names(m)]
    m[0] = nn.Softsign()
    log += [names(m), attempt(lambda: m.extend(3)), attempt(lambda: m.append(3)), attempt(lambda: m(3))]
    log += [[k for k in dir(m) if k.isdigit()], list(nn.ModuleList([nn.Linear(1, 1)]).state_dict())]
    return plain(log)


def module_dict(T):
    nn = T.nn
    m = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
    log = [list(m), list(m.keys()), [repr(v) for v in m.values()], [k for k, _ in m.items()], "a" in m, len(m)]
    m.update([("c", nn.ELU()), ["a", nn.Sigmoid()]])
    m["d"] = nn.GELU()
    log += [list(m), repr(m), repr(m.pop("b")), list(m), attempt(lambda: m["z"]), attempt(lambda: m.update(3))]
    log += [attempt(lambda: m.update([3])).split(";")[0], attempt(lambda: m.update([(1, 2, 3)]))]
    log += [attempt(lambda: m.__setitem__("e", 3)), attempt(lambda: m.__setitem__("keys", nn.ReLU()))]
    del m["a"]
    log.append(list(m))
    m.clear()
    return plain([*log, len(m), repr(m)])


def parameter_list(T):
    nn = T.nn
    m = nn.ParameterList([T.ones(2), nn.Parameter(T.ones(1, 3)), 5])
    log = [len(m), repr(m), [k for k, _ in m.named_parameters()], m[-1], m[0], attempt(lambda: m[3])]
    m.append(T.zeros(1)).extend([nn.Parameter(T.ones(1))])
    m += ["x"]
    m[0] = T.zeros(2)
    log += [len(m), [k for k, _ in m.named_parameters()], m[0], repr(m[1:4:2]), list(m.state_dict())]
    log += [attempt(lambda: m.extend(T.ones(2))), attempt(lambda: m.extend(3)), attempt(lambda: m(3))]
    return plain(log)


def parameter_dict(T):
    nn = T.nn
    m = nn.ParameterDict({"b": T.ones(2), "a": nn.Parameter(T.ones(3)), "n": 5})
    log = [list(m), [k for k, _ in m.named_parameters()], len(m), "a" in m, m["n"], m.get("z", 7), list(reversed(m))]
    m.update(nn.ParameterDict([("c", T.zeros(1))]))
    log += [m.setdefault("c", 1), m.setdefault("d"), list(m | {"e": T.ones(1)}), list(m.copy()), m.popitem(), list(m)]
    m |= {"z": T.ones(1), "y": T.ones(1)}
    del m["n"]
    log += [m.pop("y"), list(m), list(m.fromkeys(["q"], 3).items()), list(m.state_dict()), attempt(lambda: m["w"])]
    log += [attempt(lambda: m(3)), attempt(lambda: m.update(3)), attempt(lambda: m.update([(1, 2, 3)]))]
    m.clear()
    return plain([*log, len(m), repr(m)])


def printing(T):
    nn = T.nn

    class Lines(nn.Module):
        def extra_repr(self):
            return "one=1\ntwo=2"

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.child = Lines()

        def extra_repr(self):
            return "width=3"

    block = lambda: nn.Sequential(nn.Linear(2, 2), nn.ReLU())  # noqa: E731
    return [
        repr(nn.Module()),
        repr(Lines()),
        repr(Both()),
        repr(net(T)),
        repr(nn.Sequential(Both(), nn.Sequential(block()))),
        repr(nn.ModuleList([block(), block(), nn.ReLU(), block()])),
        repr(nn.ModuleList([nn.Linear(1, 1) for _ in range(3)])),
        repr(nn.ModuleList()),
        repr(nn.Sequential()),
        repr(nn.ModuleDict({"x": nn.ModuleList([nn.ReLU(), nn.ReLU()])})),
    ]


LAYERS = [
    "Identity(1, b=2)", "Linear(3, 4)", "Linear(3, 4, bias=False)", "Bilinear(2, 3, 4)",
    "Bilinear(2, 3, 4, bias=False)", "Conv1d(4, 6, 3)", "Conv2d(4, 6, (3, 5), stride=2, padding=1)",
    "Conv2d(4, 6, 3, padding='same', dilation=2)", "Conv2d(4, 6, 3, padding='valid')",
    "Conv2d(4, 6, 3, groups=2, bias=False, padding_mode='reflect')", "Conv3d(4, 2, 3, padding=(1, 2, 3))",
    "ConvTranspose1d(4, 6, 3, output_padding=1, stride=2)",
    "ConvTranspose2d(4, 6, 3, stride=(2, 1), padding=1, groups=2)", "ConvTranspose3d(2, 2, 2, bias=False)",
    "MaxPool1d(2)", "MaxPool2d(2, 1, 1)", "MaxPool2d((2, 3), ceil_mode=True)", "MaxPool3d(2)", "AvgPool1d(2)",
    "AvgPool1d(3, stride=2)", "AvgPool2d(2, padding=1)", "AvgPool3d(2)", "LPPool1d(2, 3)", "LPPool2d(2, 3, stride=2)",
    "LPPool3d(2, 3)", "AdaptiveAvgPool1d(3)", "AdaptiveAvgPool2d((3, None))", "AdaptiveAvgPool3d(3)",
    "AdaptiveMaxPool1d(3)", "AdaptiveMaxPool2d((3, None))", "AdaptiveMaxPool3d(3)", "MaxUnpool1d(2)",
    "MaxUnpool2d(2, 1, 1)", "MaxUnpool3d(2)", "BatchNorm1d(4)", "BatchNorm2d(4, momentum=None, affine=False)",
    "BatchNorm3d(4, track_running_stats=False)", "InstanceNorm1d(4)", "InstanceNorm2d(4, affine=True)",
    "InstanceNorm3d(4, track_running_stats=True)", "LayerNorm(4)", "LayerNorm([4, 5], elementwise_affine=False)",
    "LayerNorm(4, bias=False)", "GroupNorm(2, 4)", "GroupNorm(2, 4, affine=False)", "RMSNorm(4)",
    "RMSNorm(4, eps=1e-6)", "LocalResponseNorm(2)", "Dropout()", "Dropout(0.2, inplace=True)", "Dropout1d(0.3)",
    "Dropout2d(0.3)", "Dropout3d(0.3)", "AlphaDropout(0.2)", "FeatureAlphaDropout(0.2)", "Embedding(3, 4)",
    "Embedding(3, 4, padding_idx=-1)", "Embedding(3, 4, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True)",
    "EmbeddingBag(3, 4)", "EmbeddingBag(3, 4, mode='max', padding_idx=1)",
    "EmbeddingBag(3, 4, max_norm=1.0, norm_type=1.0)", "Flatten()", "Flatten(0, 2)", "Unflatten(1, (2, 3))", "ReLU()",
    "ReLU(inplace=True)", "ReLU6()", "ReLU6(True)", "LeakyReLU()", "LeakyReLU(0.2, True)", "PReLU()", "PReLU(3)",
    "ELU()", "ELU(0.5, inplace=True)", "SELU()", "SELU(True)", "CELU(0.5)", "GELU()", "GELU('tanh')", "SiLU()",
    "Mish(True)", "Sigmoid()", "Tanh()", "Softplus()", "Softplus(2, 10)", "Softsign()", "Softmax()", "Softmax(dim=1)",
    "LogSoftmax(dim=-1)", "Softmin(dim=1)", "Softmax2d()", "Hardtanh()", "Hardtanh(-2, 2, True)", "Hardsigmoid(True)",
    "Hardswish()", "Hardshrink()", "Softshrink(0.3)", "Tanhshrink()", "Threshold(0.1, 20)",
    "Threshold(0.1, 20, True)", "LogSigmoid()", "GLU()", "GLU(1)", "RReLU()", "RReLU(0.1, 0.2, True)",
    "CrossEntropyLoss()", "CrossEntropyLoss(reduction='sum', label_smoothing=0.1)", "NLLLoss()", "MSELoss()",
    "L1Loss()", "SmoothL1Loss(beta=0.5)", "HuberLoss(delta=0.5)", "BCELoss()", "BCEWithLogitsLoss()", "KLDivLoss()",
    "CosineEmbeddingLoss()", "MarginRankingLoss()", "TripletMarginLoss()", "TripletMarginWithDistanceLoss()",
    "HingeEmbeddingLoss()", "SoftMarginLoss()", "MultiMarginLoss()", "MultiLabelMarginLoss()",
    "MultiLabelSoftMarginLoss()", "PoissonNLLLoss()", "GaussianNLLLoss()", "CTCLoss()", "CosineSimilarity()",
    "PairwiseDistance()", "PixelShuffle(2)", "PixelUnshuffle(2)", "ChannelShuffle(2)", "Upsample(scale_factor=2)",
    "Upsample(size=(3, 4), mode='bilinear')", "Upsample(scale_factor=(2, 3))", "UpsamplingNearest2d(scale_factor=2)",
    "UpsamplingBilinear2d(size=3)", "Fold(4, 2)", "Unfold(2, padding=1)", "ConstantPad1d(2, 3.5)",
    "ConstantPad2d((1, 2, 3, 4), 0)", "ConstantPad3d(1, 0)", "ReflectionPad1d(2)", "ReflectionPad2d((1, 2, 3, 4))",
    "ReflectionPad3d(1)", "ReplicationPad1d(2)", "ReplicationPad2d(1)", "ReplicationPad3d(1)", "ZeroPad1d(2)",
    "ZeroPad2d((1, 2, 3, 4))", "ZeroPad3d(1)", "CircularPad1d(1)", "CircularPad2d(1)",
    "CircularPad3d((1, 2, 3, 4, 5, 6))",
]  # fmt: skip


def layers(T):
    """Printed form, state keys with shapes, and parameters after a seed, bit for bit."""
    log = []
    for source in LAYERS:
        T.manual_seed(11)
        m = eval("nn." + source, {"nn": T.nn})
        log.append([source, repr(m), [[k, list(v.shape), str(v.dtype)] for k, v in m.state_dict().items()]])
        log.append([p.detach().double().flatten()[:40].tolist() for p in m.parameters()])
    return plain(log)


LAYER_ERRORS = [
    "Conv2d(3, 4, 3, groups=0)", "Conv2d(3, 4, 3, groups=2)", "Conv2d(4, 3, 3, groups=2)",
    "Conv2d(3, 4, 3, 2, 'same')", "ConvTranspose2d(3, 4, 3, padding_mode='reflect')", "Bilinear(0, 2, 3)",
    "Dropout(1.5)", "Dropout(-0.1)", "GroupNorm(3, 4)", "Embedding(3, 4, padding_idx=3)",
    "Embedding(3, 4, padding_idx=-4)", "EmbeddingBag(3, 4, padding_idx=3)", "Unflatten(1, 3)",
    "Unflatten(1, (2, 'a'))", "Hardtanh(1, 1)", "MultiMarginLoss(p=3)", "TripletMarginLoss(margin=0)",
    "TripletMarginWithDistanceLoss(margin=-1)", "HuberLoss(delta='a')",
]  # fmt: skip


def layer_errors(T):
    return [attempt(lambda source=source: eval("nn." + source, {"nn": T.nn})) for source in LAYER_ERRORS]


# --------------------------------------------------------------------------------------------------------- init

INIT = [
    ("uniform_", (3, 4), {}), ("uniform_", (20,), {"a": -2.0, "b": 3.0}), ("normal_", (3, 4), {}),
    ("normal_", (40,), {"mean": 1.0, "std": 0.2}), ("constant_", (3,), {"val": 0.3}), ("ones_", (3,), {}),
    ("zeros_", (3,), {}), ("eye_", (3, 5), {}), ("dirac_", (4, 3, 3), {}), ("dirac_", (4, 2, 3, 2), {"groups": 2}),
    ("dirac_", (3, 3, 1, 3, 2), {}), ("xavier_uniform_", (3, 5), {}), ("xavier_uniform_", (3, 5, 2), {"gain": 1.5}),
    ("xavier_normal_", (3, 7), {}), ("kaiming_uniform_", (3, 5), {}),
    ("kaiming_uniform_", (4, 5, 3), {"mode": "fan_out"}),
    ("kaiming_uniform_", (3, 5), {"a": 0.3, "nonlinearity": "leaky_relu"}),
    ("kaiming_normal_", (5, 5), {"nonlinearity": "relu"}), ("kaiming_normal_", (5, 5), {"mode": "fan_out"}),
    ("trunc_normal_", (40,), {}), ("trunc_normal_", (5, 5), {"std": 0.02}),
    ("trunc_normal_", (40,), {"a": -0.5, "b": 0.4}), ("trunc_normal_", (40,), {"a": 0.5, "b": 0.7}),
    ("trunc_normal_", (20,), {"mean": 1.0, "std": 2.0, "a": 2.5, "b": 3.0}), ("sparse_", (6, 4), {"sparsity": 0.4}),
    ("sparse_", (6, 4), {"sparsity": 0.9, "std": 1.0}),
]  # fmt: skip


def init(T):
    """Values after a seed, and the next draw, which shows how much of the stream was used."""
    log = []
    for name, shape, options in INIT:
        function = getattr(T.nn.init, name)
        T.manual_seed(5)
        tensor = T.empty(*shape)
        same = function(tensor, **options) is tensor
        log.append([name, same, tensor.double().flatten().tolist(), T.rand(1).item()])
        if "val" not in options and name not in ("ones_", "zeros_", "eye_", "dirac_", "sparse_"):
            generator = T.Generator().manual_seed(9)
            log.append(function(T.empty(*shape), **options, generator=generator).double().flatten()[:5].tolist())
    return plain(log)


def orthogonal(T):
    log = []
    for shape, gain in (((4, 4), 1), ((3, 5), 2.0), ((5, 3), 1), ((2, 3, 2), 1)):
        T.manual_seed(5)
        log.append([T.nn.init.orthogonal_(T.empty(*shape), gain).flatten().tolist(), T.rand(1).item()])
    return log


def init_facts(T):
    I = T.nn.init  # noqa: E741
    gains = ["linear", "conv2d", "conv_transpose1d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"]
    return [
        [I.calculate_gain(name) for name in gains],
        I.calculate_gain("leaky_relu", 0.5),
        attempt(lambda: I.calculate_gain("leaky_relu", True)),
        attempt(lambda: I.calculate_gain("what")),
        I._calculate_fan_in_and_fan_out(T.empty(3, 5, 2, 2)),
        attempt(lambda: I.xavier_uniform_(T.empty(3))),
        attempt(lambda: I.kaiming_uniform_(T.empty(3, 3), mode="fan")),
        attempt(lambda: I.eye_(T.empty(3))),
        attempt(lambda: I.sparse_(T.empty(3), 0.1)),
        attempt(lambda: I.orthogonal_(T.empty(3))),
        attempt(lambda: I.dirac_(T.empty(3))),
        attempt(lambda: I.dirac_(T.empty(3, 3, 3), groups=2)),
        warned(lambda: I.kaiming_uniform_(T.empty(0, 3)).numel()),
        warned(lambda: I.constant(T.empty(2), 3.0)),
        warned(lambda: I.trunc_normal_(T.empty(2), mean=9.0).numel()),
        I.ones_(T.nn.Parameter(T.zeros(1))).requires_grad,
    ]


# ------------------------------------------------------------------------------------------------------ clipping


def clipping(T):
    U = T.nn.utils

    def grads():
        ps = [T.nn.Parameter(T.zeros(3)), T.nn.Parameter(T.zeros(2, 2)), T.nn.Parameter(T.zeros(1))]
        ps[0].grad = T.tensor([3.0, -4.0, 0.5])
        ps[1].grad = T.tensor([[1.0, 2.0], [-3.0, 0.0]])
        return ps

    log = []
    for max_norm, norm_type in ((1.0, 2.0), (100.0, 2), (1.0, float("inf")), (2.5, 1), (1.0, 3.0)):
        ps = grads()
        total = U.clip_grad_norm_(ps, max_norm, norm_type)
        log.append([total.item(), total.dim(), [p.grad for p in ps]])
    ps = grads()
    U.clip_grad_value_(iter(ps), 1)
    log.append([p.grad for p in ps])
    ps = grads()
    log.append([U.get_total_norm([p.grad for p in ps[:2]]).item(), U.get_total_norm([]).item()])
    U.clip_grads_with_norm_(ps, 1.0, T.tensor(10.0))
    log.append(ps[0].grad)
    log.append([U.clip_grad_norm_(grads()[0], 1.0, foreach=False).item(), U.clip_grad_norm_([], 1.0).item()])
    ps[0].grad[0] = float("nan")
    log.append(attempt(lambda: U.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True)))
    log.append(warned(lambda: U.clip_grad_norm_((p for p in []), 1.0).item()))
    log.append(warned(lambda: U.clip_grad_norm(grads(), 1.0).item()))
    m = net(T)
    vector = U.parameters_to_vector(m.parameters())
    log.append([vector.shape[0], vector.requires_grad])
    U.vector_to_parameters(T.arange(vector.shape[0]).float(), m.parameters())
    log += [m.scale, m.head[1].weight, attempt(lambda: U.vector_to_parameters([1], m.parameters()))]
    return plain(log)


def losses(T):
    """torch's older arguments, and its warnings about sizes."""
    nn = T.nn
    x, y = T.tensor([[1.0, 2.0], [3.0, 5.0]]), T.tensor([[1.5, 1.0], [3.0, 4.0]])
    log = []
    for options in ({"reduce": False}, {"size_average": False}, {"size_average": True}, {"reduce": True}):
        log.append(warned(lambda options=options: nn.MSELoss(**options)(x, y)))
        log.append(warned(lambda options=options: nn.functional.l1_loss(x, y, **options)))
    log.append(warned(lambda: nn.functional.mse_loss(x, y[0])))
    log.append(warned(lambda: nn.functional.kl_div(x, y)))
    log.append(warned(lambda: nn.functional.kl_div(x, y, reduction="batchmean")))
    log.append(attempt(lambda: nn.functional.mse_loss(x, y, reduction="what")))
    log.append(attempt(lambda: nn.functional.binary_cross_entropy(x, y[0])))
    log.append(attempt(lambda: nn.functional.binary_cross_entropy_with_logits(x, y[0])))
    log.append(attempt(lambda: nn.functional.dropout(x, 2.0)))
    log.append(warned(lambda: nn.functional.softmax(x)))
    log.append(attempt(lambda: nn.BatchNorm1d(2)(x[:1])))
    log.append(attempt(lambda: nn.BatchNorm2d(2)(x)))
    log.append(attempt(lambda: nn.InstanceNorm2d(2)(x)))
    log.append(attempt(lambda: nn.Softmax2d()(x)))
    return log


SCENARIOS = {
    f.__name__: f
    for f in (
        attributes, attribute_errors, traversal, by_name, training_mode, gradients, parameters, copies,
        registration_hooks, state, loading, assigning, state_hooks, extra_state, forward_hooks, global_hooks,
        always_called, full_backward_hooks, legacy_backward_hooks, conversions, sequential, module_list, module_dict,
        parameter_list, parameter_dict, printing, layers, layer_errors, init, init_facts, clipping, losses,
    )
}  # fmt: skip
TO_ROUNDING = {"orthogonal": orthogonal}
