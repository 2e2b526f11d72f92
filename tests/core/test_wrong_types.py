"""Options of the wrong type: the message names the operator, the option and the two types, as torch's does."""

import pytest

import rushlight as torch

X = torch.ones(2, 3)
CALLS = {
    "cumsum(): argument 'dim' must be int, not tuple": lambda: X.cumsum(()),
    "softmax(): argument 'dim' must be int, not str": lambda: X.softmax("a"),
    "argmax(): argument 'dim' must be int, not float": lambda: X.argmax(1.5),
    "topk(): argument 'k' must be int, not str": lambda: X.topk("a"),
    "kthvalue(): argument 'k' must be int, not float": lambda: X.kthvalue(1.5),
    "unsqueeze(): argument 'dim' must be int, not float": lambda: X.unsqueeze(1.5),
    "where(): argument 'condition' (position 1) must be Tensor, not bool": lambda: torch.where(True, 1, 2),
}


@pytest.mark.parametrize("message", CALLS)
def test_message(message):
    with pytest.raises(TypeError) as caught:
        CALLS[message]()
    assert str(caught.value).startswith(message)
