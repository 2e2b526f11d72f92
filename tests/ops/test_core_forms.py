"""Functions of `torch` that take other arguments than those of the same name in `torch.nn.functional`."""

import inspect

import pytest

import rushlight as torch
from rushlight.core.dispatch.python_signatures import overloads_of
from rushlight.nn import functional as F
from rushlight.ops import core_forms

TABLE = torch.tensor([[8.0, -9.0], [6.0, -7.0], [4.0, -5.0], [2.0, -3.0], [0.0, -1.0]])
INDICES = torch.tensor([0, 2, 4, 1, 3])


@pytest.mark.parametrize("name", core_forms.__all__)
def test_parameters_are_torchs(name):
    f = getattr(torch, name)
    assert f is not getattr(F, name, None) and f is getattr(core_forms, name)
    own = [p.name for p in inspect.signature(f).parameters.values()]
    assert any(own == [p.name for p in o.parameters] for o in overloads_of("torch", name))


def test_embedding_takes_the_table_first():
    picked = torch.embedding(TABLE, INDICES[:2])
    assert picked.tolist() == F.embedding(INDICES[:2], TABLE).tolist() == [[8.0, -9.0], [4.0, -5.0]]
    assert torch.embedding(weight=TABLE, indices=INDICES[:1], padding_idx=-1).tolist() == [[8.0, -9.0]]
    with pytest.raises(RuntimeError, match="'weight' must be 2-D"):
        torch.embedding(INDICES, TABLE)


# (mode, include_last_offset, padding_idx, offsets, the four results): torch 2.13's
BAGS = [
    (0, False, None, [0, 2, 2], [[[12.0, -14.0], [0.0, 0.0], [8.0, -11.0]], [], [0, 0, 0], [0, 0, 0]]),
    (0, False, 2, [0, 2, 2], [[[8.0, -9.0], [0.0, 0.0], [8.0, -11.0]], [0, 0, 2, 2, 2], [0, 0, 0], [0, 0, 0]]),
    (0, True, None, [0, 2, 5], [[[12.0, -14.0], [8.0, -11.0]], [], [0, 0, 0], [0, 0, 0]]),
    (1, True, 2, [0, 2, 5], [[[8.0, -9.0], [8 / 3, -11 / 3]], [0, 0, 1, 1, 1], [1, 3], [1, 3]]),
    (1, False, None, [0, 2, 5], [[[6.0, -7.0], [8 / 3, -11 / 3], [0.0, 0.0]], [0, 0, 1, 1, 1], [2, 3, 0], [2, 3, 0]]),
    (2, False, None, [0, 2, 2], [[[8.0, -5.0], [0.0, 0.0], [6.0, -1.0]], [0, 0, 2, 2, 2], [2, 0, 3], [[0, 2], [0, 0], [1, 4]]]),
    (2, True, 0, [0, 2, 5], [[[4.0, -5.0], [6.0, -1.0]], [0, 0, 1, 1, 1], [1, 3], [[2, 2], [1, 4]]]),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "include_last", "padding", "offsets", "expected"), BAGS)
def test_embedding_bag_gives_the_places_as_well(mode, include_last, padding, offsets, expected):
    found = torch.embedding_bag(
        TABLE, INDICES, torch.tensor(offsets), False, mode, include_last_offset=include_last, padding_idx=padding
    )
    torch.testing.assert_close(found[0], torch.tensor(expected[0]))
    assert [t.tolist() for t in found[1:]] == expected[1:] and {t.dtype for t in found[1:]} == {torch.int64}


def test_adaptive_max_pool1d_gives_the_places_as_well():
    values, places = torch.adaptive_max_pool1d(torch.tensor([[1.0, 5.0, 3.0, 4.0]]), 2)
    assert (values.tolist(), places.tolist()) == ([[5.0, 4.0]], [[1, 3]])


def test_dropout_takes_train():
    assert torch.dropout(torch.ones(3), p=0.5, train=False).tolist() == [1.0] * 3
    assert torch.alpha_dropout(torch.ones(3), 1.0, True).tolist() == [0.0] * 3
    with pytest.raises(TypeError):
        torch.dropout(torch.ones(3))


def test_nothing_is_written_in_place():
    for name, arguments in {"relu": (), "selu": (), "celu": (1.0,), "threshold": (0.0, 1.0)}.items():
        with pytest.raises(TypeError):
            getattr(torch, name)(torch.ones(2), *arguments, inplace=True)


def test_traces_and_graphs_name_the_form_of_torch():
    offsets = torch.tensor([0, 2])
    bags = torch.jit.trace(lambda i: torch.embedding_bag(TABLE, i, offsets)[0], INDICES)
    assert "aten::embedding_bag" in str(bags.graph) and bags(INDICES).tolist() == [[12.0, -14.0], [8.0, -11.0]]
    picked = torch.jit.trace(lambda i: torch.embedding(TABLE, i), INDICES)
    assert picked(INDICES[1:]).tolist() == TABLE[INDICES[1:]].tolist()

    def f(x):
        return torch.dropout(torch.relu(x), 0.5, False) + F.relu(x)

    code = torch.fx.symbolic_trace(f).code
    assert (
        "torch.relu(x)" in code
        and "torch.dropout(relu, 0.5, False)" in code
        and "torch.nn.functional.relu(x, inplace = False)" in code
    )
