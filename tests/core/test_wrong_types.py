"""Options of the wrong type: the message names the operator, the option and the two types, as torch's does."""

import pytest

import rushlight as torch

X = torch.ones(2, 3)
CALLS = {
    "cumsum(): argument 'dim' (position 1) must be int, not tuple": lambda: X.cumsum(()),
    "softmax(): argument 'dim' (position 1) must be int, not str": lambda: X.softmax("a"),
    "argmax(): argument 'dim' (position 1) must be int, not float": lambda: X.argmax(1.5),
    "topk(): argument 'k' (position 1) must be int, not str": lambda: X.topk("a"),
    "kthvalue(): argument 'k' (position 1) must be int, not float": lambda: X.kthvalue(1.5),
    "unsqueeze(): argument 'dim' (position 1) must be int, not float": lambda: X.unsqueeze(1.5),
    "where() received an invalid combination of arguments - got (bool, int, int)": lambda: torch.where(True, 1, 2),
}


@pytest.mark.parametrize("message", CALLS)
def test_message(message):
    with pytest.raises(TypeError) as caught:
        CALLS[message]()
    assert str(caught.value).startswith(message)


FACTORIES = {
    "ones(): argument 'dtype' must be torch.dtype, not str": lambda: torch.ones(2, dtype="float32"),
    "tensor(): argument 'dtype' must be torch.dtype, not str": lambda: torch.tensor(1, dtype="int"),
    "new_ones(): argument 'dtype' must be torch.dtype, not str": lambda: X.new_ones(2, dtype="f"),
    "sum() received an invalid combination of arguments - got (dtype=str, )": lambda: X.sum(dtype="f"),
    "kron(): argument 'other' (position 2) must be Tensor, not int": lambda: torch.kron(X, 3),
    "new(): invalid data type 'str'": lambda: torch.tensor([1, "a"]),
}


@pytest.mark.parametrize("message", FACTORIES)
def test_message_of_types(message):
    with pytest.raises(TypeError) as caught:
        FACTORIES[message]()
    assert str(caught.value).startswith(message)


def test_masks_come_first_in_messages():
    for call in (
        lambda: torch.ones(2).masked_fill(torch.ones(3) > 0, 1.0),
        lambda: torch.ones(2).masked_select(torch.ones(3) > 0),
    ):
        with pytest.raises(RuntimeError, match=r"tensor a \(3\) must match the size of tensor b \(2\)"):
            call()
