"""FloatTensor, LongTensor, ... and tensor.type(), against what torch 2.13 answers."""

import copy

import numpy as np
import pytest

import rushlight as torch

TYPES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "ByteTensor": torch.uint8,
    "CharTensor": torch.int8,
    "ShortTensor": torch.int16,
    "IntTensor": torch.int32,
    "LongTensor": torch.int64,
    "BoolTensor": torch.bool,
}


@pytest.mark.parametrize("name", TYPES)
def test_a_type_is_an_element_type(name):
    cls, dtype = getattr(torch, name), TYPES[name]
    t = cls([1, 0, 1])
    assert type(t) is torch.Tensor
    assert t.dtype is dtype is cls.dtype
    assert t.tolist() == [1, 0, 1]
    assert not t.requires_grad
    assert t.type() == f"torch.{name}"
    assert [n for n in TYPES if isinstance(t, getattr(torch, n))] == [name]
    assert not isinstance(t, getattr(torch.cuda, name))
    assert cls(2, 3).shape == (2, 3)
    assert cls().shape == (0,)
    assert repr(cls) == f"<class 'torch.{name}'>"
    assert repr(getattr(torch.cuda, name)) == f"<class 'torch.cuda.{name}'>"
    assert copy.deepcopy(cls) is cls


CONSTRUCTED = [
    ("torch.FloatTensor([[1, 2], [3, 4]])", [[1, 2], [3, 4]]),
    ("torch.FloatTensor((1, 2, 3))", [1, 2, 3]),
    ("torch.FloatTensor(np.array([1, 2]))", [1, 2]),
    ("torch.FloatTensor(np.array(3.0))", 3),
    ("torch.FloatTensor([np.array([1, 2]), np.array([3, 4])])", [[1, 2], [3, 4]]),
    ("torch.FloatTensor([torch.tensor(2.0), torch.tensor(3.0)])", [2, 3]),
    ("torch.FloatTensor([])", []),
    ("torch.LongTensor([1.7, -1.7])", [1, -1]),
    ("torch.LongTensor(range(3))", [0, 1, 2]),
    ("torch.LongTensor(np.array([1.5]))", [1]),
    ("torch.FloatTensor(torch.ones(2))", [1, 1]),
    ("torch.Tensor([1, 2])", [1, 2]),
    ("torch.Tensor(torch.arange(3))", [0, 1, 2]),
    ("torch.tensor([1, 2]).new([3.9, 4])", [3, 4]),
    ("torch.ones(2).new()", []),
]


@pytest.mark.parametrize(("code", "values"), CONSTRUCTED)
def test_construction_from_values(code, values):
    assert eval(code).tolist() == values


SHAPES = [
    ("torch.FloatTensor(torch.Size([2, 3]))", (2, 3)),
    ("torch.FloatTensor(size=(2, 3))", (2, 3)),
    ("torch.FloatTensor(np.int64(3))", (3,)),
    ("torch.FloatTensor(2, torch.tensor(3))", (2, 3)),
    ("torch.FloatTensor(2, 3, device='cpu')", (2, 3)),
    ("torch.Tensor(4, 0)", (4, 0)),
    ("torch.ones(2).new(3, 4)", (3, 4)),
    ("torch.ones(2).new(torch.Size([2]))", (2,)),
]


@pytest.mark.parametrize(("code", "shape"), SHAPES)
def test_construction_of_a_shape(code, shape):
    assert eval(code).shape == shape


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        ("torch.FloatTensor(2, 3.0)", TypeError, "at pos 2 with error .*got float"),
        ("torch.FloatTensor(2, torch.ones(2))", TypeError, "at pos 2 with error .*got Tensor"),
        ("torch.FloatTensor([1], [2])", TypeError, r"invalid combination of arguments - got \(list, list\)"),
        ("torch.Tensor(None)", TypeError, r"data must be a sequence \(got NoneType\)"),
        ("torch.FloatTensor(True)", TypeError, r"got bool"),
        ("torch.FloatTensor(np.float64(3))", TypeError, r"got numpy.float64"),
        ("torch.LongTensor({1: 2})", TypeError, r"got dict"),
        ("torch.LongTensor({1, 2})", TypeError, r"got set"),
        ("torch.ones(2).new(torch.arange(2))", TypeError, "expected TensorOptions"),
        ("torch.FloatTensor(2, device='cuda')", RuntimeError, "legacy constructor expects device type: cpu"),
        ("torch.ones(2).type('FloatTensor')", ValueError, "invalid type: 'FloatTensor'"),
        ("torch.ones(2).type(float)", ValueError, "invalid type: 'float'"),
        ("torch.ones(2).type('torch.cuda.FloatTensor')", RuntimeError, "there is no CUDA device here"),
        ("torch.FloatTensor.nothing", AttributeError, "type object 'torch.FloatTensor' has no attribute 'nothing'"),
    ],
)
def test_refusals(code, error, words):
    with pytest.raises(error, match=words):
        eval(code)


def test_aliases_share_memory():
    x = torch.ones(3)
    for alias in (torch.FloatTensor(x), torch.Tensor(x), x.new(x)):
        alias[0] += 1
    assert x.tolist() == [4, 1, 1]


def test_type_converts_with_gradient():
    x = torch.tensor([1.5, 2.5], requires_grad=True)
    for kind in (torch.DoubleTensor, "torch.DoubleTensor", torch.float64):
        y = x.type(kind)
        assert y.dtype is torch.float64
        x.grad = None
        (y * y).sum().backward()
        assert x.grad.tolist() == [3, 5]
        assert x.grad.dtype is torch.float32
    assert x.type(torch.FloatTensor) is x
    assert x.type(torch.LongTensor).tolist() == [1, 2]
    assert x.double().type(torch.Tensor).dtype is torch.float32
    assert torch.nn.Linear(2, 2).type(torch.DoubleTensor).weight.dtype is torch.float64
    assert torch.nn.Parameter(x).type() == "torch.FloatTensor"
    assert x.to(torch.complex64).type() == "torch.ComplexFloatTensor"


def test_methods_of_the_types():
    assert torch.FloatTensor.add(torch.ones(2), 1).tolist() == [2, 2]
    assert torch.LongTensor.is_cuda is False and torch.cuda.LongTensor.is_cuda is True


def test_typename():
    assert torch.typename(torch.ones(2)) == "torch.FloatTensor"
    assert torch.typename(torch.LongTensor) == "torch.LongTensor"
    assert torch.typename(torch.float32) == "torch.dtype"
    assert torch.typename("text") == "str"
    assert torch.typename(np.ones(2)) == "numpy.ndarray"


def test_default_tensor_type():
    try:
        for kind in (torch.DoubleTensor, "torch.DoubleTensor"):
            with pytest.warns(UserWarning, match="set_default_tensor_type.* is deprecated"):
                torch.set_default_tensor_type(kind)
            assert torch.tensor([1.0]).dtype is torch.Tensor([1]).dtype is torch.float64
            torch.set_default_dtype(torch.float32)
        with pytest.warns(UserWarning), pytest.raises(TypeError, match="only floating-point types"):
            torch.set_default_tensor_type(torch.LongTensor)
        with pytest.warns(UserWarning), pytest.raises(TypeError, match="CUDA enabled"):
            torch.set_default_tensor_type(torch.cuda.FloatTensor)
    finally:
        torch.set_default_dtype(torch.float32)
    assert np.ones(1).dtype == np.float64
