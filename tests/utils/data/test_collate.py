"""Collation and conversion of samples of every kind."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Mapping

import numpy as np
import pytest

from rushlight import ops
from rushlight.core.tensor import dtype as dtypes
from rushlight.core.tensor.tensor import Tensor
from rushlight.utils.data import default_collate, default_convert
from rushlight.utils.data.collate import collate, default_collate_fn_map

Point = namedtuple("Point", ["x", "y"])


class Frozen(Mapping):
    def __init__(self, members):
        self.members = dict(members)

    def __getitem__(self, key):
        return self.members[key]

    def __iter__(self):
        return iter(self.members)

    def __len__(self):
        return len(self.members)


class Tagged(dict):
    tag = None


def plain(value):
    """The value with tensors as (dtype, list), so that == compares them."""
    if isinstance(value, Tensor):
        return value.dtype, value.tolist()
    if isinstance(value, Mapping):
        return type(value), {key: plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple, deque)):
        return type(value), [plain(member) for member in value]
    return value


def tensor(*values, dtype=dtypes.int64):
    return dtype, list(values)


f32, f64, i64, i8, bool_ = dtypes.float32, dtypes.float64, dtypes.int64, dtypes.int8, dtypes.bool_


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        ([1, 2], tensor(1, 2)),
        ([True, False], (bool_, [True, False])),
        ([1.5, 2.0], (f64, [1.5, 2.0])),
        ([np.float32(1), np.float32(2)], (f32, [1.0, 2.0])),
        ([np.float64(1)], (f64, [1.0])),
        ([np.int8(3)], (i8, [3])),
        ([np.array([1.0, 2.0], np.float32)] * 2, (f32, [[1.0, 2.0]] * 2)),
        ([np.array(4)] * 2, (i64, [4, 4])),
        ([ops.tensor([1, 2]), ops.tensor([3, 4])], (i64, [[1, 2], [3, 4]])),
        (["a", "b"], (list, ["a", "b"])),
        ([(1, "a"), (2, "b")], (list, [tensor(1, 2), (tuple, ["a", "b"])])),
        ([[1, 2], [3, 4]], (list, [tensor(1, 3), tensor(2, 4)])),
        ([range(2), range(2)], (list, [tensor(0, 0), tensor(1, 1)])),
        ([Point(1, 2), Point(3, 4)], (Point, [tensor(1, 3), tensor(2, 4)])),
        ([{"a": 1, "b": [2]}, {"a": 3, "b": [4]}], (dict, {"a": tensor(1, 3), "b": (list, [tensor(2, 4)])})),
        ([OrderedDict(a=1)] * 2, (OrderedDict, {"a": tensor(1, 1)})),
        ([defaultdict(int, a=1)], (defaultdict, {"a": tensor(1)})),
        ([Frozen({"a": 1})], (Frozen, {"a": tensor(1)})),
        ([deque([1, 2])], (deque, [tensor(1), tensor(2)])),
    ],
)
def test_default_collate(batch, expected):
    assert plain(default_collate(batch)) == expected


def test_containers_keep_what_else_they_hold():
    sample = Tagged(a=1)
    sample.tag = "t"
    assert default_collate([sample]).tag == default_convert(sample).tag == "t"


@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        ([[1, 2], [1]], RuntimeError, "each element in list of batch should be of equal size"),
        (
            [ops.zeros(2), ops.zeros(3)],
            RuntimeError,
            r"stack expects each tensor to be equal size, but got \[2\] at entry 0 and \[3\] at entry 1",
        ),
        ([np.zeros(2), np.zeros(3)], RuntimeError, "stack expects each tensor to be equal size"),
        ([object()], TypeError, "dicts or lists; found <class 'object'>"),
        ([{"a": None}], TypeError, "found <class 'NoneType'>"),
        ([np.array(["a"])], TypeError, "found <U1"),
        ([{"a": 1}, {"b": 1}], KeyError, "a"),
    ],
)
def test_what_cannot_be_collated(batch, error, message):
    with pytest.raises(error, match=message):
        default_collate(batch)


def test_own_collate_functions():
    def longest(batch, *, collate_fn_map=None):
        return max(batch, key=len)

    functions = {**default_collate_fn_map, str: longest}
    assert collate([("a", 1), ("bcd", 2)], collate_fn_map=functions)[0] == "bcd"
    with pytest.raises(TypeError, match="found <class 'int'>"):
        collate([1])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (1, 1),
        ("a", "a"),
        (b"a", b"a"),
        (np.array([1, 2]), tensor(1, 2)),
        (np.float32(1.5), (f32, 1.5)),
        (np.str_("a"), "a"),
        ((np.array([1]), 2), (list, [tensor(1), 2])),
        (Point(np.array([1]), 2), (Point, [tensor(1), 2])),
        ({"a": [np.array([1])]}, (dict, {"a": (list, [tensor(1)])})),
        (Frozen({"a": np.array([1])}), (Frozen, {"a": tensor(1)})),
    ],
)
def test_default_convert(data, expected):
    assert plain(default_convert(data)) == expected


def test_default_convert_leaves_arrays_of_text_and_tensors_alone():
    text, number = np.array(["a"]), ops.zeros(2)
    assert default_convert(text) is text
    assert default_convert(number) is number
