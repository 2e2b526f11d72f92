"""`out=` of another shape or layout, and `resize_`: on the memory that a view shares. The values are torch 2.13's."""

import warnings

import numpy as np
import pytest

import rushlight as torch

f32, i64 = torch.float32, torch.int64


def _base():
    return torch.arange(100.0, 112).reshape(3, 4)


VIEWS = [  # view of the base, operator, the base afterwards, shape, strides and offset of the view
    ("narrow", lambda b: b[1:], lambda o: torch.add(torch.ones(2, 2), 1, out=o), [4, 5, 6, 7], 4, (2, 2), (2, 1)),
    ("columns", lambda b: b[:, 1:3], lambda o: torch.add(torch.ones(5), 1, out=o), [1, 2, 3, 4, 5], 1, (5,), (1,)),
    ("step", lambda b: b[:, ::2], lambda o: torch.sum(torch.ones(2, 3), 0, out=o), [0, 1, 2], 0, (3,), (1,)),
    ("select", lambda b: b.select(1, 2), lambda o: torch.mm(torch.ones(2, 2), torch.eye(2), out=o), [2, 3, 4, 5], 2, (2, 2), (2, 1)),
    ("transposed result", lambda b: b[0], lambda o: torch.neg(-2 * torch.ones(3, 2).t(), out=o), [0, 1, 2, 3, 4, 5], 0, (2, 3), (1, 2)),
    ("cat", lambda b: b.view(-1)[3:5], lambda o: torch.cat([torch.ones(2) + 1] * 3, out=o), [3, 4, 5, 6, 7, 8], 3, (6,), (1,)),
    ("expanded", lambda b: b[:1].expand(3, 4), lambda o: torch.mm(torch.ones(2, 2), torch.eye(2) * 2, out=o), [0, 1, 2, 3], 0, (2, 2), (2, 1)),
]  # fmt: skip


@pytest.mark.parametrize(
    ("view", "call", "places", "offset", "shape", "stride"), [v[1:] for v in VIEWS], ids=[v[0] for v in VIEWS]
)
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
def test_a_view_is_resized_on_the_memory_of_its_base(view, call, places, offset, shape, stride):
    base = _base()
    v = view(base)
    assert call(v) is v
    expected = np.arange(100.0, 112)
    expected[places] = (v.t() if stride == (1, 2) else v).reshape(-1).numpy()
    assert base.view(-1).tolist() == expected.tolist()
    assert (v.shape, v.stride(), v.storage_offset()) == (shape, stride, offset)
    v.fill_(7)
    assert base.view(-1)[torch.tensor(places)].tolist() == [7] * len(places)


def test_base_and_views_move_together_where_the_memory_is_too_short():
    base = _base()
    row, tail = base[1], base.view(-1)[-2:]
    version = base._version
    tail.resize_(5)
    assert base._version == version + 1 and base.view(-1).tolist() == list(range(100, 112))
    assert tail[:2].tolist() == [110, 111] and tail.storage_offset() == 10
    assert base.untyped_storage().nbytes() == 15 * 4
    row.zero_()
    tail.fill_(3)
    assert base.tolist() == [[100, 101, 102, 103], [0] * 4, [108, 109, 3, 3]]


def test_a_topk_pair_goes_into_two_views():
    values, indices = torch.zeros(6), torch.zeros(6, dtype=i64)
    with pytest.warns(UserWarning, match="was resized"):
        torch.topk(torch.tensor([3.0, 1, 2]), 2, out=(values[1:2], indices[3:4]))
    assert values.tolist() == [0, 3, 2, 0, 0, 0] and indices.tolist() == [0, 0, 0, 0, 2, 0]


def test_resize_forms():
    x = torch.arange(6.0)
    assert x.resize_(2).resize_(2, 3).tolist() == [[0, 1, 2], [3, 4, 5]]  # the memory keeps what is not shown
    t = x.t()
    version = t._version
    assert t.resize_(3, 2).stride() == (1, 3) and t._version == version  # the same shape changes nothing
    assert torch.ones(2).resize_((2, 3, 2, 2), memory_format=torch.channels_last).stride() == (12, 1, 6, 3)
    like = torch.ones(2, 3, 2, 2).to(memory_format=torch.channels_last)
    assert torch.ones(2).resize_as_(like).stride() == (12, 4, 2, 1)
    assert torch.ones(2).resize_as_(like, memory_format=torch.preserve_format).stride() == (12, 1, 6, 3)


REFUSED = [
    (lambda: torch.from_numpy(np.zeros(2)).resize_(3), "Trying to resize storage that is not resizable"),
    (lambda: torch.add(torch.ones(3, dtype=torch.float64), 1, out=torch.from_numpy(np.zeros(0))), "not resizable"),
    (lambda: torch.ones(2, requires_grad=True).resize_(2), "cannot resize variables that require grad"),
    (lambda: torch.ones(2).resize_(2, memory_format=torch.channels_last), "required rank 4 tensor"),
    (lambda: torch.add(torch.ones(3), 1, out=torch.ones(1).expand(3)), "more than one element of the written-to tensor"),
    (lambda: torch.ones(2, dtype=f32, out=torch.ones(2, dtype=i64)), r"dtype Float does not match dtype of out parameter \(Long\)"),
    (lambda: torch.arange(2, dtype=i64, out=torch.ones(2)), r"dtype Long does not match dtype of out parameter \(Float\)"),
    (lambda: torch.full((2,), 1 + 2j, out=torch.ones(2)), "value cannot be converted to type float without overflow"),
    (lambda: torch.linspace(0, 1j, 3, out=torch.ones(3)), "value cannot be converted to type float without overflow"),
    (lambda: torch.randn(2, out=torch.ones(2, dtype=i64)), "normal_kernel_cpu"),
    (lambda: torch.linspace(0, 1, 3, out=torch.ones(3, dtype=torch.bool)), "\"linspace_cpu\" not implemented for 'Bool'"),
    (lambda: torch.arange(0, 1, 0.5, out=torch.ones(2, dtype=i64)), "step must be nonzero"),
    (lambda: torch.zeros(2, out=torch.ones(2, requires_grad=True)), "zeros.*don't support automatic differentiation"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), REFUSED, ids=[words[:30] for _, words in REFUSED])
def test_refused(call, words):
    with pytest.raises((RuntimeError, ValueError), match=words):
        call()


MADE = [  # into integers, and the values
    (lambda **o: torch.eye(2, **o), [1, 0, 0, 1]), (lambda **o: torch.full((2, 2), 1.5, **o), [1, 1, 1, 1]),
    (lambda **o: torch.ones(2, 2, **o), [1, 1, 1, 1]), (lambda **o: torch.zeros(2, 2, **o), [0, 0, 0, 0]),
    (lambda **o: torch.linspace(0, 3.7, 4, **o), [0, 1, 2, 3]), (lambda **o: torch.linspace(-3, 7, 4, **o), [-3, 0, 3, 7]),
    (lambda **o: torch.logspace(0, 2, 4, **o), [1, 4, 21, 100]), (lambda **o: torch.arange(0, 4, **o), [0, 1, 2, 3]),
]  # fmt: skip


@pytest.mark.parametrize(("make", "values"), MADE)
def test_numbers_are_made_in_the_type_of_out(make, values):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # unlike operators on tensors, these resize in silence
        assert make(out=torch.empty(2, 2, dtype=i64)).view(-1).tolist() == values
        assert make(out=torch.empty(0, dtype=torch.int32)).view(-1).tolist() == values
        view = torch.zeros(2, 4, dtype=i64)[:, ::2]
        assert make(out=view).reshape(-1).tolist() == values and view.stride() == (4, 2)


def test_arange_warns_of_another_number_of_elements():
    with pytest.warns(UserWarning, match="does not match the computed number of elements 4"):
        assert torch.arange(4, out=torch.empty(3)).tolist() == [0, 1, 2, 3]


def test_isin():
    out = torch.zeros(6, dtype=torch.bool)
    with pytest.warns(UserWarning, match="was resized"):
        torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 3]), out=out[1:3])
    assert out.tolist() == [False, False, True, True, False, False]


@pytest.mark.parametrize(
    ("call", "values"),
    [
        (lambda o: torch.randn(2, 16, out=o), [0.8033, 0.089, 0.0462]),
        (lambda o: o.normal_(), [0.8033, 0.089, 0.0462]),
        (lambda o: torch.normal(torch.zeros(2, 16), 1.0, out=o), [0.8033, 0.089, 0.0462]),
        (lambda o: torch.rand(2, 16, out=o), [0.0043, 0.2858, 0.4716]),
        (lambda o: torch.randint(0, 100, (2, 16), out=o), [86, 37, 60]),
    ],
)
def test_draws_fill_memory_that_is_not_contiguous_in_its_own_order(call, values):
    torch.manual_seed(3)
    out = torch.empty(16, 2).t()
    call(out)
    np.testing.assert_allclose(out[0, :3].tolist(), values, atol=5e-5)


def test_a_refused_draw_takes_no_numbers():
    torch.manual_seed(0)
    first = torch.rand(1).item()
    torch.manual_seed(0)
    with pytest.raises(RuntimeError, match="more than one element"):
        torch.ones(1).expand(3).normal_()
    assert torch.rand(1).item() == first


FILLED = [  # a view of a 8 x 6 matrix, and the places in memory that fill_diagonal_(wrap=True) writes
    ("offset", lambda b: b[1:, 1:3], [7, 14, 25, 32, 39]),
    ("transposed", lambda b: b[:2].t(), [0, 3, 7, 10]),
    ("steps", lambda b: b[::2, 1:4:2], [1, 15, 37]),
    ("expanded", lambda b: b[1, 1:4].expand(3, 3), [7, 8, 9]),
    ("expanded steps", lambda b: b[0, ::2].expand(2, 3), [0, 2]),
]


@pytest.mark.parametrize("make", [torch.zeros, torch.ones, lambda *n, out: torch.full(n, 2.0, out=out)])
def test_one_value_goes_into_an_expanded_tensor(make):
    out = torch.arange(3.0)[:, None].expand(3, 2)
    assert make(3, 2, out=out) is out and out.stride() == (1, 0)
    assert out.tolist() == make(3, 2, out=torch.empty(0)).tolist()


@pytest.mark.parametrize("write", [
    lambda t: t.fill_(torch.tensor(1.0)), lambda t: t.copy_(torch.tensor(1.0)), lambda t: t.__setitem__(0, 1.0),
    lambda t: t.__setitem__(..., 1.0), lambda t: t.__setitem__(slice(None), torch.tensor(1.0)),
])  # fmt: skip
def test_a_value_is_not_copied_into_an_expanded_tensor(write):
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        write(torch.zeros(3, 1).expand(3, 3))


@pytest.mark.parametrize("name, arguments, strides", [
    ("t_", (), (0, 1)), ("transpose_", (0, 1), (0, 1)), ("unsqueeze_", (0,), (3, 1, 0)), ("squeeze_", (), (1, 0)),
    ("swapaxes_", (0, 1), (0, 1)), ("as_strided_", ((2,), (1,)), (1,)),
])  # fmt: skip
def test_an_expanded_tensor_becomes_a_view_of_itself(name, arguments, strides):
    t = torch.zeros(3, 1).expand(3, 3)
    assert getattr(t, name)(*arguments) is t and t.stride() == strides


@pytest.mark.parametrize(("view", "places"), [f[1:] for f in FILLED], ids=[f[0] for f in FILLED])
def test_fill_diagonal_of_views(view, places):
    base = torch.zeros(8, 6)
    view(base).fill_diagonal_(5, wrap=True)
    assert base.view(-1).nonzero().view(-1).tolist() == places


def test_as_strided_of_memory_with_gaps():
    x = np.arange(12.0)[::3]
    assert torch.from_numpy(x).as_strided((4,), (2,)).tolist() == [0, 2, 4, 6]


def test_some_operators_write_the_type_of_their_input():
    for name in ("neg", "sgn", "ceil", "trunc", "bitwise_not"):
        x = torch.ones(2, dtype=torch.int32)
        with pytest.raises(RuntimeError, match="Found dtype Long but expected Int"):
            getattr(torch, name)(x, out=torch.zeros(2, dtype=torch.int64))


def test_numbers_where_only_tensors_go():
    x = torch.ones(2)
    for f in (torch.maximum, torch.atan2):
        with pytest.raises(TypeError, match="must be Tensor, not float"):
            f(x, 2.0, out=torch.empty(2))


def test_fill_by_an_element_of_its_own():
    a = torch.arange(4.0).reshape(2, 2)
    assert a.fill_(a[1, 1]).tolist() == [[3, 3], [3, 3]]


def test_reductions_into_what_they_have_read():
    """Torch's numbers: these write once they have read all of a slice."""

    def given():
        return (torch.arange(20.0) * 1.5 - 3).reshape(5, 4)

    a = given()
    assert torch.std(a, 0, out=a[2]).tolist() == given().std(0).tolist() == a[2].tolist()
    a = given()
    assert torch.var(a, 1, out=a[:, 3]).tolist() == [3.75] * 5 == a[:, 3].tolist()
    a = given()
    torch.median(a, 0, out=(a[0], torch.empty(4, dtype=torch.int64)))
    assert a[0].tolist() == [9.0, 10.5, 12.0, 13.5]
    a = given()
    assert torch.linalg.vector_norm(a, dim=0, out=a[0]).tolist() == torch.linalg.vector_norm(given(), dim=0).tolist()
    a = given()
    assert torch.dot(a[0], a[1], out=a[0, 0]).item() == -4.5 == a[0, 0].item()


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "amin", "nansum"])
def test_reductions_that_begin_by_writing_are_refused(name):
    """Torch reads again what it has written there: a sum of all but the numbers that were in `out`."""
    a = torch.ones(5, 4)
    for dim, out in ((0, a[0]), (1, a[:, 0])):
        with pytest.raises((RuntimeError, NotImplementedError), match="clone"):
            getattr(torch, name)(a, dim, out=out)
    assert a.sum() == 20


def test_a_masked_scatter_of_a_tensor_into_itself_reads_what_it_has_written():
    """Torch's numbers."""
    x = torch.arange(12.0) - 3
    assert x.masked_scatter(x > 0, x).tolist() == [-3, -2, -1, 0, -3, -2, -1, 0, 1, 2, 3, 4]
    assert x.masked_scatter_(x > 0, x).tolist() == [-3, -2, -1, 0] * 3
