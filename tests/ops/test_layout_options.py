"""`layout`, `pin_memory` and `memory_format`: honoured, or refused by name, by everything that makes or copies a tensor."""

import pytest

import rushlight as torch

X = torch.arange(96.0).reshape(2, 3, 4, 4)
X5 = torch.arange(48.0).reshape(1, 2, 2, 3, 4)
MAKERS = {
    "zeros": lambda **k: torch.zeros(2, **k),
    "ones": lambda **k: torch.ones(2, **k),
    "empty": lambda **k: torch.empty(2, **k),
    "full": lambda **k: torch.full((2,), 1.0, **k),
    "zeros_like": lambda **k: torch.zeros_like(X, **k),
    "full_like": lambda **k: torch.full_like(X, 1.0, **k),
    "new_zeros": lambda **k: X.new_zeros(2, **k),
    "new_full": lambda **k: X.new_full((2,), 1.0, **k),
    "new_tensor": lambda **k: X.new_tensor([1.0], **k),
    "empty_strided": lambda **k: torch.empty_strided((2,), (1,), **k),
    "arange": lambda **k: torch.arange(3, **k),
    "linspace": lambda **k: torch.linspace(0, 1, 3, **k),
    "eye": lambda **k: torch.eye(2, **k),
    "rand": lambda **k: torch.rand(2, **k),
    "rand_like": lambda **k: torch.rand_like(X, **k),
    "randint": lambda **k: torch.randint(3, (2,), **k),
    "randperm": lambda **k: torch.randperm(3, **k),
    "normal": lambda **k: torch.normal(0.0, 1.0, (2,), **k),
}
ARRANGED = {
    "empty": lambda x, **k: torch.empty(x.shape, **k),
    "zeros_like": torch.zeros_like,
    "full_like": lambda x, **k: torch.full_like(x, 2.0, **k),
    "rand_like": torch.rand_like,
    "randint_like": lambda x, **k: torch.randint_like(x, 9, **k),
    "clone": torch.clone,
    "contiguous": lambda x, **k: x.contiguous(**k),
    "to": lambda x, **k: x.to(**k),
    "to another type": lambda x, **k: x.to(torch.float64, **k),
    "float": lambda x, **k: x.float(**k),
    "double": lambda x, **k: x.double(**k),
    "cpu": lambda x, **k: x.cpu(**k),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_sparse_layouts_and_pinned_memory_are_refused_by_name(make):
    with pytest.raises(NotImplementedError, match=r"layout=torch\.sparse_coo"):
        make(layout=torch.sparse_coo)
    with pytest.raises(RuntimeError, match="pin_memory=True"):
        make(pin_memory=True)
    assert make(layout=torch.strided, pin_memory=False).layout is torch.strided


@pytest.mark.parametrize("make", ARRANGED.values(), ids=ARRANGED)
@pytest.mark.parametrize(
    ("x", "order", "strides"),
    [
        (X, torch.channels_last, (48, 1, 12, 3)),
        (X5, torch.channels_last_3d, (48, 1, 24, 8, 2)),
        (X.transpose(0, 1), torch.contiguous_format, (32, 16, 4, 1)),
    ],
    ids=["2d", "3d", "contiguous"],
)
def test_memory_format_is_honoured(make, x, order, strides):
    out = make(x, memory_format=order)
    if order is torch.contiguous_format and make in [ARRANGED[name] for name in ("to", "float", "cpu")]:
        assert out is x  # torch takes all strides that are not channels-last for rows here
        return
    assert out.shape == x.shape and out.stride() == strides and out.is_contiguous(memory_format=order)


@pytest.mark.parametrize("name", ["clone", "contiguous", "to", "double", "cpu"])
@pytest.mark.parametrize("order", [torch.channels_last, torch.contiguous_format], ids=str)
def test_copies_in_another_order_hold_the_same_values(name, order):
    assert (ARRANGED[name](X, memory_format=order) == X).all()


@pytest.mark.parametrize(
    ("error", "words", "call"),
    [
        (RuntimeError, "required rank 4", lambda: torch.ones(2).clone(memory_format=torch.channels_last)),
        (RuntimeError, "required rank 5", lambda: torch.zeros_like(X, memory_format=torch.channels_last_3d)),
        (RuntimeError, "unsupported memory format", lambda: torch.empty(2, memory_format=torch.preserve_format)),
        (TypeError, "memory_format", lambda: torch.zeros(2, memory_format=torch.contiguous_format)),
        (TypeError, "memory_format", lambda: torch.zeros_like(X, memory_format=3)),
        (TypeError, "layout", lambda: torch.zeros(2, layout="strided")),
        (NotImplementedError, "sparse_grad", lambda: torch.gather(X, 0, X[:1].long() * 0, sparse_grad=True)),
        (RuntimeError, "output_size", lambda: torch.repeat_interleave(torch.ones(2), 2, output_size=7)),
        (ValueError, "can't alias", lambda: torch.asarray([1.0], copy=False)),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(error, words, call):
    with pytest.raises(error, match=words):
        call()


def test_asarray_with_requires_grad_and_range_with_out():
    assert torch.asarray(torch.ones(2), requires_grad=True).requires_grad
    with pytest.warns(UserWarning, match="deprecated"):
        out = torch.range(1, 3, out=torch.empty(3))
    assert out.tolist() == [1.0, 2.0, 3.0]
