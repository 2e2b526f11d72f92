"""The memory of einsum's results: torch puts the operands so that the result has its own order where that can be had.

What a result is in memory decides which elements a dropout leaves out after it, and which format a convolution gives.
"""

import pytest

import rushlight as torch

SIZES = {"n": 2, "q": 5, "k": 4, "c": 3, "b": 2, "h": 6, "i": 7, "j": 8, "d": 9, "a": 4}


def operands(equation):
    return [torch.randn([SIZES[x] for x in labels]) for labels in equation.partition("->")[0].split(",")]


# strides that torch 2.13 gives
@pytest.mark.parametrize(
    ("equation", "strides"),
    [
        ("nqk,nck->ncq", (15, 5, 1)),
        ("nqk,nkc->ncq", (15, 5, 1)),
        ("nck,nqk->nqc", (15, 3, 1)),
        ("nqk,nck->nqc", (15, 3, 1)),
        ("nqk,nck->cqn", (5, 1, 15)),
        ("nqk,nck->qcn", (3, 1, 15)),
        ("ij,jk->ki", (7, 1)),
        ("ij,jk->ik", (4, 1)),
        ("bhij,bhjd->bihd", (378, 9, 63, 1)),
        ("ab,cd->acbd", (54, 18, 9, 1)),
    ],
)
def test_the_memory_of_the_result(equation, strides):
    x, y = operands(equation)
    assert torch.einsum(equation, x, y).stride() == strides


@pytest.mark.parametrize(
    "equation", ["nqk,nck->ncq", "nqk,nck->cqn", "ij,jk->ki", "bhij,bhjd->dhib", "nqka,nck->ncq", "ab,cd->dbca"]
)
@pytest.mark.parametrize("alone", ["", "n", "q", "c", "nq", "k"])
def test_operands_that_change_places_give_the_same_values(equation, alone):
    sizes = SIZES | dict.fromkeys(alone, 1)
    left, right = equation.partition("->")[0].split(",")
    x, y = (
        torch.randn([sizes[c] for c in labels], dtype=torch.float64, requires_grad=True) for labels in (left, right)
    )
    result = torch.einsum(equation, x, y)
    letters = sorted({*left, *right})
    shown = [t.detach().numpy() for t in (x, y)]
    spread = [
        s.transpose(sorted(range(s.ndim), key=lambda i: labels[i])).reshape(
            [sizes[c] if c in labels else 1 for c in letters]
        )
        for s, labels in zip(shown, (left, right), strict=True)
    ]
    kept = equation.partition("->")[2]
    product = (spread[0] * spread[1]).sum(tuple(i for i, c in enumerate(letters) if c not in kept))
    in_order = [c for c in letters if c in kept]
    expected = product.transpose([in_order.index(c) for c in kept])
    torch.testing.assert_close(result, torch.from_numpy(expected.copy()))
    assert torch.autograd.gradcheck(lambda a, b: torch.einsum(equation, a, b), (x, y))


def test_a_dropout_after_attention_leaves_out_the_same_elements():
    torch.manual_seed(0)
    weights, values = torch.rand(2, 4, 4), torch.rand(2, 3, 4)
    left = torch.einsum("nqk,nck->ncq", weights, values)
    torch.manual_seed(1)
    found = torch.nn.functional.dropout(left, 0.5) == 0
    torch.manual_seed(1)
    assert torch.equal(found, torch.nn.functional.dropout(left.contiguous(), 0.5) == 0)
