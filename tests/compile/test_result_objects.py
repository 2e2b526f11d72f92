"""Results that are objects of the program's own classes: made in each call, a replay makes new ones like them."""

import copy
import functools
import inspect
import sys
import types
import warnings
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from enum import Enum

import pytest

import rushlight as torch
from rushlight import nn


class Layer:
    def __init__(self):
        self.keys = None
        self.is_filled = False
        self.device = None

    def update(self, keys):
        if not self.is_filled:
            self.keys, self.device, self.is_filled = torch.tensor([]), keys.device, True
        self.keys = torch.cat([self.keys, keys], dim=-1)


class Cache:
    kind = "of the class"

    def __init__(self, count):
        self.layers = [Layer() for _ in range(count)]
        self.name, self.sizes = "cache", {"layers": count}

    def __len__(self):
        return len(self.layers)


@dataclass
class Output(OrderedDict):
    """As transformers' outputs: a dict, and attributes of the same names; some fields are not in the dict."""

    loss: object = None
    logits: object = None
    cache: object = None
    attentions: object = None

    def __post_init__(self):
        for name in ("loss", "logits", "cache"):
            OrderedDict.__setitem__(self, name, getattr(self, name))

    def __setitem__(self, key, value):
        raise TypeError("a replay does not call this")


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(4, 6), nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        cache = Cache(2)
        x = torch.tanh(self.first(x))
        cache.layers[0].update(x * 2)
        x = torch.tanh(self.second(x) + cache.layers[0].keys)
        cache.layers[1].update(x)
        logits = self.head(x)
        return Output(logits.square().mean(), logits, cache)


def calls(module, count=6, **options):
    """What a compiled module returns, and what it returns by its operators, for inputs of their own."""
    torch.manual_seed(0)
    compiled = torch.compile(module, **options)
    inputs = [torch.randn(5, 4) for _ in range(count)]
    return [(compiled(x), module(x)) for x in inputs]


def test_objects_are_new_in_each_call_and_hold_what_the_call_gives():
    pairs = calls(Decoder(), fullgraph=True)
    for out, plain in pairs:
        assert type(out) is Output and list(out) == list(plain) == ["loss", "logits", "cache"]
        assert vars(out).keys() == vars(plain).keys() and out.attentions is None
        assert out.cache is OrderedDict.__getitem__(out, "cache") and out.loss is OrderedDict.__getitem__(out, "loss")
        assert type(out.cache) is Cache and len(out.cache) == 2 and out.cache.kind == "of the class"
        assert list(vars(out.cache.layers[0])) == list(vars(plain.cache.layers[0]))
        assert out.cache.layers[1].device == torch.device("cpu") and out.cache.sizes == {"layers": 2}
        torch.testing.assert_close(out.logits, plain.logits)
        for a, b in zip(out.cache.layers, plain.cache.layers, strict=True):
            torch.testing.assert_close(a.keys, b.keys)
    results = [out for out, _ in pairs]
    for part in (
        lambda o: o,
        lambda o: o.cache,
        lambda o: o.cache.layers,
        lambda o: o.cache.layers[0],
        lambda o: o.cache.sizes,
    ):
        assert len({id(part(o)) for o in results}) == len(results)
    results[-2].cache.sizes["layers"] = 7
    assert results[-1].cache.sizes == {"layers": 2}


def test_gradients_of_what_an_object_holds():
    module = Decoder()
    found = []
    for out, plain in calls(module, fullgraph=True)[-1:]:
        for result in (out, plain):
            total = result.loss + result.cache.layers[0].keys.sum() + result.cache.layers[1].keys.square().sum()
            found.append(torch.autograd.grad(total, list(module.parameters()), retain_graph=True))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


@dataclass(frozen=True)
class Pair:
    first: object
    second: object = field(default=None)


class Slotted:
    __slots__ = ("missing", "x")

    def __init__(self, x):
        self.x = x


class Named(list):
    def __init__(self, items, name):
        super().__init__(items)
        self.name = name


class Returns(nn.Module):
    def __init__(self, make):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.make = make
        self.kept = Pair(1, 2)
        self.list = [1, 2]

    def forward(self, x):
        y = torch.sin(x) * self.weight
        return self.make(y, self)


def with_more(y, module):
    pair = Pair(y, 1)
    object.__setattr__(pair, "third", y + 1)  # not a field
    return pair


def test_kinds_of_objects():
    for out, plain in calls(
        Returns(lambda y, m: (Slotted(y), Named([y, y + 1], "n"), OrderedDict(b=y, a=1))), fullgraph=True
    ):
        torch.testing.assert_close(out[0].x, plain[0].x)
        assert not hasattr(out[0], "missing")
        assert type(out[1]) is Named and out[1].name == "n" and out[1][0] is out[0].x
        torch.testing.assert_close(list(out[1]), list(plain[1]))
        assert type(out[2]) is OrderedDict and list(out[2]) == ["b", "a"]
    for out, plain in calls(Returns(with_more), fullgraph=True):
        torch.testing.assert_close(out.third, plain.third)


def test_distributions_are_results():
    for out, plain in calls(Returns(lambda y, m: torch.distributions.Normal(y, y.exp())), fullgraph=True):
        assert type(out) is torch.distributions.Normal
        torch.testing.assert_close(out.log_prob(torch.ones(4)), plain.log_prob(torch.ones(4)))


class Color(Enum):
    RED = 1


def test_what_was_there_before_stays_itself():
    module = Returns(lambda y, m: (y, m.kept, m.list, Color.RED))
    for out, _ in calls(module, fullgraph=True):
        assert out[1] is module.kept and out[2] is module.list and out[3] is Color.RED


class Closing:
    ended = 0

    def __init__(self, x):
        self.x = x

    def __del__(self):
        Closing.ended += 1


stored = []


def stores(y, module):
    pair = Pair(y)
    stored[:] = [pair]
    return pair


def itself(y, module):
    items = [y]
    items.append(items)
    return items


@pytest.mark.parametrize(
    "make",
    [
        lambda y, m: (y, {1, 2}),
        lambda y, m: (y, defaultdict(list)),
        lambda y, m: Closing(y),
        lambda y, m: functools.partial(torch.add, y),
        stores,
        itself,
    ],
    ids=["set", "defaultdict", "with an end", "of C", "stored", "itself"],
)
def test_what_a_replay_cannot_make_is_refused(make):
    with pytest.raises(RuntimeError, match=r"test_result_objects|result"):
        calls(Returns(make), fullgraph=True)


def test_two_calls_do_not_share_a_set():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [out for out, _ in calls(Returns(lambda y, m: (y, {1, 2})))]
    results[-2][1].add(3)
    assert results[-1][1] == {1, 2}


class Config:
    def __init__(self):
        self.scale, self.inner, self.sizes = 2.0, Pair(3.0), [1.0]


class Copies(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.config = nn.Parameter(torch.ones(4)), Config()

    def forward(self, x):
        config = copy.deepcopy(self.config)
        config.scale *= 2
        return (torch.sin(x) * self.weight + config.inner.first) * config.scale + config.sizes[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda c: setattr(c, "scale", 5.0),
        lambda c: object.__setattr__(c.inner, "first", 7.0),
        lambda c: setattr(c, "inner", Pair(9.0)),
        lambda c: c.sizes.__setitem__(0, 4.0),
        lambda c: setattr(c, "__deepcopy__", lambda memo: Config()),
    ],
)
def test_a_deep_copy_is_of_what_is_there(change):
    module = Copies()
    compiled = torch.compile(module, fullgraph=True)
    x = torch.randn(5, 4)
    for _ in range(4):
        torch.testing.assert_close(compiled(x), module(x))
    change(module.config)
    for _ in range(4):
        torch.testing.assert_close(compiled(x), module(x))


class Asks(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        count = len(inspect.signature(self.forward).parameters)
        return torch.sin(x) * self.weight * count * (2 if sys.getrecursionlimit() > 2000 else 1)


def test_a_signature_may_be_asked_for():
    module, x, limit = Asks(), torch.ones(5, 4), sys.getrecursionlimit()
    compiled = torch.compile(module, fullgraph=True)
    try:
        for now in (1900, 1900, 1900, 1900, 2100, 2100):
            sys.setrecursionlimit(now)
            torch.testing.assert_close(compiled(x), module(x))
    finally:
        sys.setrecursionlimit(limit)


PLACE = "settings_of_this_{}"


def test_a_module_that_is_found_by_a_computed_name(monkeypatch):
    module = types.ModuleType(PLACE.format("test"))
    module.__file__, module.scale = __file__, 2.0
    monkeypatch.setitem(sys.modules, module.__name__, module)

    def step(x):
        return torch.sin(x) * sys.modules[PLACE.format("test")].scale

    compiled, x = torch.compile(step, fullgraph=True), torch.ones(5, 4)
    for scale in (2.0, 2.0, 2.0, 3.0, 3.0, 3.0):
        module.scale = scale
        torch.testing.assert_close(compiled(x), step(x))
