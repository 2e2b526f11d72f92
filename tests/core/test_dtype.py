"""Facts of element types, against torch 2.13's answers."""

import copy
import pickle

import pytest

import rushlight as torch
import rushlight.nn.functional as F

TYPES = ["complex32", "float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int8", "bool"]
WITH_COMPLEX32 = [
    "complex32",
    "complex32",
    "complex64",
    "complex64",
    "complex128",
    "complex64",
    "complex128",
    "complex32",
    "complex32",
]
RESOLUTIONS = {
    "float16": 0.001, "bfloat16": 0.01, "float32": 1e-06, "float64": 1e-15, "complex64": 1e-06, "complex32": 0.001,
    "float8_e4m3fn": 1.0, "float8_e5m2": 1.0, "float8_e8m0fnu": 1.0,
}  # fmt: skip


def test_complex32_has_facts_and_no_tensors():
    kind = torch.complex32
    assert kind is torch.chalf is pickle.loads(pickle.dumps(kind)) is copy.deepcopy(kind)
    assert (str(kind), kind.itemsize, kind.is_complex, kind.is_floating_point) == ("torch.complex32", 4, True, False)
    assert isinstance(kind, torch.dtype) and {kind: 1}[torch.chalf] == 1 and kind.to_real() is torch.float16
    for other, expected in zip(TYPES, WITH_COMPLEX32, strict=True):
        other = getattr(torch, other)
        assert torch.promote_types(kind, other) is torch.promote_types(other, kind) is getattr(torch, expected)
    for use in (
        lambda: torch.zeros(2, dtype=kind),
        lambda: torch.ones(2).to(kind),
        lambda: torch.ones(2).to(dtype=kind),
    ):
        with pytest.raises(NotImplementedError, match=r"no tensors of the type torch\.complex32"):
            use()
    with pytest.raises(AttributeError, match="no attribute 'shape'"):
        kind.shape  # noqa: B018


def test_the_complex_type_of_a_type():
    for name, expected in (("float16", "complex32"), ("bfloat16", "complex64"), ("float32", "complex64"),
                           ("float64", "complex128"), ("complex64", "complex64")):  # fmt: skip
        assert getattr(torch, name).to_complex() is getattr(torch, expected)
    for name, word in (("int32", "Int"), ("bool", "Bool"), ("uint16", "UInt16"), ("float8_e5m2", "Float8_e5m2")):
        with pytest.raises(RuntimeError, match=f"Unknown Complex ScalarType for {word}"):
            getattr(torch, name).to_complex()


@pytest.mark.parametrize("name", RESOLUTIONS)
def test_resolution(name):
    assert torch.finfo(getattr(torch, name)).resolution == RESOLUTIONS[name]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda o: o.to(torch.int16).clamp_(0.0, 1.5), "desired output type short int"),
        (lambda o: o.to(torch.uint8).clamp_min_(0.5), "desired output type unsigned char"),
        (lambda o: torch.mm(o.to(torch.uint16), o), "but got: short unsigned int != float"),
        (lambda o: torch.lerp(o, o.to(torch.complex64), 0.5), "but got dtype c10::complex<float>"),
        (lambda o: F.conv1d(o[None], o[:, :, None], o[0].to(torch.uint16)), r"bias type \(short unsigned int\)"),
        (lambda o: o.to(torch.int16).set_(o), "Could not set tensor of type float to a tensor of type short int"),
        (lambda o: F.embedding(o.bool(), o), "but got CPUBoolType instead"),
        (lambda o: F.embedding(o, o), "but got torch.FloatTensor instead"),
    ],
)
def test_the_names_of_types_in_errors_are_torchs(call, says):
    with pytest.raises(RuntimeError, match=says):
        call(torch.ones(2, 2))
