"""Arguments that are objects: what a function reads of them and of their classes is an input or a condition."""

import copy
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import pytest

import rushlight as torch
from rushlight import nn


@dataclass
class Fields:
    x: object


@dataclass
class WithClassAttribute:
    x: object
    k = 2.0


@dataclass(slots=True)
class Slots:
    x: object
    k: float


@dataclass
class Output(OrderedDict):
    x: object = None

    def __post_init__(self):
        self["x"] = self.x


class Table(dict):
    pass


class Row(list):
    pass


class Pair(namedtuple("Pair", "x")):
    pass


class Object:
    def __init__(self, x, k):
        self.x, self.k = x, k


def with_attribute(made, k):
    made.k = k
    return made


def of_class(x, k):
    WithClassAttribute.k = k
    return WithClassAttribute(x)


def with_entry(x, k):
    made = Output(x)
    made["k"] = k
    return made


KINDS = {  # how an object with a tensor x and a number k is made, and how each is read
    "another attribute of a dataclass": (lambda x, k: with_attribute(Fields(x), k), lambda a: (a.x, a.k)),
    "a tensor in it": (lambda x, k: with_attribute(Fields(x), torch.tensor(k)), lambda a: (a.x, a.k)),
    "a dataclass in it": (lambda x, k: with_attribute(Fields(x), Fields(k)), lambda a: (a.x, a.k.x)),
    "a class attribute": (of_class, lambda a: (a.x, a.k)),
    "a dict with an attribute": (lambda x, k: with_attribute(Table(x=x), k), lambda a: (a["x"], a.k)),
    "a list with an attribute": (lambda x, k: with_attribute(Row([x]), k), lambda a: (a[0], a.k)),
    "a named tuple with an attribute": (lambda x, k: with_attribute(Pair(x), k), lambda a: (a.x, a.k)),
    "a dataclass that is a dict": (with_entry, lambda a: (a["x"], a["k"])),
    "an attribute of such a one": (lambda x, k: with_attribute(Output(x), k), lambda a: (a.x, a.k)),
    "slots": (Slots, lambda a: (a.x, a.k)),
    "an object": (Object, lambda a: (a.x, a.k)),
}


def changed(a, b):
    """Let `a` hold what `b` holds."""
    if isinstance(a, dict):
        dict.clear(a)
        for key in b:
            dict.__setitem__(a, key, dict.__getitem__(b, key))
    for name in getattr(b, "__dict__", ()):
        setattr(a, name, getattr(b, name))
    if isinstance(a, Slots):
        a.k = b.k


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("is_new", [True, False], ids=["new objects", "one object"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_changes_is_seen(kind, is_new):
    make, read = KINDS[kind]

    def function(a):
        x, k = read(a)
        return ((x * k).relu() + 1).tanh() * 2 - x.exp() + x.sin()

    compiled, x = torch.compile(function), torch.randn(3)
    a = make(x, 2.0)
    for call in range(9):
        k = 2.0 if call < 5 else 7.0
        if is_new:
            a = make(x, k)
        elif call == 5:
            changed(a, make(x, k))
        torch.testing.assert_close(compiled(a), function(a))


def test_a_module_of_a_loop_reads_an_attribute_that_is_no_field():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 3))

        def forward(self, batch):
            return self.layers(batch.x) * batch.k

    net = Scaled()
    twin, x = copy.deepcopy(net), torch.randn(2, 3)
    for step in range(60):
        batch = with_attribute(Fields(x), 1.0 + (step >= 40))
        y = net(batch)
        torch.testing.assert_close(y, twin.layers(x) * batch.k)
        y.sum().backward()


def test_a_result_with_a_number_keeps_its_other_attributes():
    @torch.compile
    def function(x):
        made = Fields(x.relu() + 1)
        made.total = made.x.sum().item()
        return made

    for seed in range(6):
        torch.manual_seed(seed)
        x = torch.randn(4)
        found = function(x)
        torch.testing.assert_close(found.x, x.relu() + 1)
        assert found.total == pytest.approx((x.relu() + 1).sum().item())
