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


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (
            lambda x: x.size(torch.ones(2)),
            TypeError,
            r"size\(\): argument 'dim' \(position 1\) must be int, not Tensor",
        ),
        (lambda x: x.stride("a"), TypeError, r"stride\(\): argument 'dim' \(position 1\) must be int, not str"),
        (
            lambda x: x.map_([1.0], max),
            TypeError,
            r"map_\(\): argument 'other' \(position 1\) must be Tensor, not list",
        ),
        (lambda x: torch.tensordot(x, x, None), RuntimeError, "tensordot expects dims to be int or tuple"),
        (
            lambda x: torch.tensordot(x, x, [1, 2]),
            TypeError,
            r"'dims_self' \(position 3\) must be tuple of ints, not int",
        ),
        (lambda x: torch.bmm(x.bool()[None], x.T[None]), NotImplementedError, "\"bmm\" not implemented for 'Bool'"),
        (lambda x: torch.cross(x.bool(), x, 1), NotImplementedError, "\"cross\" not implemented for 'Bool'"),
        (
            lambda x: torch.nn.functional.conv1d(x.bool()[None], torch.ones(1, 2, 1)),
            NotImplementedError,
            "\"slow_conv2d_cpu\" not implemented for 'Bool'",
        ),
        (
            lambda x: torch.nn.functional.cosine_embedding_loss(x, x.numpy(), torch.ones(2)),
            TypeError,
            r"argument 'input2' \(position 2\) must be Tensor, not numpy.ndarray",
        ),
        (lambda x: torch.nn.functional.layer_norm(x, ["a"]), TypeError, "found element of type str at pos 0"),
        (lambda x: torch.narrow(x, 0, torch.ones(1), 1), RuntimeError, "start must be an 0-dim integral Tensor"),
        (lambda x: torch.unflatten(torch.ones(()), 1, (1,)), IndexError, "Dimension out of range"),
        (lambda x: torch.mv(torch.ones(()), x[0]), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
    ],
)
def test_wrong_types_raise_what_torch_raises(call, kind, said):
    with pytest.raises(kind, match=said):
        call(torch.ones(2, 3))
