"""Containers, and how modules are printed."""

from collections import OrderedDict

from .answers import attempt, net, plain


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
    log += [names(m), names(m + nn.ModuleList([nn.ReLU()])), repr(m.pop(1)), names(m)]
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


SCENARIOS = {f.__name__: f for f in (sequential, module_list, module_dict, parameter_list, parameter_dict, printing)}
