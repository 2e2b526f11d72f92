"""Values of other types where composites want tensors or numbers: torch's TypeError, which names the function."""

import gc
import weakref

import numpy as np
import pytest

import rushlight as torch

X = torch.ones(2, 3)
CALLS = {
    "cov(): argument 'input' (position 1) must be Tensor, not list": lambda: torch.cov([1]),
    "diff(): argument 'input' (position 1) must be Tensor, not NoneType": lambda: torch.diff(None),
    "chunk(): argument 'input' (position 1) must be Tensor, not numpy.ndarray": lambda: torch.chunk(np.ones(2), 2),
    "addr(): argument 'input' (position 1) must be Tensor, not int": lambda: torch.addr(1, 2, 3),
    "roll(): argument 'dims' (position 3) must be tuple of ints, not str": lambda: X.roll(1, "a"),
    "expected Tensor as element 0 in argument 0, but got int": lambda: torch.block_diag(1),
    "expected Tensor as element 1 in argument 0, but got float": lambda: torch.cartesian_prod(X[0], 1.5),
    "std_mean() received an invalid combination of arguments - got (str)": lambda: torch.std_mean("a"),
    "cumsum(): argument 'dim' must be int, not Tensor": lambda: X.cumsum(torch.ones(2)),
    "sum(): argument 'dim' failed to unpack the object at pos 2 with error \"type must be tuple of ints,but got str\"": (
        lambda: X.sum((0, "x"))
    ),
}


@pytest.mark.parametrize("message", CALLS)
def test_message(message):
    with pytest.raises(TypeError) as caught:
        CALLS[message]()
    assert str(caught.value).startswith(message)


def test_errors_of_right_types_stay():
    with pytest.raises(RuntimeError, match="negative"):
        torch.combinations(X[0], -1)
    with pytest.raises(ZeroDivisionError):
        X.map_(X, lambda a, b: 1 / 0)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        X.map_(X, lambda a, b: (1).nothing)


def test_errors_keep_no_arguments():
    gc.collect()
    gc.disable()
    try:
        x = torch.ones(2)

        seen = weakref.ref(x)
        with pytest.raises(TypeError):
            torch.isclose(x, [1])
        del x
        assert seen() is None
    finally:
        gc.enable()
