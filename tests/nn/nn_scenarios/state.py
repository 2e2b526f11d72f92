"""State dictionaries, out and in."""

from collections import OrderedDict

from .answers import attempt, net, plain, warned


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


SCENARIOS = {f.__name__: f for f in (state, loading, assigning, state_hooks, extra_state)}
