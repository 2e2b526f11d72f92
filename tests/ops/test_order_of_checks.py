"""Which of torch's errors a call with several mistakes raises: `order_of_checks.txt`."""

from functools import partial
from pathlib import Path

import pytest

import rushlight as torch

_LINES = [
    line for line in Path(__file__).with_suffix("").with_name("order_of_checks.txt").read_text().splitlines()
    if line and not line.startswith("#")
]  # fmt: skip
ROWS = dict(zip(_LINES[::2], map(str.strip, _LINES[1::2]), strict=True))
_TYPES = {"w": torch.float32, "l": torch.int64, "i": torch.int32, "b": torch.uint8, "h": torch.float16}
NAMES = {
    "torch": torch,
    "F": torch.nn.functional,
    "f": torch.randn,
    "d": partial(torch.randn, dtype=torch.float64),
    **{name: partial(torch.zeros, dtype=dtype) for name, dtype in _TYPES.items()},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", ROWS)
def test_the_error_that_comes_first(call):
    with pytest.raises((RuntimeError, IndexError, ValueError, NotImplementedError)) as raised:
        eval(call, NAMES)
    assert f"{raised.type.__name__}: {raised.value}".startswith(ROWS[call])


def test_types_of_what_is_mixed():
    mixed = torch.addr(torch.ones(2, 2), torch.tensor([1, 2]), torch.tensor([3, 4]))
    assert mixed.dtype is torch.float32 and mixed.tolist() == [[4.0, 5.0], [7.0, 9.0]]  # NumPy's common type is float64
    assert torch.nn.functional.relu6(torch.tensor([3, 9], dtype=torch.uint8)).tolist() == [3, 6]
