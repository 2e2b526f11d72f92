"""`out=` that is the input of the call, or in its memory: torch's numbers or its error. Numbers from torch 2.13."""

import math

import pytest

import rushlight as torch

pytestmark = [
    pytest.mark.filterwarnings("ignore:An output with one or more elements was resized"),
    pytest.mark.filterwarnings("ignore:.*degrees of freedom"),
]


@pytest.mark.parametrize(
    "name, first",
    [("sum", 0), ("nansum", 0), ("prod", 1), ("amax", -math.inf), ("amin", math.inf)],
)
def test_reductions_read_what_they_began_with_in_an_input_that_took_the_result_s_shape(name, first):
    t = torch.arange(1.0, 7.0).view(2, 3)
    assert getattr(torch, name)(t, 0, out=t) is t
    assert t.tolist() == [first] * 3
    t = torch.arange(1.0, 7.0).view(2, 3)
    assert getattr(torch, name)(t, 1, keepdim=True, out=t).tolist() == [[first]] * 2
    t = torch.ones(2, 3)
    with pytest.raises(IndexError, match="Dimension out of range"):
        getattr(torch, name)(t, 1, out=t)


def test_mean_into_its_input_is_resized_once_more():
    t = torch.arange(1.0, 7.0).view(2, 3)
    assert torch.mean(t, 0, out=t).tolist() == 0.0


def test_places_of_extremes_into_the_input():
    t = torch.arange(6).view(2, 3)
    assert torch.argmax(t, 0, out=t).tolist() == [0, 0, 0]
    t = torch.ones(3, 2, dtype=torch.bool)
    assert torch.any(t, 0, out=t).tolist() == [False, False]


def test_the_deviation_of_the_single_number_that_is_left():
    for name in ("std", "var"):
        t = torch.zeros(3)
        assert math.isnan(getattr(torch, name)(t, 0, out=t).item())
    t = torch.tensor([3.0, 4.0])
    assert torch.norm(t, 2, 0, out=t).tolist() == 3.0


def test_deviations_are_written_one_after_the_other():
    a = torch.tensor([1.0, 2.0, 4.0, 8.0, 9.0, 3.0, 5.0, 5.0, 7.0])
    x = a.view(3, 3)
    torch.var(x, 1, out=a[3:6])
    first = torch.tensor([1.0, 2.0, 4.0]).var()
    second = torch.stack([first, torch.tensor(9.0), torch.tensor(3.0)]).var()
    assert a[3:5].tolist() == [first, second]
    assert second != torch.tensor([8.0, 9.0, 3.0]).var()


@pytest.mark.parametrize("call", ["max", "mode", "std", "linalg.svdvals", "quantile"])
def test_other_resized_inputs_are_refused(call):
    t = torch.arange(1.0, 7.0).view(2, 3)
    f = torch.linalg.svdvals if call == "linalg.svdvals" else getattr(torch, call)
    args = {"linalg.svdvals": (), "quantile": (0.5, 0)}.get(call, (0,))
    out = (t, torch.empty(3, dtype=torch.int64)) if call in ("max", "mode") else t
    with pytest.raises(NotImplementedError, match="resized before it is read"):
        f(t, *args, out=out)
    assert t.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_sources_and_lists_and_named_inputs_are_looked_at():
    def given():
        return torch.arange(9.0).view(3, 3), torch.ones(3, 3), torch.tensor([1, 0, 2])

    x, y, i = given()
    for f in (
        lambda: torch.index_copy(y, 0, i, x, out=x),
        lambda: torch.index_add(y, 0, i, x, out=x),
        lambda: torch.scatter(y, 0, i.expand(3, 3), x, out=x),
        lambda: torch.cross(x, y, dim=0, out=x),
        lambda: torch.cross(x, other=y, dim=0, out=y),
        lambda: torch.vstack([x, y], out=x),
        lambda: torch.take_along_dim(x, i.expand(3, 3), 0, out=x),
        lambda: torch.lerp(y, y, x, out=x.t()),
        lambda: torch.clamp(y, min=x, out=x.t()),
    ):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            f()
    assert x.tolist() == given()[0].tolist() and y.tolist() == given()[1].tolist()
    torch.index_add(x, 0, i, y, out=x)
    assert x.tolist() == (given()[0] + 1).tolist()


@pytest.mark.parametrize("name", ["addmm", "bmm", "mv"])
def test_products_into_a_factor_are_refused(name):
    x, y, v = torch.arange(9.0).view(3, 3), torch.ones(3, 3), torch.arange(3.0)
    x3 = x[None]
    with pytest.raises(NotImplementedError, match="clone"):
        {
            "addmm": lambda: torch.addmm(y, x, y, out=x),
            "bmm": lambda: torch.bmm(x3, y[None], out=x3),
            "mv": lambda: torch.mv(x, v, out=v),
        }[name]()
    assert torch.addmm(y, x, x, out=y).tolist() == (torch.ones(3, 3) + x @ x).tolist()


def test_functions_in_a_buffer_read_a_part_of_a_row_before_they_write():
    b = torch.linspace(0.3, 0.9, 60)
    x, out = b[20:29], b.as_strided((9,), (2,), 20)
    plain = torch.exp(x.clone())
    assert torch.exp(x, out=out).tolist() == plain.tolist()
    b = torch.linspace(0.3, 0.9, 60)
    x, out = b[20:29], b.as_strided((9,), (2,), 20)
    torch.neg(x, out=out)  # which is not one of them
    assert out[4] == -out[2] != -torch.linspace(0.3, 0.9, 60)[24]


def test_a_buffer_has_a_size():
    b = torch.linspace(0.3, 0.9, 10000)
    x, out = b[:4096], b.as_strided((4096,), (2,), 0)
    plain = torch.exp(x.clone())
    torch.exp(x, out=out)
    assert out[:2048].tolist() == plain[:2048].tolist() and out[2048] != plain[2048]


def test_an_input_without_elements_is_refused_as_well():
    x, none = torch.empty(0, 3), torch.zeros(0, dtype=torch.int64)
    for f in (
        lambda: torch.index_select(x, 0, none, out=x),
        lambda: torch.masked_select(x, x > 0, out=x),
        lambda: torch.index_copy(torch.ones(0, 3), 0, none, x, out=x),
        lambda: torch.cat([x], out=x),
    ):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            f()
    assert torch.take_along_dim(x, none.expand(3, 0).t(), 0, out=x).shape == (0, 3)
    assert torch.stack([x], out=x).shape == (1, 0, 3)
    y = torch.empty(0)
    assert torch.cat([y, torch.ones(0)], out=y).shape == (0,)
