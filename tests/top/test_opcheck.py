"""`torch.library.opcheck`: each of its tests finds its own mistake."""

import numpy as np
import pytest

import rushlight as torch
from rushlight import library

NAMES = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def made(name, function, fake=None, backward=None, mutates=()):
    op = library.custom_op(f"opcheck::{name}", function, mutates_args=mutates)
    if fake is not None:
        op.register_fake(fake)
    if backward is not None:
        op.register_autograd(backward)
    return op


def double(x: torch.Tensor, n: int) -> torch.Tensor:
    return x[:n] * 2


def same(x: torch.Tensor) -> torch.Tensor:
    return x


def writes(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x.clone()


def writes_openly(x: torch.Tensor) -> None:
    x.add_(1)


COUNTER = [0]


def counts(x: torch.Tensor) -> torch.Tensor:
    COUNTER[0] += 1
    return x * COUNTER[0]


def test_a_right_operator():
    op = made("right", double, lambda x, n: x.new_empty(n), lambda ctx, g: (torch.cat([g * 2, g.new_zeros(2)]), None))
    leaf = torch.ones(4, requires_grad=True)
    assert library.opcheck(op, (leaf, 2)) == dict.fromkeys(NAMES, "SUCCESS")
    assert leaf.grad is None
    openly = made("openly", writes_openly, lambda x: None, mutates=("x",))
    x = torch.zeros(2)
    assert library.opcheck(openly, (x,), test_utils="test_schema") == {"test_schema": "SUCCESS"}
    assert x.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "name, function, fake, args, message",
    [
        ("no_fake", double, None, (torch.ones(3), 2), "test_faketensor failed with There was no fake impl"),
        ("shape", double, lambda x, n: x.new_empty(n + 1), (torch.ones(3), 2), "mismatched tensor metadata: Shapes"),
        ("dtype", double, lambda x, n: x.new_empty(n).double(), (torch.ones(3), 2), "Dtypes"),
        ("same", same, lambda x: x.new_empty(x.shape), (torch.ones(3),), "test_schema failed with same: The output"),
        ("writes", writes, lambda x: x.new_empty(x.shape), (torch.ones(3),), "Argument x is not defined as mutable"),
        ("no_rule", double, lambda x, n: x.new_empty(n), (torch.ones(3, requires_grad=True), 2), "no autograd formula"),
        ("counts", counts, lambda x: x.new_empty(x.shape), (torch.ones(3),), "other values compiled"),
    ],
)
def test_mistakes(name, function, fake, args, message):
    op = made(name, function, fake)
    with pytest.raises(Exception, match=message) as caught:
        library.opcheck(op, args)
    assert type(caught.value).__name__ == "OpCheckError"
    results = library.opcheck(op, args, raise_exception=False)
    assert any(isinstance(r, Exception) for r in results.values()) and set(results) == set(NAMES)


def test_unknown_test():
    with pytest.raises(ValueError, match="no test is called 'x'"):
        library.opcheck(made("unknown", same), (torch.ones(1),), test_utils="x")


def sine(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.sin(x.numpy()))


def test_an_operator_in_numpy_is_checked_without_a_warning():
    op = made("sine", sine, lambda x: torch.empty_like(x))
    assert library.opcheck(op, (torch.ones(3),)) == dict.fromkeys(NAMES, "SUCCESS")  # warnings are errors here
