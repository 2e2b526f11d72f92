"""Calls without the argument that they are about raise torch's TypeError, and give no number."""

import pytest

import rushlight as torch


@pytest.mark.parametrize(
    "name, argument",
    [
        ("softmax", "dim"), ("log_softmax", "dim"), ("unsqueeze", "dim"), ("cumsum", "dim"), ("logsumexp", "dim"),
        ("repeat", "repeats"), ("reshape", "shape"), ("permute", "dims"), ("expand", "size"), ("new_zeros", "size"),
        ("tile", "dims"), ("flip", "dims"), ("resize_", "size"), ("sum_to_size", "size"), ("view", "size"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_message(name, argument, shape):
    with pytest.raises(TypeError) as raised:
        getattr(torch.ones(shape), name)()
    assert str(raised.value) == f'{name}() missing 1 required positional arguments: "{argument}"'


@pytest.mark.parametrize("name", ["reshape", "view", "repeat", "permute", "expand", "tile", "resize_", "sum_to_size"])
def test_no_dimensions_are_given_by_an_empty_tuple(name):
    assert getattr(torch.tensor(3.0), name)(()).shape == ()


def test_functions_are_named_as_users_know_them():
    for call, name in ((lambda: torch.ones(2).split(), "split"), (lambda: torch.ones(2, 2).swapaxes(0), "swapaxes")):
        with pytest.raises(TypeError, match=rf"^{name}\(\) missing 1 required positional argument"):
            call()
    assert torch.Tensor.__neg__ is torch.neg and torch.neg.__name__ == "neg"
