"""Tensors through pickle and deepcopy."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

from rushlight.core.tensor.node import Node
from rushlight.core.tensor.tensor import Tensor, alias, wrap


class Marked(Tensor):
    pass


class WithState(Tensor):
    def __getstate__(self):
        return {"unit": self.unit}

    def __setstate__(self, state):
        self.unit = state["unit"] + "!"


def test_a_class_that_manages_its_own_state():
    t = alias(wrap(np.zeros(2)), WithState)
    t.unit = "m"
    assert pickle.loads(pickle.dumps(t)).unit == "m!"


def aliases():
    base = wrap(np.arange(6.0).reshape(2, 3))
    column = alias(base, Tensor)
    column._array = base._array[:, 1]
    return base, column


COPIES = {
    "deepcopy": copy.deepcopy,
    "pickle 2": lambda x: pickle.loads(pickle.dumps(x, 2)),
    "pickle 5": lambda x: pickle.loads(pickle.dumps(x, 5)),
}


@pytest.fixture(params=COPIES.values(), ids=COPIES.keys())
def duplicate(request):
    return request.param


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3).T,
        np.array([1.5], ml_dtypes.bfloat16),
        np.array(True),
        np.zeros((2, 0), np.complex64),
        np.arange(5)[::-1],
        np.array([7], np.uint32),
    ],
    ids=lambda a: f"{a.dtype}-{a.shape}",
)
def test_values(duplicate, array):
    again = duplicate(wrap(array))
    assert type(again) is Tensor
    assert again._array.dtype == array.dtype
    assert again.shape == array.shape
    assert again._array.tolist() == array.tolist()
    assert not np.shares_memory(again._array, array)
    assert again._array.flags.writeable


def test_aliases_stay_aliases(duplicate):
    base, column = duplicate(aliases())
    assert base._storage is column._storage
    base._array[1, 1] = 9
    assert (column._array[1], column.stride(), column.storage_offset()) == (9, (3,), 1)


def test_requires_grad_attributes_and_class(duplicate):
    t = alias(wrap(np.zeros(2, np.float32)), Marked)
    t.requires_grad_()
    t.note = ["x"]
    again = duplicate(t)
    assert type(again) is Marked
    assert again.requires_grad and again.is_leaf
    assert again.note == ["x"] and again.note is not t.note


def test_deepcopy_copies_the_gradient_and_keeps_identity():
    t = wrap(np.zeros(2, np.float32)).requires_grad_()
    t.grad = wrap(np.ones(2, np.float32))
    a, b = copy.deepcopy([t, t])
    assert a is b
    assert a.grad._array.tolist() == [1, 1] and a.grad is not t.grad


def test_deepcopy_refuses_a_tensor_with_history():
    t = wrap(np.zeros(2, np.float32))
    t._edge = object.__new__(Node)
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(t)


def test_out_of_band_buffers_are_not_copied():
    buffers = []
    t = wrap(np.arange(1000.0))
    data = pickle.dumps(t, 5, buffer_callback=buffers.append)
    assert (len(buffers), len(data) < 500) == (1, True)
    assert np.shares_memory(pickle.loads(data, buffers=buffers)._array, t._array)
    frozen = pickle.loads(data, buffers=[bytes(buffers[0].raw())])
    assert frozen._array.flags.writeable


class Assigning(Tensor):
    """As fastai's TensorBase: the method is written by the attribute."""

    def requires_grad_(self, requires_grad=True):
        self.requires_grad = requires_grad
        return self


def test_a_subclass_may_write_requires_grad_by_the_attribute():
    t = wrap(np.zeros(2)).as_subclass(Assigning)
    assert t.requires_grad_().requires_grad and not t.requires_grad_(False).requires_grad
    again = pickle.loads(pickle.dumps(t.requires_grad_()))
    assert type(again) is Assigning and again.requires_grad
