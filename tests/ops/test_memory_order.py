"""Where the order of a tensor's memory counts: layouts of results, draws into them, writes into memory that is read.

The programs and torch's numbers are of tests/golden/make_memory_order.py.
"""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import rushlight

GOLDEN = Path(__file__).parent.parent / "golden"
ANSWERS = json.loads((GOLDEN / "memory_order.json").read_text())
_spec = importlib.util.spec_from_file_location("make_memory_order", GOLDEN / "make_memory_order.py")
MAKER = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(MAKER)


@pytest.mark.parametrize("layout", MAKER.LAYOUTS)
@pytest.mark.parametrize("draw", MAKER.DRAWS)
def test_draws_fill_memory_in_torchs_order(draw, layout):
    expected = ANSWERS["draws"][f"{draw} {layout}"]
    got = MAKER.drawn(rushlight, layout, draw)
    assert got["stride"] == expected["stride"]
    np.testing.assert_allclose(got["values"], expected["values"], rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("layout", MAKER.LAID_OUT)
@pytest.mark.parametrize("result", MAKER.RESULTS)
def test_results_lie_in_memory_as_torchs(result, layout):
    assert MAKER.stride_of(rushlight, MAKER.LAID_OUT[layout], result) == ANSWERS["strides"][f"{result} {layout}"]


@pytest.mark.parametrize("layout", MAKER.REPEATED)
@pytest.mark.parametrize("result", MAKER.OF_REPEATED)
def test_results_of_repeated_elements_lie_in_memory_as_torchs(result, layout):
    assert MAKER.stride_of(rushlight, MAKER.REPEATED[layout], result) == ANSWERS["repeated"][f"{result} {layout}"]


@pytest.mark.parametrize("layout", MAKER.EMPTY)
@pytest.mark.parametrize("result", MAKER.OF_EMPTY)
def test_empty_tensors_have_torchs_strides(result, layout):
    assert MAKER.stride_of(rushlight, MAKER.EMPTY[layout], result) == ANSWERS["empty"][f"{result} {layout}"]


@pytest.mark.parametrize("layout", MAKER.IMAGES)
@pytest.mark.parametrize("result", MAKER.OF_IMAGES)
def test_results_of_images_lie_in_memory_as_torchs(result, layout):
    assert MAKER.stride_of(rushlight, MAKER.IMAGES[layout], result) == ANSWERS["images"][f"{result} {layout}"]


@pytest.mark.parametrize(
    ("layout", "result"), [(layout, r) for layout, (_, results) in MAKER.WITH_GRADIENTS.items() for r in results]
)
def test_gradients_lie_in_memory_as_torchs(layout, result):
    start = MAKER.WITH_GRADIENTS[layout][0]
    expected = ANSWERS["gradients"][f"{result} {layout}"]
    for _ in range(3):  # a program may serve from the second call on
        assert MAKER.strides_with_gradient(rushlight, start, result) == expected


@pytest.mark.parametrize(("start", "write"), MAKER.WRITES, ids=[f"{i}-{w}" for i, (_, w) in enumerate(MAKER.WRITES)])
@pytest.mark.filterwarnings("ignore:Use of index_")
def test_writes_over_what_they_read(start, write):
    assert MAKER.written(rushlight, start, write) == ANSWERS["writes"][f"{start}; {write}"]


def test_gradient_of_an_overlapping_copy():
    x = rushlight.arange(12.0).view(4, 3).requires_grad_()
    y = x * 1
    y[:-1, :2] = y[1:, :2]
    y.sum().backward()
    assert x.grad.tolist() == [[0, 0, 1], [1, 1, 1], [1, 1, 1], [2, 2, 1]]


def test_kernels_that_cannot_go_in_order_refuse():
    x = rushlight.arange(12.0).view(4, 3)
    with pytest.raises(NotImplementedError, match="clone"):
        rushlight.cumsum(x[:-1, :2], 0, out=x[1:, :2])
    with pytest.raises(NotImplementedError, match="clone"):
        x.as_strided((3, 4), (2, 1)).cumsum_(0)


def test_writes_at_indices_of_expanded_tensors_warn():
    x = rushlight.arange(4.0).expand(3, 4)
    with pytest.warns(UserWarning, match="Use of index_put_ on expanded tensors is deprecated"):
        x[rushlight.tensor([0, 1])] = 5
    with pytest.warns(UserWarning, match="Use of index_fill_ on expanded tensors is deprecated"):
        x.index_fill_(1, rushlight.tensor([1]), 9)
    assert x.tolist() == [[5, 9, 5, 5]] * 3


def test_transforms_have_their_dimensions_last():
    x = rushlight.ones(4, 3, 2).permute(2, 1, 0)
    assert rushlight.fft.rfft(x, dim=0).stride() == (1, 2, 6)
    assert rushlight.fft.irfft(x, 5).stride() == (5, 10, 1)
    assert rushlight.fft.fftn(x).stride() == (1, 2, 6)
    assert rushlight.fft.ihfft2(rushlight.ones(6, 4).t()).stride() == (1, 4)


def test_parts_of_complex_numbers_decide_their_order():
    x = rushlight.ones(3, 2).t()
    assert rushlight.polar(x, x).stride() == rushlight.complex(x, rushlight.ones(2, 1)).stride() == (1, 2)
    assert rushlight.special.zeta(x + 1, x).stride() == rushlight.special.gammainc(x, x).stride() == (1, 2)


def test_unravelled_indices_are_of_int64():
    assert [i.dtype for i in rushlight.unravel_index(rushlight.tensor([4], dtype=rushlight.int16), (2, 3))] == [
        rushlight.int64
    ] * 2


P, REPEATED, ROWS = (
    rushlight.ones(3, 2).t(),
    rushlight.ones(2, 1).expand(2, 3),
    rushlight.ones(2, 3),
)
X, Y, Z = rushlight.ones(4, 3, 2).permute(2, 1, 0), rushlight.ones(2, 1, 4), rushlight.ones(3, 2).t()[:, :, None]
OPERANDS = (REPEATED, P, ROWS), (REPEATED, ROWS, P), (Y, Z, X), (Z, Y, X[:, :1])
OF_SEVERAL = {  # torch's strides of the results for each of OPERANDS
    "where": (lambda p, q, r: rushlight.where(p > 0, q, r), [(3, 1), (3, 1), (12, 1, 3), (4, 8, 1)]),
    "addcmul": (rushlight.addcmul, [(1, 2), (3, 1), (12, 1, 3), (4, 8, 1)]),
    "addcdiv": (rushlight.addcdiv, [(1, 2), (3, 1), (12, 1, 3), (4, 8, 1)]),
    "lerp": (rushlight.lerp, [(1, 2), (3, 1), (12, 1, 3), (4, 8, 1)]),
    "clamp": (rushlight.clamp, [(1, 2), (3, 1), (12, 1, 3), (4, 8, 1)]),
    "heaviside": (lambda p, q, r: rushlight.heaviside(p, q), [(1, 2), (3, 1), (4, 8, 1), (4, 8, 1)]),
    "complex": (lambda p, q, r: rushlight.complex(p, q), [(1, 2), (3, 1), (4, 8, 1), (4, 8, 1)]),
    "isclose": (lambda p, q, r: rushlight.isclose(p, q), [(1, 2), (3, 1), (4, 8, 1), (4, 8, 1)]),
    "add with alpha": (lambda p, q, r: rushlight.add(p, q, alpha=0.3), [(1, 2), (3, 1), (4, 8, 1), (4, 8, 1)]),
}


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_the_first_operand_that_steps_along_two_dimensions_orders_them(name):
    function, strides = OF_SEVERAL[name]
    assert [function(*operands).stride() for operands in OPERANDS] == strides


# drawn by torch 2.13 with the seed 0 into six places that are the elements of a (3, 4) tensor
@pytest.mark.parametrize(
    ("fill", "arguments", "places"),
    [
        ("uniform_", (), [0.4963, 0.1320, 0.4901, 0.6323, 0.3489, 0.4017]),
        ("normal_", (), [1.5410, 0.5684, 0.4033, -0.4033, -0.5966, 0.1820]),
        ("geometric_", (0.5,), [1, 1, 3, 2, 2, 3]),
        ("random_", (100,), [44, 60, 27, 83, 1, 66]),
    ],
)
def test_draws_into_places_that_elements_share(fill, arguments, places):
    rushlight.manual_seed(0)
    memory = rushlight.zeros(6)
    getattr(memory.as_strided((3, 4), (1, 1)), fill)(*arguments)
    assert memory.tolist() == pytest.approx(places, abs=1e-4)


@pytest.mark.parametrize("named", [False, True])
def test_draws_of_a_probability_for_each_element_follow_the_memory(named):
    rushlight.manual_seed(0)
    p, x = rushlight.rand(3, 4), rushlight.zeros(4, 3).t()
    x = x.bernoulli_(p=p) if named else x.bernoulli_(p)
    assert x.tolist() == [[1, 1, 0, 0], [1, 0, 1, 1], [1, 0, 0, 0]]


def test_renorm_of_elements_that_share_places_refuses():
    with pytest.raises(NotImplementedError, match="clone"):
        rushlight.ones(6).as_strided((3, 4), (1, 1)).renorm_(2, 0, 0.5)


@pytest.mark.parametrize("name", ["lgamma", "erf", "digamma"])
def test_small_results_of_special_functions_have_the_layout_of_the_input(name):
    x = rushlight.rand(2, 4, 3).permute(2, 0, 1)
    assert getattr(rushlight, name)(x).stride() == x.stride() == (1, 12, 3)


def test_the_gradient_of_a_sum_over_one_element_is_the_incoming_one():
    x = rushlight.rand(1, 2, 3, requires_grad=True)
    (g,) = rushlight.autograd.grad(x.cumsum(0).sum(), x)
    assert g.stride() == (0, 0, 0)


def _volume(*order: int) -> rushlight.Tensor:
    sizes = [(4, 2, 3)[i] for i in order]
    return rushlight.rand(sizes).permute([order.index(i) for i in range(3)])


@pytest.mark.parametrize(
    ("index", "stride"),
    [
        (lambda i: (i,), (6, 3, 1)),
        (lambda i: (slice(None), i[:2] % 2), (1, 4, 8)),
        (lambda i: (..., i), (3, 12, 1)),
        (lambda i: (i, i % 2), (3, 1)),
    ],
)
def test_elements_at_indices_lie_as_the_rest_of_the_input(index, stride):
    x, i = _volume(1, 2, 0), rushlight.tensor([0, 2, 1])
    assert x.stride() == (1, 12, 4)
    found = x[index(i)]
    assert found.stride() == stride and rushlight.equal(found, x.contiguous()[index(i)])


def test_a_batch_of_images_that_is_chosen_by_index_stays_channels_last():
    x, i = rushlight.rand(4, 3, 5, 6).to(memory_format=rushlight.channels_last), rushlight.tensor([0, 2, 1])
    assert x[i].stride() == x[[True, False, True, True]].stride() == (90, 1, 18, 3)
    assert x[:, i].stride() == (90, 30, 6, 1) and x[:, :, i].stride() == (54, 1, 3, 9)
    assert x[i, :, i].stride() == (18, 1, 3)


def test_operands_that_repeat_or_broadcast_tell_the_order_together():
    x, y = rushlight.rand(3, 1, 2).permute(2, 1, 0), rushlight.rand(2, 3)
    assert (x == y).stride() == (1, 2, 4)
    x, g = _volume(2, 1, 0), rushlight.ones(()).expand(4, 2, 3)
    assert (g * x).stride() == (x * g).stride() == x.stride() == (1, 4, 8)


def test_to_a_memory_format_keeps_what_torch_suggests_that_format_for():
    rows, columns = rushlight.contiguous_format, rushlight.channels_last
    x = rushlight.rand(3, 4).t()
    assert x.to(memory_format=rows) is x and x.double().to(rushlight.float32, memory_format=rows).stride() == (3, 1)
    part = rushlight.rand(2, 6, 4, 5).to(memory_format=columns)[:, :3]
    assert part.to(memory_format=columns) is part
    for shape, stride in (((2, 1, 4, 5), (20, 1, 5, 1)), ((2, 3, 1, 1), (3, 1, 3, 3))):
        gray = rushlight.rand(shape)
        moved = gray.to(memory_format=columns)
        assert gray.contiguous(memory_format=columns) is gray and moved.stride() == stride
        assert moved.clone().stride() == moved.double().stride() == rushlight.zeros_like(moved).stride() == stride
    assert rushlight.nn.Conv2d(1, 5, 3, padding=1)(rushlight.rand(2, 1, 4, 5).to(memory_format=columns)).stride() == (
        100,
        1,
        25,
        5,
    )
    gray = rushlight.rand(2, 1, 4, 4).to(memory_format=columns)
    assert rushlight.cat([gray, gray], 1).stride() == (32, 1, 8, 2)
    images = rushlight.rand(2, 3, 4, 4).to(memory_format=columns)
    assert rushlight.nn.functional.max_pool2d(images, 1).stride() == (48, 1, 12, 3)


def test_reductions_that_keep_dimensions_have_the_strides_of_their_shape():
    x = rushlight.rand(6, 4).t()
    for f in (rushlight.sum, rushlight.amax, rushlight.prod, rushlight.nansum, rushlight.mean):
        assert f(x, 0, keepdim=True).stride() == (6, 1) and f(x, 1, keepdim=True).stride() == (1, 1)
    assert rushlight.rand(6, 4, 3).permute(2, 1, 0).sum((0, 1), True).stride() == (6, 6, 1)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x.scatter(0, rushlight.zeros(3, 4).long(), y),
        lambda x, y: x.scatter(0, rushlight.zeros(3, 4).long(), 1.0),
        lambda x, y: x.scatter_add(0, rushlight.zeros(3, 4).long(), y),
        lambda x, y: x.scatter_reduce(0, rushlight.zeros(3, 4).long(), y, "amax"),
        lambda x, y: x.index_add(0, rushlight.tensor([2, 0, 1]), y),
        lambda x, y: x.index_copy(0, rushlight.tensor([2, 0, 1]), y),
    ],
)
def test_elements_placed_by_indices_are_in_rows(f):
    x, y = rushlight.rand(4, 3).t(), rushlight.rand(3, 4)
    r = f(x, y)
    assert r.stride() == (4, 1) and rushlight.equal(r, f(x.contiguous(), y))


@pytest.mark.parametrize("n", [3, 60, 9000])
def test_the_gradient_of_relu_has_the_order_of_its_result(n):
    """torch 2.13: whatever the order of the gradient that comes in; that of sigmoid has the gradient's."""
    g = rushlight.randn(4, 5, n).permute(1, 2, 0)
    plain = rushlight.randn(5, n, 4, requires_grad=True)
    moved = rushlight.randn(n, 4, 5).permute(2, 0, 1).requires_grad_()
    for _ in range(3):
        for x, stride in ((plain, (4 * n, 4, 1)), (moved, (1, 20, 5))):
            assert rushlight.autograd.grad(x.relu(), x, g)[0].stride() == stride
            assert rushlight.autograd.grad(x.sigmoid(), x, g)[0].stride() == (n, 1, 5 * n)


def test_the_gradient_of_a_signal_filled_with_zeros_is_no_view():
    x = rushlight.ones(2, 4, requires_grad=True)
    for transform in (rushlight.fft.fft, rushlight.fft.rfft):
        (g,) = rushlight.autograd.grad(transform(x, 6).abs().sum(), x)
        assert g.stride() == (4, 1) and not g._is_view()


def test_solutions_from_the_right_are_stored_by_rows():
    a = rushlight.eye(3)
    assert rushlight.linalg.solve(a, rushlight.ones(2, 3), left=False).stride() == (3, 1)
    assert rushlight.linalg.solve(a, rushlight.ones(3, 2)).stride() == (1, 3)
