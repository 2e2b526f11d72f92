"""Conditions on Python objects: the native comparison of words and the plain one see the same changes."""

import array
import collections
import random
import sys
import threading
import time
import types

import numpy as np
import pytest

from rushlight.compile.guards import layouts
from rushlight.compile.guards.checks import (
    Cell,
    Content,
    Entries,
    Function,
    Items,
    Kind,
    Order,
    Reading,
    Slots,
    _Plainly,
)
from rushlight.compile.guards.dict_watcher import counter_of
from rushlight.compile.guards.word_table import WordTable, available


def dict_with(**entries):
    return dict(entries)


def cell(value):
    return (lambda: value).__closure__[0]


def set_cell(c, value):
    c.cell_contents = value


def some_function(a=1, *, b=2):
    return a, b


class Base:
    pass


class Other(Base):
    pass


class Slotted:
    __slots__ = ("a", "b", "c")

    def __init__(self):
        self.a, self.b, self.c = None, {}, 1


def made():
    """name -> (condition, a write that leaves it true, a write that makes it false)"""
    o, function = types.SimpleNamespace(k=1.5), types.FunctionType(some_function.__code__, {}, "f", (1.5,))
    function.__kwdefaults__ = {"b": 2}
    d, whole, ordered = dict_with(a=1.5, b=None), dict_with(a=1.5), collections.OrderedDict(a=1, b=2)
    numbers, queue, c = [1.5, "x"], collections.deque([1.5]), cell(1.5)
    kept, values, thing = {1, 2}, np.ones(3), Other()
    derived = type("Derived", (Other,), {})
    slotted = Slotted()
    half = lambda: float("1.5")  # noqa: E731  another object, the same number
    return {
        "entry": (Entries(d, ["a", "z"]), lambda: d.update(a=half(), b=3), lambda: d.update(a=2)),
        "entry that is missing": (Entries(d, ["z"]), lambda: d.update(y=1), lambda: d.update(z=0)),
        "type of a number": (Entries(o.__dict__, ["k"]), lambda: setattr(o, "k", half()), lambda: setattr(o, "k", 1)),
        "sign of zero": (Items(z := [0.0]), lambda: z.__setitem__(0, float("0")), lambda: z.__setitem__(0, -0.0)),
        "whole dict": (Entries(whole), lambda: whole.update(a=half()), lambda: whole.update(c=1)),
        "order": (Entries(ordered), lambda: ordered.move_to_end("b"), lambda: ordered.move_to_end("a")),
        "list": (Items(numbers), lambda: numbers.__setitem__(0, half()), lambda: numbers.append(1)),
        "item": (Items(more := [[], ()]), lambda: more.__setitem__(1, ()), lambda: more.__setitem__(0, [])),
        "deque": (Items(queue), lambda: queue.rotate(1), lambda: queue.append(2)),
        "cell": (Cell(c), lambda: set_cell(c, half()), lambda: set_cell(c, None)),
        "function": (
            Function(function),
            lambda: setattr(function, "x", 1),
            lambda: setattr(function, "__defaults__", None),
        ),
        "set": (Content(kept), lambda: kept.add(1), lambda: kept.add(3)),
        "array": (Content(values), lambda: values.fill(1), lambda: values.fill(2)),
        "numbers": (Content(a := array.array("d", [1])), lambda: a.extend([]), lambda: a.append(2)),
        "class": (Kind(thing), lambda: setattr(thing, "x", 1), lambda: setattr(thing, "__class__", Base)),
        "bases": (Order(derived), lambda: setattr(derived, "x", 1), lambda: setattr(derived, "__bases__", (Base,))),
        "slots": (
            Slots(slotted, ("a", "b")),
            lambda: (slotted.b.update(x=1), setattr(slotted, "c", half())),
            lambda: setattr(slotted, "b", {"x": 1}),
        ),
        "reading": (Reading(len, numbers), lambda: None, lambda: numbers.append(3)),
    }


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("name", made())
def test_a_condition_sees_what_matters(name, native):
    if native and not available():
        pytest.skip("no native code here")
    check, harmless, harmful = made()[name]
    table = (WordTable if native else _Plainly)([check])
    assert table.failed() is None
    for _ in range(30):  # so often that a condition that is written all the time is tested by itself
        harmless()
        assert table.failed() is None
    harmful()
    assert table.failed() is check
    assert table.failed() is check  # it stays so


@pytest.mark.skipif(not available(), reason="no native code here")
def test_random_writes_to_many_dicts():
    """One table over 300 dicts, of which some are written between the questions."""
    rng = random.Random(1)
    tables = [{k: object() for k in "abcdef"} for _ in range(300)]
    checks = [Entries(t, ["a", "b"]) for t in tables]
    table = WordTable(checks)
    for _ in range(400):
        i, key = rng.randrange(300), rng.choice("abcdefg")
        before = tables[i].get(key)
        tables[i][key] = object()
        assert (table.failed() is checks[i]) == (key in "ab")
        if before is None:
            del tables[i][key]
        else:
            tables[i][key] = before
        assert table.failed() is None


@pytest.mark.skipif(sys.version_info < (3, 12) or not available(), reason="dicts have no watchers here")
def test_watchers_count_the_writes_to_their_dict():
    d, other = {"a": 1}, {"a": 1}
    place, elsewhere = counter_of(d), counter_of(other)
    before, untouched = layouts.read(place), layouts.read(elsewhere)
    d["b"] = 2
    del d["a"]
    assert layouts.read(place) == before + 2 and layouts.read(elsewhere) == untouched


@pytest.mark.skipif(not layouts.supported() or not available(), reason="another interpreter")
def test_places_are_found_in_this_interpreter():
    assert layouts.of_dict({}) is not None and layouts.of_list([1], (1,)) is not None
    assert layouts.of_cell(cell(1), 1) is not None and Function(some_function).words() is not None
    assert layouts.of_order(Base, Base.__mro__) is not None and Slots(Slotted(), ("a", "b")).words() is not None


@pytest.mark.skipif(not available(), reason="conditions are tested one by one where there is no native code")
def test_threads_may_test_conditions_while_another_one_renews_their_words():
    """A thread that compares words goes on with the table that it found, whose memory is not freed meanwhile."""
    tables = [{str(i): i for i in range(20)} for _ in range(30)]
    words = WordTable([Entries(table, [*table]) for table in tables])
    end = time.monotonic() + 0.5
    found = []

    def compare():
        try:
            while time.monotonic() < end:
                words.failed()  # which may meet the moment in which the value is another one
        except BaseException as error:
            found.append(error)

    def renew():
        while time.monotonic() < end:
            tables[0]["0"] = 1
            tables[0]["0"] = 0
            words._plain.clear()
            words._fill()

    def run(threads):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        run([threading.Thread(target=work) for work in (compare, compare, compare, compare, renew)])
    finally:
        sys.setswitchinterval(interval)
    assert not found
