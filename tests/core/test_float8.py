"""The types of eight bits: storing, not computing. The bytes are torch's."""

import pytest

import rushlight as torch

VALUES = [
    448.0,
    460,
    465,
    500,
    1000,
    float("inf"),
    float("-inf"),
    float("nan"),
    57344,
    61440,
    62000,
    1e6,
    0.001,
    -0.0009,
    0.0,
]
BYTES = {
    "float8_e4m3fn": [126, 126, 126, 126, 126, 126, 254, 127, 126, 126, 126, 126, 1, 128, 0],
    "float8_e4m3fnuz": [128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1, 129, 0],
    "float8_e5m2": [95, 95, 95, 96, 100, 124, 252, 127, 123, 124, 124, 124, 20, 147, 0],
    "float8_e5m2fnuz": [99, 99, 99, 100, 104, 128, 128, 128, 127, 128, 128, 128, 24, 151, 0],
    "float8_e8m0fnu": [136, 136, 136, 136, 137, 255, 255, 255, 143, 143, 143, 147, 117, 117, 0],
}


@pytest.mark.parametrize("name", BYTES)
def test_conversion(name):
    d = getattr(torch, name)
    y = torch.tensor(VALUES).to(d)
    assert y.view(torch.uint8).tolist() == BYTES[name]
    assert y.dtype is d and y.element_size() == 1 and repr(d) == f"torch.{name}"
    assert torch.equal(y[8:].float().to(d).view(torch.uint8), y[8:].view(torch.uint8))


def test_what_they_refuse():
    y = torch.ones(3).to(torch.float8_e5m2)
    with pytest.raises(NotImplementedError, match="not implemented for 'Float8_e5m2'"):
        y * 2
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
        y + torch.ones(3)
    assert (y == y).all() and torch.cat([y, y]).shape == (6,)
    assert torch.finfo(torch.float8_e5m2).max == 57344.0 and torch.finfo(torch.float8_e4m3fn).eps == 0.125
