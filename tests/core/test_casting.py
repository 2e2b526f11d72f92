"""Floats cast to whole numbers that cannot hold them: the numbers are torch 2.13's, on x86-64.

For uint32 torch's vectors and its single elements differ; these are the vectors'.
"""

import warnings

import pytest

import rushlight as torch
from rushlight.core import warn
from rushlight.core.tensor import casting

nan, inf = float("nan"), float("inf")
VALUES = [
    2.0**31 - 1, 2.0**31, -(2.0**31), -(2.0**31) - 1, 2.0**32 + 5, 2.0**63, -(2.0**63), 1.5 * 2**63, 2.0**64, 3e9, -3e9, 1e10,
    1e20, nan, inf, -inf, -0.5, 255.5, -1.0, 65536.7,
]  # fmt: skip
CASTS = {
    ("float64", "int8"): [-1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, 0],
    ("float64", "uint8"): [255, 0, 0, 255, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0],
    ("float64", "int16"): [-1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, -1, 0],
    ("float64", "uint16"): [65535, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 65535, 0],
    ("float64", "int32"): [2147483647, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, 0, 255, -1, 65536],
    ("float64", "int64"): [2147483647, 2147483648, -2147483648, -2147483649, 4294967301, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, 3000000000, -3000000000, 10000000000, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, 0, 255, -1, 65536],
    ("float64", "uint64"): [2147483647, 2147483648, 18446744071562067968, 18446744071562067967, 4294967301, 9223372036854775808, 9223372036854775808, 13835058055282163712, 0, 3000000000, 18446744070709551616, 10000000000, 0, 9223372036854775808, 0, 9223372036854775808, 0, 255, 18446744073709551615, 65536],
    ("float64", "uint32"): [2147483647, 2147483648, 2147483648, 2147483648, 0, 0, 2147483648, 0, 0, 3000000000, 2147483648, 0, 0, 2147483648, 0, 2147483648, 0, 255, 4294967295, 65536],
    ("float32", "int8"): [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, 0],
    ("float32", "uint8"): [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0],
    ("float32", "int16"): [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, -1, 0],
    ("float32", "uint16"): [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 65535, 0],
    ("float32", "int32"): [-2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, 0, 255, -1, 65536],
    ("float32", "int64"): [2147483648, 2147483648, -2147483648, -2147483648, 4294967296, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, 3000000000, -3000000000, 10000000000, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, 0, 255, -1, 65536],
    ("float32", "uint64"): [2147483648, 2147483648, 18446744071562067968, 18446744071562067968, 4294967296, 9223372036854775808, 9223372036854775808, 13835058055282163712, 0, 3000000000, 18446744070709551616, 10000000000, 0, 9223372036854775808, 0, 9223372036854775808, 0, 255, 18446744073709551615, 65536],
    ("float32", "uint32"): [2147483648, 2147483648, 2147483648, 2147483648, 0, 0, 2147483648, 0, 0, 3000000000, 2147483648, 0, 0, 2147483648, 0, 2147483648, 0, 255, 4294967295, 65536],
    ("bfloat16", "int8"): [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0],
    ("bfloat16", "uint8"): [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 0],
    ("bfloat16", "int16"): [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 256, -1, 0],
    ("bfloat16", "uint16"): [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 256, 65535, 0],
    ("bfloat16", "int32"): [-2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, 0, 256, -1, 65536],
    ("bfloat16", "int64"): [2147483648, 2147483648, -2147483648, -2147483648, 4294967296, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, 3003121664, -3003121664, 9999220736, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, 0, 256, -1, 65536],
    ("bfloat16", "uint64"): [2147483648, 2147483648, 18446744071562067968, 18446744071562067968, 4294967296, 9223372036854775808, 9223372036854775808, 13835058055282163712, 0, 3003121664, 18446744070706429952, 9999220736, 0, 9223372036854775808, 0, 9223372036854775808, 0, 256, 18446744073709551615, 65536],
    ("bfloat16", "uint32"): [2147483648, 2147483648, 2147483648, 2147483648, 0, 0, 2147483648, 0, 0, 3003121664, 2147483648, 0, 0, 2147483648, 0, 2147483648, 0, 256, 4294967295, 65536],
    ("float16", "int8"): [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, 0],
    ("float16", "uint8"): [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0],
    ("float16", "int16"): [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, -1, 0],
    ("float16", "uint16"): [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 65535, 0],
    ("float16", "int32"): [-2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, -2147483648, 0, 255, -1, -2147483648],
    ("float16", "int64"): [-9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, -9223372036854775808, 0, 255, -1, -9223372036854775808],
    ("float16", "uint64"): [0, 0, 9223372036854775808, 9223372036854775808, 0, 0, 9223372036854775808, 0, 0, 0, 9223372036854775808, 0, 0, 9223372036854775808, 0, 9223372036854775808, 0, 255, 18446744073709551615, 0],
    ("float16", "uint32"): [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 4294967295, 0],
}  # fmt: skip
SIGNED = [key for key in CASTS if key[1] not in ("uint16", "uint32", "uint64")]  # generated code has no such numbers


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Compiled programs are interpreted")
        yield


def _case(source, target):
    x = torch.tensor(VALUES, dtype=torch.float64).to(getattr(torch, source))
    return x, getattr(torch, target), CASTS[source, target]


def _written(x, d):
    out = torch.zeros(2 * len(x), dtype=d)[::2]
    out[...] = x
    return out


def _replayed(f, x):
    compiled = torch.compile(f)
    return [compiled(x) for _ in range(3)][-1]


WAYS = {
    "to": lambda x, d: x.to(d),
    "type": lambda x, d: x.type(d),
    "strided": lambda x, d: x.repeat_interleave(2)[::2].to(d),
    "single": lambda x, d: torch.stack([v.to(d) for v in x]),
    "expanded": lambda x, d: x[:, None].expand(-1, 5).to(d)[:, 3],
    "complex": lambda x, d: (
        torch.complex(x.float(), torch.zeros_like(x)).to(d) if x.dtype is torch.float32 else x.to(d)
    ),
    "copy_": lambda x, d: torch.zeros(x.shape, dtype=d).copy_(x),
    "written": _written,
    "fill_": lambda x, d: torch.stack([torch.zeros((), dtype=d).fill_(v) for v in x]),
    "as_tensor": lambda x, d: torch.as_tensor(x, dtype=d),
    "sum": lambda x, d: x[None].sum(0, dtype=d),
    "prod": lambda x, d: x[None].prod(0, dtype=d),
    "cumsum": lambda x, d: x[None].cumsum(0, dtype=d)[0],
    "compiled": lambda x, d: _replayed(lambda x: (x * 1).to(d), x),
    "compiled copy": lambda x, d: _replayed(lambda x: torch.zeros(x.shape, dtype=d).copy_(x * 1), x),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("source", "target"), CASTS)
def test_out_of_range(source, target, way):
    if way.startswith("compiled") and (source, target) not in SIGNED:
        return
    x, d, want = _case(source, target)
    got = WAYS[way](x, d)
    assert got.dtype is d
    assert got.tolist() == want


@pytest.mark.parametrize("way", [way for way in WAYS if not way.startswith("compiled")])
@pytest.mark.parametrize(("source", "target"), CASTS)
def test_out_of_range_on_other_processors(monkeypatch, source, target, way):
    """Where NumPy's casts end at the nearest number, as on ARM, the elements are prepared; that is right on each."""
    monkeypatch.setattr(casting, "_AS_X86", False)
    x, d, want = _case(source, target)
    assert WAYS[way](x, d).tolist() == want


@pytest.mark.parametrize("n", [1, 3, 8, 17, 40])
def test_every_place_of_a_vector(n):
    for source, target in CASTS:
        x, d, want = _case(source, target)
        for value, whole in zip(x, want, strict=True):
            assert value.repeat(n).to(d).tolist() == [whole] * n, (source, target, value)


def test_booleans():
    assert torch.tensor([nan, inf, -0.5, 0.0]).bool().tolist() == [True, True, True, False]
    assert torch.zeros(3, dtype=torch.bool).copy_(torch.tensor([nan, 0.0, 1e30])).tolist() == [True, False, True]


def test_methods_and_numbers():
    x = torch.tensor([3e9, nan, -0.5])
    assert x.int().tolist() == [-(2**31), -(2**31), 0]
    assert torch.round(x).long().tolist() == [3000000000, -(2**63), 0]
    assert x.byte().tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
        int(x[1])
    with pytest.raises(OverflowError):
        int(torch.tensor(inf))


# ------------------------------------------------------------------------------------------- numbers that do not fit

FILLED = {
    "fill_": lambda v, d: torch.zeros(1, dtype=d).fill_(v),
    "full": lambda v, d: torch.full((1,), v, dtype=d),
    "full out": lambda v, d: torch.full((1,), v, out=torch.zeros(1, dtype=d)),
    "full_like": lambda v, d: torch.full_like(torch.zeros(1), v, dtype=d),
    "new_full": lambda v, d: torch.zeros(1).new_full((1,), v, dtype=d),
    "scalar_tensor": lambda v, d: torch.scalar_tensor(v, dtype=d)[None],
    "masked_fill": lambda v, d: torch.zeros(1, dtype=d).masked_fill(torch.tensor([True]), v),
    "index_fill_": lambda v, d: torch.zeros(1, dtype=d).index_fill_(0, torch.tensor([0]), v),
    "scatter_": lambda v, d: torch.zeros(1, dtype=d).scatter_(0, torch.tensor([0]), v),
    "written": lambda v, d: torch.zeros(2, dtype=d).index_put_((torch.tensor([0]),), torch.scalar_tensor(v, dtype=d))[
        :1
    ],
    "linspace": lambda v, d: torch.linspace(v, v, 1, dtype=d),
    "padded": lambda v, d: torch.constant_pad_nd(torch.zeros(0, dtype=d), (1, 0), v),
}


@pytest.mark.parametrize("way", FILLED)
def test_filled_with_a_number(way):
    make = FILLED[way]
    for name, value, word in [
        ("uint8", -0.5, "uint8_t"), ("uint8", 256.0, "uint8_t"), ("uint8", 300, "uint8_t"), ("uint8", -256, "uint8_t"),
        ("int8", -128.5, "int8_t"), ("int16", 2**15, "int16_t"), ("int32", 3e9, "int"), ("int64", nan, "int64_t"),
        ("int64", inf, "int64_t"), ("int64", 1e30, "int64_t"),
    ]:  # fmt: skip
        with pytest.raises(RuntimeError, match=f"value cannot be converted to type {word} without overflow"):
            make(value, getattr(torch, name))
    for name, value, want in [
        ("uint8", -1, 255), ("uint8", -255, 1), ("uint8", 255, 255), ("int8", 127, 127), ("int16", -0.5, 0),
        ("int32", 2147483647.0, 2**31 - 1), ("int64", 2.0**63, -(2**63)), ("int64", -(2**63), -(2**63)),
    ]:  # fmt: skip
        assert make(value, getattr(torch, name)).tolist() == [want]


def test_numbers_beyond_64_bits():
    with pytest.raises(OverflowError, match="int too big to convert"):
        torch.zeros(1, dtype=torch.int64).fill_(2**64)
    with pytest.raises(RuntimeError, match="float without overflow"):
        torch.zeros(1).fill_(1e300)


def test_a_value_in_a_tensor():
    mask = torch.tensor([True])
    with pytest.raises(RuntimeError, match="uint8_t without overflow"):
        torch.zeros(1, dtype=torch.uint8).masked_fill(mask, torch.tensor(300.0))
    assert torch.zeros(1, dtype=torch.uint8).fill_(torch.tensor(300.0)).item() == 44


def test_counted():
    assert torch.arange(300, 302, dtype=torch.uint8).tolist() == [44, 45]
    assert torch.arange(0.0, 2147483647.0, 536870911.75, dtype=torch.uint8).tolist() == [0, 255, 254, 253]
    assert torch.logspace(0, 30, 4, dtype=torch.int64).tolist() == [1, 10**10, -(2**63), -(2**63)]
    assert torch.linspace(-3.7, 5, 4, dtype=torch.int32).tolist() == [-3, 0, 2, 5]
    with pytest.raises(RuntimeError, match="int64_t without overflow"):
        torch.arange(1e30, 1e30, dtype=torch.int32)
    with pytest.raises(RuntimeError, match="uint8_t without overflow"):
        torch.linspace(0, 300, 5, dtype=torch.uint8)


def test_dropped_imaginary_parts_warn_once(monkeypatch):
    monkeypatch.setattr(warn.Once, "given", set())
    z = torch.ones(2) + 1j
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        torch.zeros(2).copy_(z)
    assert z.float().tolist() == [1.0, 1.0] and z.bool().tolist() == [True, True]
