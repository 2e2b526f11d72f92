"""Forward and backward hooks."""

from .answers import attempt, plain, warned


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


SCENARIOS = {
    f.__name__: f for f in (forward_hooks, global_hooks, always_called, full_backward_hooks, legacy_backward_hooks)
}
