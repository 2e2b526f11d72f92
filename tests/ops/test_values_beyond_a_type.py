"""Numbers that a type cannot hold, histograms between edges in disorder, and types that single kernels lack."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F


def test_large_integers_in_bfloat16():
    zero = torch.zeros(1, dtype=torch.bfloat16)
    for r in (
        torch.full((1,), 2**63, dtype=torch.bfloat16),
        zero + 2**63,
        zero.clone().fill_(2**63),
        zero.clamp(2**63),
    ):
        assert r.tolist() == [2.0**63]


def test_integers_that_no_type_of_64_bits_holds():
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        torch.zeros(2)[0] = 2**63
    with pytest.raises(RuntimeError, match="attempted to promote Bool and UInt64"):
        torch.zeros(1, dtype=torch.bool) + 2**63
    with pytest.raises(RuntimeError, match="uint8_t without overflow"):
        F.pad(torch.ones(1, dtype=torch.uint8), (1, 0), value=-129)


def test_edges_in_disorder():
    """A bin is searched for by halving, as in torch."""
    edges = torch.tensor([0.0, 0.7, 0.5, 1.0])
    x = torch.tensor([0.1, 0.55, 0.6, 0.9])
    assert torch.histogram(x, edges).hist.tolist() == [1.0, 0.0, 3.0]
    hist = torch.histogramdd(x.unsqueeze(1), [edges]).hist
    assert hist.tolist() == [1.0, 0.0, 3.0]


def test_transposed_convolution_of_integers():
    x, w = torch.ones(1, 2, 3, 3, dtype=torch.int64), torch.ones(2, 2, 2, 2, dtype=torch.int64)
    assert F.conv_transpose2d(x, w).sum().item() == 144
    with pytest.raises(NotImplementedError, match="'Int'"):
        F.conv_transpose2d(x.int(), w.int())


def test_distances_in_bfloat16():
    few, many = torch.ones(2, 4, dtype=torch.bfloat16), torch.zeros(30, 4, dtype=torch.bfloat16)
    with pytest.raises(NotImplementedError, match="\"cdist\" not implemented for 'BFloat16'"):
        torch.cdist(few, few)
    assert torch.cdist(few, many).dtype is torch.bfloat16
    assert torch.cdist(few, many).unique().tolist() == [2.0]


def test_sum_to_no_dimensions_is_a_sum():
    assert torch.tensor(True).sum_to_size(()).dtype is torch.int64


def test_results_that_do_not_fit_in_place():
    few = torch.ones(1)
    with pytest.raises(
        RuntimeError, match=r"Bad in-place call: input tensor size \[1\] and output tensor size \[5, 4\]"
    ):
        few.addmm_(torch.ones(5, 3), torch.ones(3, 4))
    with pytest.raises(RuntimeError, match="expand"):
        few.bernoulli_(torch.full((5, 4), 0.5))


def test_a_least_common_multiple_that_does_not_fit_is_wrapped_before_its_size_is_taken():
    for kind, expected in ((torch.int16, -2), (torch.int32, 2), (torch.int64, 2)):
        largest = torch.tensor([torch.iinfo(kind).max], dtype=kind)
        assert torch.lcm(largest, torch.tensor([-2], dtype=kind)).tolist() == [expected]
    lowest = torch.tensor([torch.iinfo(torch.int32).min, 0, 12], dtype=torch.int32)
    assert torch.lcm(lowest, torch.tensor([3, 0, -18], dtype=torch.int32)).tolist() == [-(2**31), 0, 36]


HALF, SHORT, SINGLE = "c10::Half", "c10::BFloat16", "float"
LOST = {torch.float16: HALF, torch.bfloat16: SHORT, torch.float32: SINGLE, torch.complex64: "c10::complex<float>"}
# by what holds the number: the elements' type, or float32 where those are 16-bit floats
BY_ELEMENT = [
    lambda x, v: torch.add(x, x, alpha=v), lambda x, v: torch.add(x, 1, alpha=v), lambda x, v: x.add_(x, alpha=v),
    lambda x, v: x.sub_(x, alpha=v), lambda x, v: torch.addmv(x, torch.eye(3, dtype=x.dtype), x, alpha=v),
    lambda x, v: torch.addr(torch.eye(3, dtype=x.dtype), x, x, beta=v),
]  # fmt: skip
REAL_BY_ELEMENT = [
    lambda x, v: x.clamp(max=v), lambda x, v: x.clamp_(v), lambda x, v: x.clamp_min(v), lambda x, v: x.clamp_max_(v),
    lambda x, v: F.hardshrink(x, v), lambda x, v: F.hardtanh(x, -1, v), lambda x, v: F.threshold(x, 0, v),
    lambda x, v: F.threshold(x, 0, v, inplace=True), lambda x, v: torch.histc(x, 3, 0, v), lambda x, v: torch.logit(x, v),
]  # fmt: skip
COMPUTED = [
    lambda x, v: torch.addcmul(x, x, x, value=v), lambda x, v: x.addcdiv_(x, x, value=v),
    lambda x, v: torch.lerp(x, x, v), lambda x, v: x.lerp_(x, v),
    lambda x, v: torch.addmm(x, torch.eye(3, dtype=x.dtype), torch.eye(3, dtype=x.dtype), beta=v),
]  # fmt: skip
REAL_COMPUTED = [
    lambda x, v: F.leaky_relu(x, v), lambda x, v: F.leaky_relu_(x, v), lambda x, v: F.elu(x, v), lambda x, v: F.celu(x, v),
    lambda x, v: F.softplus(x, v), lambda x, v: F.softplus(x, 1, v), lambda x, v: F.threshold(x, v, 0),
]  # fmt: skip


@pytest.mark.parametrize("d", LOST, ids=str)
@pytest.mark.parametrize("is_recorded", [False, True])
def test_options_that_their_types_cannot_hold(d, is_recorded):
    is_complex = d is torch.complex64
    by_element = BY_ELEMENT + ([] if is_complex else REAL_BY_ELEMENT)
    computed = COMPUTED + ([] if is_complex else REAL_COMPUTED)
    word = SINGLE if d in (torch.float16, torch.bfloat16) else LOST[d]
    for f, lost in [(f, LOST[d]) for f in by_element] + [(f, word) for f in computed]:
        x = torch.tensor([1, 0, 1], dtype=d, requires_grad=is_recorded)
        with pytest.raises(RuntimeError, match=f"cannot be converted to type {lost} without overflow"):
            f(x.clone(), 1e39)
        f(x.clone(), 100.0)  # what it can hold stays
    for f in COMPUTED:
        assert f(torch.ones(3, dtype=torch.float16), 1e5).dtype is torch.float16


@pytest.mark.parametrize("v", [2**64, 10**400, -(2**63) - 1], ids=("2**64", "10**400", "-2**63-1"))
def test_integers_that_no_argument_holds(v):
    word = "negative int" if v < 0 else "int too big"
    for f in (
        lambda x: x * v, lambda x: v - x, lambda x: x.mul_(v), lambda x: x == v, lambda x: x**v, lambda x: x.pow_(v),
        lambda x: torch.add(x, x, alpha=v), lambda x: F.leaky_relu(x, v), lambda x: x.clamp(v),
        lambda x: torch.float_power(x, v), lambda x: torch.xlogy(x, v),
    ):  # fmt: skip
        with pytest.raises(OverflowError, match=word):
            f(torch.ones(3))
        with pytest.raises(OverflowError, match=word):
            f(torch.ones(3, dtype=torch.float16))


def test_integers_are_held_by_elements_only_where_kernels_take_them():
    x = torch.ones(3, dtype=torch.int8)
    with pytest.raises(RuntimeError, match="type int8_t without overflow"):
        F.hardtanh(x, -1, 300)
    with pytest.raises(RuntimeError, match="type int8_t without overflow"):
        torch.add(x, 1, alpha=300)
    with pytest.raises(NotImplementedError, match="leaky_relu_cpu"):
        F.leaky_relu(x, 1e39)


def test_one_element_is_filled_by_way_of_a_double():
    one = torch.ones(1, dtype=torch.float16)
    for r in (
        one.clone().fill_(1e5), torch.full((1, 1), 1e5, dtype=torch.float16), torch.full_like(one, 1e5),
        torch.scalar_tensor(1e5, dtype=torch.float16),
    ):  # fmt: skip
        assert r.isinf().all()
    with pytest.raises(RuntimeError, match="type double without overflow"):
        one.fill_(1j)
    with pytest.raises(RuntimeError, match="c10::Half without overflow"):
        torch.full((2,), 1e5, dtype=torch.float16)


def test_compiled_options_that_their_types_cannot_hold():
    f = torch.compile(lambda x, v: torch.addcmul(x, x, x, value=v) + F.leaky_relu(x, v))
    x = torch.ones(3)
    for v in (0.5, 0.25, 0.125, 2.0):
        assert torch.equal(f(x, v), 1 + v + x)
    with pytest.raises(RuntimeError, match="float without overflow"):
        f(x, 1e39)


def test_no_number_is_not_positive():
    x = torch.ones(2, 2)
    for f, word in (
        (lambda: F.huber_loss(x, x, delta=float("nan")), "huber_loss does not support non-positive"),
        (lambda: F.smooth_l1_loss(x, x, beta=float("nan")), "smooth_l1_loss does not support negative"),
        (lambda: torch.renorm(x, float("nan"), 0, 1), "non-positive-norm"),
        (lambda: torch.renorm(x, 2, 0, float("nan")), "maxnorm to be >= 0"),
    ):
        with pytest.raises(RuntimeError, match=word):
            f()


def test_margins_and_momenta_beyond_a_type():
    with pytest.raises(RuntimeError, match="type float without overflow"):
        F.multi_margin_loss(torch.ones(1, 3), torch.tensor([0]), margin=1e39)
    mean = torch.zeros(3)
    F.batch_norm(torch.ones(2, 3), mean, torch.ones(3), training=True, momentum=1e39)  # warns of nothing
    assert not mean.isfinite().any()
