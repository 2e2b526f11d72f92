"""Attributes, traversal, parameters, copies, conversions."""

import copy
import pickle

from .answers import attempt, net, plain, ramp


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


def unusual(T):
    """Subclasses that override what Module does, or share it with another base."""
    nn = T.nn
    log = []

    class Mixin:
        def __init__(self, width=0):
            self.width = width
            super().__init__()

    class First(Mixin, nn.Module):
        pass

    class Cooperative(nn.Module, Mixin):
        call_super_init = True

        def __init__(self):
            super().__init__(width=7)

    log += [attempt(lambda: First(3).width), Cooperative().width, First(3).training]

    class Fallback(nn.Module):
        def __getattr__(self, name):
            if name == "ghost":
                return "seen"
            return super().__getattr__(name)

    log += [Fallback().ghost, attempt(lambda: Fallback().other)]

    class Broken(nn.Module):
        @property
        def value(self):
            return self.missing

    log.append(attempt(lambda: Broken().value))

    class Derived(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = nn.Parameter(T.ones(2))

        @property
        def doubled(self):
            return self.base * 2

    log += [
        Derived().doubled,
        attempt(lambda: setattr(Derived(), "doubled", 3)),
        [k for k, _ in Derived().named_parameters()],
    ]

    m = nn.Linear(2, 2)
    m.forward = lambda x: "replaced"
    log.append(m(1))
    m._parameters["weight"] = None
    log += [m.weight, [k for k, _ in m.named_parameters()], list(m.state_dict())]
    n = nn.Linear(2, 2)
    del n.weight
    n.weight = T.ones(2, 2)  # as weight normalization does: a plain attribute now
    log += ["weight" in n.__dict__, n(T.ones(1, 2)).shape[0], [k for k, _ in n.named_parameters()]]
    h = nn.Sequential(nn.ReLU())
    h.register_load_state_dict_pre_hook(lambda module, *rest: log.append(module is c))
    h[0].register_forward_hook(lambda module, args, out: log.append(module is c[0]))
    c = copy.deepcopy(h)
    c.load_state_dict({})
    c(T.ones(1))
    log.append(len(c._load_state_dict_pre_hooks))
    return plain(log)


SCENARIOS = {
    f.__name__: f
    for f in (
        attributes,
        attribute_errors,
        traversal,
        by_name,
        training_mode,
        gradients,
        parameters,
        copies,
        registration_hooks,
        conversions,
        unusual,
    )
}
