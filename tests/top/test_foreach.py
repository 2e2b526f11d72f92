"""torch's _foreach functions, against torch's numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

import rushlight as torch

FIRST = [[0.75, 0.5], [0.25]]
ROWS = json.loads((Path(__file__).parent.parent / "golden" / "foreach.json").read_text())


def tensors(value):
    is_nested = isinstance(value, list) and isinstance(value[0], list)
    return [torch.tensor(part) for part in value] if is_nested else value


@pytest.mark.parametrize("name, arguments, expected", ROWS)
def test_values(name, arguments, expected):
    given = tensors(FIRST)
    result = getattr(torch, "_foreach_" + name)(given, *map(tensors, arguments))
    for t, values in zip(result, expected, strict=True):
        np.testing.assert_allclose(t.numpy(), np.array(values, np.float32), rtol=2e-6)
    if name.endswith("_"):
        assert result is given and all(t._version == 1 for t in given)
    else:
        assert type(result) is tuple and [t.tolist() for t in given] == FIRST


def test_gradients():
    x = [torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)]
    sum(y.sum() for y in torch._foreach_mul(x, [2.0, 3.0])).backward()
    assert [t.grad.tolist() for t in x] == [[2, 2], [3]]
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        torch._foreach_add_(x, 1)
    with torch.no_grad():
        torch._foreach_add_(x, x, alpha=2)
    assert x[0].tolist() == [3, 3]


MISTAKES = [
    ("abs", ([],), RuntimeError, "at least one tensor"),
    ("abs", (3,), TypeError, "must be tuple of Tensors"),
    ("add", ([torch.ones(1)], [torch.ones(1)] * 2), RuntimeError, "same number of tensors, got 1 and 2"),
    ("mul", ([torch.ones(1)], [1.0, 2.0]), RuntimeError, "same number of elements as scalar list"),
    ("mul", ([torch.ones(1)], 2.0, 3), TypeError, "positional"),
    ("add", ([torch.ones(1)],), TypeError, "missing"),
]


@pytest.mark.parametrize("name, arguments, error, words", MISTAKES)
def test_mistakes(name, arguments, error, words):
    with pytest.raises(error, match=words):
        getattr(torch, "_foreach_" + name)(*arguments)


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="_foreach_nothing"):
        _ = torch._foreach_nothing
