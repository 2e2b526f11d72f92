"""Where results are rounded: once behind a product and a sum, and how a number meets 16-bit floats. As torch 2.13 does."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import rushlight as torch
from rushlight.core.determinism import mode

F32 = np.float32
SHAPES = [(), (5,), (3, 7), (40_000,)]


def draw(seed, shape, kind):
    rs = np.random.RandomState(seed)
    return np.asarray(rs.standard_normal(shape) * 3).astype(kind)


def exactly(x, y, z):
    """x y + z of single numbers, rounded once to the type of z."""
    kind = z.dtype.type
    exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    near = kind(float(exact))
    if kind is np.float64:
        return near
    return min(
        (near, np.nextafter(near, kind(np.inf)), np.nextafter(near, kind(-np.inf))),
        key=lambda r: abs(Fraction(float(r)) - exact),
    )


def rounded_once(x, y, z):
    x, y, z = np.broadcast_arrays(x, y, z)
    flat = [exactly(*row) for row in zip(x.ravel()[:300], y.ravel()[:300], z.ravel()[:300], strict=True)]
    return np.array(flat, z.dtype)


def head(t):
    return t.numpy().ravel()[:300]


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_product_that_is_added_is_not_rounded_before(shape, kind):
    a, b, c = (draw(i, shape, kind) for i in range(3))
    alpha = a.dtype.type(-0.0123)
    x, y, z = (torch.from_numpy(v) for v in (a, b, c))
    np.testing.assert_array_equal(head(torch.add(x, y, alpha=-0.0123)), rounded_once(b, alpha, a))
    np.testing.assert_array_equal(head(torch.sub(x, y, alpha=0.0123)), rounded_once(b, alpha, a))
    np.testing.assert_array_equal(head(x.clone().add_(y, alpha=-0.0123)), rounded_once(b, alpha, a))
    np.testing.assert_array_equal(head(torch.rsub(y, x, alpha=0.0123)), rounded_once(b, alpha, a))
    near, far = a.dtype.type(0.1), a.dtype.type(0.7) - a.dtype.type(1)
    np.testing.assert_array_equal(head(torch.lerp(x, y, 0.1)), rounded_once(b - a, near, a))
    np.testing.assert_array_equal(head(x.clone().lerp_(y, 0.7)), rounded_once(b - a, far, b))
    np.testing.assert_array_equal(head(torch.lerp(x, y, torch.full_like(x, 0.7))), rounded_once(b - a, far, b))
    np.testing.assert_array_equal(head(torch.addcmul(x, y, z)), rounded_once(b, c, a))
    np.testing.assert_array_equal(
        head(x.clone().addcmul_(y, z, value=0.001)), rounded_once(b * a.dtype.type(0.001), c, a)
    )
    np.testing.assert_array_equal(
        head(torch.addcdiv(x, y, z, value=0.001)), (a + b * a.dtype.type(0.001) / c).ravel()[:300]
    )


def test_gradients_of_a_scaled_sum():
    x, y = (
        torch.ones(3, dtype=torch.float64, requires_grad=True),
        torch.ones(3, dtype=torch.float64, requires_grad=True),
    )
    assert torch.autograd.gradcheck(lambda a, b: torch.add(a, b, alpha=0.3), (x, y))
    assert torch.autograd.gradcheck(lambda a, b: torch.sub(a, b, alpha=0.3), (x, y))
    assert torch.add(x, y, alpha=0.3).grad_fn.name() == "AddBackward0"
    assert torch.sub(x, y, alpha=0.3).grad_fn.name() == "SubBackward0"


def test_infinities_in_double_precision():
    x = torch.tensor([np.inf, -np.inf, 1e308, np.nan, 0.0], dtype=torch.float64)
    y = torch.tensor([1.0, np.inf, 1e308, 1.0, 1e300], dtype=torch.float64)
    got = torch.add(x, y, alpha=1.5).tolist()
    assert got[0] == np.inf and np.isnan(got[1]) and got[2] == np.inf and np.isnan(got[3]) and got[4] == 1.5e300


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_the_sign_of_zero(kind):
    zero = torch.tensor([-0.0, -0.0], dtype=getattr(torch, kind))
    for got in (torch.add(zero, zero, alpha=0.3), torch.addcmul(zero, -zero, zero)):
        assert np.signbit(got.numpy()).all()


def test_scaled_sums_of_mixed_types():
    half, whole = torch.ones(2, dtype=torch.float16), torch.tensor([1, 2])
    assert torch.add(half, whole, alpha=0.5).dtype is torch.float16
    assert torch.add(whole, half.float(), alpha=0.5).tolist() == [1.5, 2.5]
    assert torch.add(whole, torch.tensor(0.5), alpha=0.5).tolist() == [1.25, 2.25]


# ------------------------------------------------------------------------------------------------- 16-bit floats

S = 0.12345678
SHORT = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}


def once(kind, f):
    """A function of float32 numbers whose result is rounded to the short type at the end."""
    return lambda *arrays: np.asarray(f(*(a.astype(F32) for a in arrays))).astype(kind)


def cases(kind):
    full, short = F32(S), F32(kind(S))
    step = lambda a: np.asarray(a).astype(kind).astype(F32)  # noqa: E731
    return {
        "mul": (lambda x, y: x * S, lambda a, b: a * full),
        "number first": (lambda x, y: S * x, lambda a, b: a * full),
        "mul_": (lambda x, y: x.clone().mul_(S), lambda a, b: a * full),
        "mul by float32 without dimensions": (lambda x, y: x * torch.tensor(S), lambda a, b: a * full),
        "div": (lambda x, y: x / S, lambda a, b: a / full),
        "div_": (lambda x, y: x.clone().div_(S), lambda a, b: a / full),
        "number divided": (lambda x, y: S / x, lambda a, b: step(1 / a) * full),
        "floor_divide": (lambda x, y: x // S, lambda a, b: np.floor_divide(a, full)),
        "leaky_relu": (lambda x, y: torch.nn.functional.leaky_relu(x, S), lambda a, b: np.where(a > 0, a, a * full)),
        "lerp": (lambda x, y: torch.lerp(x, y, S), lambda a, b: a + full * (b - a)),
        "addcdiv": (lambda x, y: torch.addcdiv(x, y, x, value=S), lambda a, b: a + full * b / a),
        "add": (lambda x, y: x + S, lambda a, b: a + short),
        "add alpha": (lambda x, y: torch.add(x, y, alpha=S), lambda a, b: a + short * b),
        "fmod": (lambda x, y: torch.fmod(x, S), lambda a, b: np.fmod(a, short)),
        "pow": (lambda x, y: x.abs() ** S, lambda a, b: np.power(np.abs(a).astype(np.float64), float(short))),
        "xlogy": (lambda x, y: torch.xlogy(x, S), lambda a, b: a * step(np.log(short))),
    }  # fmt: skip


@pytest.mark.parametrize("name", list(cases(np.float16)))
@pytest.mark.parametrize("short", SHORT)
def test_numbers_meet_16_bit_floats(name, short):
    kind = SHORT[short]
    call, expected = cases(kind)[name]
    a, b = draw(0, 500, kind), draw(1, 500, kind)
    x, y = (torch.tensor(v.astype(F32)).to(getattr(torch, short)) for v in (a, b))
    got = call(x, y)
    assert got.dtype is x.dtype
    np.testing.assert_array_equal(got.float().numpy(), once(kind, expected)(a, b).astype(F32))


@pytest.mark.parametrize("short", SHORT)
def test_a_product_of_matrices_that_is_added_is_rounded_once(short):
    kind = SHORT[short]
    a, b, c = (draw(i, (8, 8), kind) for i in range(3))
    x, y, z = (torch.tensor(v.astype(F32)).to(getattr(torch, short)) for v in (a, b, c))
    a, b, c = (v.astype(F32) for v in (a, b, c))
    expected = (F32(0.3) * c + F32(S) * (a @ b)).astype(kind).astype(F32)
    np.testing.assert_array_equal(torch.addmm(z, x, y, beta=0.3, alpha=S).float().numpy(), expected)
    np.testing.assert_array_equal(torch.baddbmm(z[None], x[None], y[None], beta=0.3, alpha=S)[0].float(), expected)


@pytest.mark.parametrize("short", SHORT)
def test_compiled_functions_round_alike(short):
    def f(x, y):
        return (
            x * S,
            S * x,
            x / S,
            x // S,
            torch.add(x, y, alpha=S),
            torch.lerp(x, y, S),
            torch.addcmul(x, y, x, value=S),
        )

    x, y = (torch.tensor(draw(i, 300, F32)).to(getattr(torch, short)) for i in range(2))
    for eager, compiled in zip(f(x, y), torch.compile(f)(x, y), strict=True):
        assert compiled.dtype is eager.dtype
        assert torch.equal(compiled, eager)


def test_compiled_sums_round_once():
    def f(x, y, z):
        return torch.add(x, y, alpha=0.3), torch.sub(x, y, alpha=0.3), torch.lerp(x, y, z), torch.addcmul(x, y, z)

    x, y, z = (torch.tensor(draw(i, 1000, F32)) for i in range(3))
    for eager, compiled in zip(f(x, y, z), torch.compile(f)(x, y, z), strict=True):
        assert torch.equal(compiled, eager)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
@pytest.mark.parametrize("columns", [2, 3, 4, 8, 16])
def test_every_element_of_a_column_changes_its_sign_in_place(columns, dtype):
    x = torch.arange(1, 33 * columns + 1).reshape(33, columns).to(dtype)
    before = x.clone()
    x[:, 0].neg_()
    assert x[:, 0].tolist() == [-v for v in before[:, 0].tolist()]
    assert torch.equal(x[:, 1:], before[:, 1:])
    out = torch.zeros(33, columns, dtype=dtype)
    assert torch.neg(before[:, 0], out=out[:, 0]).tolist() == x[:, 0].tolist()


SCORES = ((torch.arange(120.0) * 7.3) % 5.1 - 2).reshape(3, 40)
# the bits that torch gives on one thread: the exponentials of columns that fill no block of 16 are rounded before the division
SOFTMAX = {
    torch.float16: [
        (SCORES, 0, (slice(None), slice(30, 40)), [
            [15166, 11023, 15166, 11023, 12990, 11023, 12989, 15166, 11023, 15166],
            [9518, 12922, 9519, 12923, 14893, 12923, 14894, 9519, 12923, 9521],
            [11457, 14833, 11459, 14833, 9325, 14832, 9324, 11458, 14833, 11459],
        ]),
        (SCORES, 1, (slice(None), slice(8)), [
            [4814, 8109, 11349, 7072, 10317, 6034, 9285, 4996],
            [6885, 10183, 5848, 9145, 12380, 8108, 11349, 7071],
            [8571, 11824, 7537, 10787, 6504, 9754, 5470, 8719],
        ]),
        (SCORES.reshape(2, 3, 20), 1, (1, slice(None), slice(12, 20)), [
            [10338, 12964, 15059, 10338, 15060, 10338, 12965, 10339],
            [15033, 10226, 12310, 15033, 12309, 15033, 10226, 15032],
            [12293, 14871, 9444, 12293, 9443, 12292, 14871, 12294],
        ]),
    ],
    torch.bfloat16: [
        (SCORES, 0, (slice(None), slice(30, 40)), [
            [16232, 15714, 16232, 15714, 15959, 15714, 15959, 16232, 15715, 16232],
            [15526, 15952, 15527, 15952, 16198, 15951, 16198, 15525, 15952, 15525],
            [15769, 16190, 15769, 16190, 15501, 16190, 15502, 15767, 16190, 15767],
        ]),
        (SCORES.reshape(2, 3, 20), 1, (1, slice(None), slice(12, 20)), [
            [15628, 15957, 16219, 15628, 16218, 15629, 15957, 15628],
            [16215, 15615, 15874, 16215, 15875, 16215, 15616, 16215],
            [15873, 16195, 15516, 15873, 15517, 15873, 16195, 15873],
        ]),
    ],
}  # fmt: skip


@pytest.mark.parametrize("kind", SOFTMAX)
def test_softmax_of_16_bits_is_rounded_where_torch_rounds(kind):
    for scores, dim, part, bits in SOFTMAX[kind]:
        assert torch.softmax(scores.to(kind), dim).view(torch.int16)[part].tolist() == bits


def test_the_gradient_of_softmax_subtracts_before_it_multiplies():
    y = torch.softmax(SCORES.half()[:2, :4], 1).double()
    g = torch.tensor([[1.5, -0.25, 3.0, 1000.0], [0.1, 0.7, -2.0, 999.0]], dtype=torch.float64)
    scores = y.log().requires_grad_()
    scores.softmax(1).backward(g)
    y = scores.detach().softmax(1)
    assert scores.grad.equal((g - (g * y).sum(1, keepdim=True)) * y)


@pytest.mark.parametrize("shape", [(), (3,), (9_000,)], ids=str)
def test_half_way_cases_where_processes_share_results(shape, monkeypatch):
    """Of 1024 + 2^-13 and a little less than half the distance to the next number, the sum in float64 is half-way."""
    monkeypatch.setattr(mode, "shared", True)
    y = torch.full(shape, 2.0**-7 * (1 - 2.0**-23))
    for z in (1024 + 2.0**-13, -1024 - 2.0**-13):
        x = torch.full(shape, 2.0**-7 * (1 + 2.0**-23))
        total = torch.addcmul(torch.full(shape, z), x, y)
        np.testing.assert_array_equal(total.numpy(), np.full(shape, z, F32))


def test_rounding_of_float16_to_places_does_not_overflow_between():
    x = torch.tensor([0.055, 0.145, 66.0], dtype=torch.float16)
    assert x.round(decimals=2).tolist() == [0.04998779296875, 0.1500244140625, 66.0]  # recorded from torch 2.13
    assert x.round(decimals=5).tolist() == pytest.approx([0.055, 0.145, 66.0], rel=1e-3)
    step = torch.compile(lambda t: t.round(decimals=2))
    assert [step(x).tolist() for _ in range(3)] == [x.round(decimals=2).tolist()] * 3
