"""Sums and means of losses have torch's bits, by NumPy's passes and by native code. The numbers are torch 2.13's."""

import ast

import numpy as np
import pytest

import rushlight as torch
from rushlight.compile.jit import eager_sums
from rushlight.compile.lower.eager import sums as native
from rushlight.core.dispatch.extension_points import native_sums
from rushlight.nn import functional as F
from rushlight.ops.reduce.sums import mean_of_picked, sum_in_order

from .digests import UNSIGNED, digest, values

BITS = {
    "float32 (3,) None": 1015905924,
    "float32 (6,) None": 3217799166,
    "float32 (11,) None": 3230709866,
    "float32 (64,) None": 1076656390,
    "float32 (700,) None": 3198518304,
    "float32 (9000,) None": 3263975066,
    "float32 (5, 7) 0": 382916766184110782,
    "float32 (5, 7) 1": 498604747648676170,
    "float32 (5, 7) None": 1085425980,
    "float32 (33, 17) 0": 1986847080457021208,
    "float32 (33, 17) 1": 1319345075499264796,
    "float32 (70, 41) 0": 700900790128376487,
    "float32 (70, 41) 1": 14753336577056323,
    "float32 (600, 3) 0": 2283665835188459035,
    "float32 (600, 3) 1": 1729079350531662042,
    "float32 (4, 3, 10) (1, 2)": 863687052333996017,
    "float32 (4, 3, 10) (0, 1)": 1026342596275750207,
    "float32 (4, 3, 10) 1": 182017021264100753,
    "float64 (3,) None": 2274792595492175872,
    "float64 (6,) None": 2304003525580947456,
    "float64 (11,) None": 5091895355637760,
    "float64 (64,) None": 1564745687629824,
    "float64 (700,) None": 2293652174468546560,
    "float64 (9000,) None": 22951013325144064,
    "float64 (5, 7) 0": 231043072958398464,
    "float64 (5, 7) 1": 971956155289960448,
    "float64 (5, 7) None": 6272883841040384,
    "float64 (33, 17) 0": 1050473910790258688,
    "float64 (33, 17) 1": 558050044579676160,
    "float64 (70, 41) 0": 2122460401318494208,
    "float64 (70, 41) 1": 1896251566501658624,
    "float64 (600, 3) 0": 1427443089255694336,
    "float64 (600, 3) 1": 1480613185743486976,
    "float64 (4, 3, 10) (1, 2)": 1205245071088680960,
    "float64 (4, 3, 10) (0, 1)": 1259063987632340992,
    "float64 (4, 3, 10) 1": 1353204330985947136,
    "float32 (40000,) None on 1": 3264044363,
    "float32 (40000,) None on 2": 3264044362,
    "float32 (70001,) None on 3": 3265608048,
    "float32 (140000,) None on 2": 3263759440,
    "float32 (1, 140000) 1 on 2": 1052308224,
    "float32 (300, 700) (0, 1) on 2": 3251466888,
    "float32 (3, 50000) 1 on 2": 111588654701482206,
    "float32 (300, 800) 0 on 2": 677207913286611737,
    "float32 (2, 3, 28, 28) (0, 2, 3) on 2": 261586558495381731,
    "float32 (5, 6, 7, 8) (0, 2) on 1": 2215746772162782736,
    "float32 (5, 6, 7, 40) (0, 2) on 1": 608499394428674824,
    "float32 (5, 1, 7, 3) (0, 2) on 1": 1801526320546397287,
    "float32 (5, 6, 70, 8) (1, 3) on 1": 1533442761050806649,
    "float32 (2, 3, 4, 5, 6) (0, 2, 4) on 1": 838206281225859928,
    "float32 (30, 2, 50, 60) (1, 3) on 2": 80663334576244831,
    "float32 (4, 1, 9) (0, 1, 2) on 1": 1067184487,
    "float64 (40000,) None on 1": 22988216068505600,
    "float64 (40000,) None on 2": 22988216068505600,
    "float64 (70001,) None on 3": 23827712652083200,
    "float64 (140000,) None on 2": 22835245259554816,
    "float64 (1, 140000) 1 on 2": 2294335501735297024,
    "float64 (300, 700) (0, 1) on 2": 16235748667686912,
    "float64 (3, 50000) 1 on 2": 858578842181566464,
    "float64 (300, 800) 0 on 2": 876333677725089792,
    "float64 (2, 3, 28, 28) (0, 2, 3) on 2": 1530230704587407360,
    "float64 (5, 6, 7, 8) (0, 2) on 1": 788805900731416576,
    "float64 (5, 6, 7, 40) (0, 2) on 1": 2035522799596994560,
    "float64 (5, 1, 7, 3) (0, 2) on 1": 2198051248994779136,
    "float64 (5, 6, 70, 8) (1, 3) on 1": 1391046729435185152,
    "float64 (2, 3, 4, 5, 6) (0, 2, 4) on 1": 362309490848038912,
    "float64 (30, 2, 50, 60) (1, 3) on 2": 473739470002192384,
    "float64 (4, 1, 9) (0, 1, 2) on 1": 2302322566502547456,
    "nll 1": 3202457289,
    "nll 9": 3131347371,
    "nll 17": 1035325265,
    "nll 33": 1032773079,
    "nll 300": 979551626,
    "nll 5000": 995862035,
}  # fmt: skip


class ByNativeCode:
    @staticmethod
    def rows(a, count, n):
        return native.rows(native.function("rows", a.dtype), a, count, n)

    @staticmethod
    def columns(a, count, m, n, in_blocks):
        return native.columns(native.function("columns", a.dtype), a, count, m, n, in_blocks)

    @staticmethod
    def mean_of_picked(x, target):
        return native.mean_of_picked(native.function("picked", x.dtype), x, target)


@pytest.fixture(params=["numpy", "native"])
def way(request):
    before, threads = native_sums.value, torch.get_num_threads()
    if request.param == "native" and not native.available():
        pytest.skip("no code can be made here")
    native_sums.register(ByNativeCode if request.param == "native" else None)
    yield
    native_sums.register(before)
    torch.set_num_threads(threads)


@pytest.mark.parametrize("case", [c for c in BITS if not c.startswith("nll")])
def test_sums_have_torchs_bits(case, way):
    kind, rest = case.split(" ", 1)
    split = rest.index(")") + 2
    of_dim, _, threads = rest[split:].partition(" on ")
    shape, dim = ast.literal_eval(rest[: split - 1]), ast.literal_eval(of_dim)
    torch.set_num_threads(int(threads or 1))
    x = torch.from_numpy(values(shape, len(shape)).astype(kind))
    s = x.sum() if dim is None else x.sum(dim)
    assert digest(s.reshape(-1).numpy().view(UNSIGNED[kind]).tolist()) == BITS[case]
    mean = x.mean() if dim is None else x.mean(dim)
    np.testing.assert_array_equal(mean.numpy(), s.numpy() / np.dtype(kind).type(x.numel() // s.numel()))


@pytest.mark.parametrize("n", [1, 9, 17, 33, 300, 5000])
def test_the_mean_of_classes_has_torchs_bits(n, way):
    x = torch.from_numpy(values((n, 1), 9).astype(np.float32))
    loss = F.nll_loss(x, torch.zeros(n, dtype=torch.int64))
    assert int(loss.reshape(1).numpy().view(np.uint32)[0]) == BITS[f"nll {n}"]


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_native_code_and_numpys_passes_give_the_same_bits(kind):
    if not native.available():
        pytest.skip("no code can be made here")
    rs, before = np.random.RandomState(3), native_sums.value
    for _ in range(60):
        shape = tuple(rs.randint(1, 40, rs.randint(1, 5)).tolist())
        a = rs.standard_normal(shape).astype(kind)
        for axis in (None, *range(len(shape)), tuple(range(len(shape)))[1:] or None, tuple(range(len(shape)))[::2]):
            rows = []
            for slot in (None, ByNativeCode):
                native_sums.register(slot)
                rows.append(sum_in_order(a, axis))
            native_sums.register(before)
            np.testing.assert_array_equal(*rows, err_msg=f"{shape} {axis}")


@pytest.mark.parametrize("n", [*range(1, 40), 255, 256, 257, 4097, 70_001])
def test_the_mean_of_picked_elements_has_the_same_bits_in_both_ways(n):
    if not native.available():
        pytest.skip("no code can be made here")
    rs, before = np.random.RandomState(n), native_sums.value
    x, target = rs.standard_normal((n, 7)).astype(np.float32), rs.randint(0, 7, n)
    found = []
    for slot in (None, ByNativeCode):
        native_sums.register(slot)
        found.append(mean_of_picked(x, target))
    for wrong in (-1, 7, 1 << 40):
        target[n // 2] = wrong
        found.append(mean_of_picked(x, target))
    native_sums.register(before)
    assert found[0].tobytes() == found[1].tobytes() and found[1].shape == ()
    assert found[2:] == [None] * 3


def test_sums_of_memory_in_another_order():
    x = torch.from_numpy(values((33, 17), 2).astype(np.float32))
    assert x.t().sum() == x.sum()
    np.testing.assert_allclose(x[:, ::2].sum(1), x[:, ::2].numpy().sum(1), rtol=1e-6)
    assert torch.full((5,), -0.0).sum().signbit().item() is False
    assert torch.zeros(0).sum() == 0
    assert torch.zeros(0, 3).sum(0).tolist() == [0.0] * 3


def test_the_code_is_made_after_many_sums(monkeypatch):
    if not native.available():
        pytest.skip("no code can be made here")
    monkeypatch.setattr(eager_sums, "_WORTHWHILE", 40)
    rows = eager_sums._Codes("rows")
    monkeypatch.setattr(eager_sums, "_rows", rows)
    a = np.arange(20, dtype=np.float64)
    done = [eager_sums.rows(a, 1, 20) for _ in range(60)]
    assert done[0] is None and done[-1] == 190.0
    assert done.index(None, 30) and type(rows[a.dtype]) is not int
