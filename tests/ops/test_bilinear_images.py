"""Images resampled bilinearly have torch's bits, by NumPy and by native code. The digests are torch 2.13's."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.compile import install
from rushlight.compile.lower.eager import bilinear as native
from rushlight.core.jit_switch import jit
from rushlight.nn import functional as F
from rushlight.ops.spatial import bilinear

from .digests import UNSIGNED, digest, values

BITS = {  # type, shape, size, scale factor, align_corners: the result, the gradient
    ("float32", (2, 3, 7, 9), (14, 18), None, False): (1189666874561686382, 435976475264101423),
    ("float32", (2, 9, 7, 9), (13, 31), None, False): (306356118317009358, 1302054735189954489),
    ("float32", (2, 12, 20, 30), (20, 17), None, True): (2236451935371078794, 1707985047057010978),
    ("float32", (1, 16, 8, 8), None, 2.0, False): (959836647806936662, 1400350491386268958),
    ("float32", (1, 5, 9, 8), None, 1.7, False): (1366040161991970658, 1300101364975938436),
    ("float32", (1, 2, 50, 60), (23, 100), None, False): (2285193346453231774, 1064892510882326478),
    ("float32", (1, 8, 1, 5), (4, 1), None, False): (1883678522371605440, 936204843229899288),
    ("float32", (1, 8, 6, 6), (1, 1), None, True): (1063391681280815813, 2147163484365619711),
    ("float32", (1, 8, 30, 30), None, 0.3, False): (1311539644499865446, 2280696435497115859),
    ("float64", (2, 3, 7, 9), (14, 18), None, False): (1458663935569821696, 1227817186943303680),
    ("float64", (2, 9, 7, 9), (13, 31), None, False): (1297604374399157007, 988150049121888640),
    ("float64", (2, 12, 20, 30), (20, 17), None, True): (809385355114446848, 995135083512594432),
    ("float64", (1, 16, 8, 8), None, 2.0, False): (1865524478692032512, 1744109232999366656),
    ("float64", (1, 5, 9, 8), None, 1.7, False): (1347026237181535696, 1618338384662568547),
    ("float64", (1, 2, 50, 60), (23, 100), None, False): (1457293798373284415, 792880156854795739),
    ("float64", (1, 8, 1, 5), (4, 1), None, False): (1842125941321498624, 430828936193114112),
    ("float64", (1, 8, 6, 6), (1, 1), None, True): (658727976069758976, 1065172449634549760),
    ("float64", (1, 8, 30, 30), None, 0.3, False): (919218155844020792, 1506147596102596685),
}


@pytest.fixture(params=["numpy", "native"])
def way(request, monkeypatch):
    if request.param == "native" and not native.available():
        pytest.skip("no code can be made here")
    monkeypatch.setattr(jit, "on", request.param == "native")
    install.prefer_programs()
    return request.param


def _both(kind, shape, size, scale, align_corners):
    x = torch.from_numpy(values(shape, 4).astype(kind)).requires_grad_()
    y = F.interpolate(x, size=size, scale_factor=scale, mode="bilinear", align_corners=align_corners)
    y.backward(torch.from_numpy(values(tuple(y.shape), 7).astype(kind)))
    return y.detach().numpy(), x.grad.numpy()


@pytest.mark.parametrize("case", BITS, ids=str)
def test_torchs_bits(case, way):
    kind = case[0]
    found = [digest(np.ravel(a).view(UNSIGNED[kind]).tolist()) for a in _both(*case)]
    if way == "native":
        assert tuple(found) == BITS[case]
    elif kind == "float32":  # NumPy's gradients, and all its doubles, differ by rounding
        assert found[0] == BITS[case][0]


@pytest.mark.parametrize("case", BITS, ids=str)
def test_numpy_and_native_code_agree(case, monkeypatch):
    if not native.available():
        pytest.skip("no code can be made here")
    install.prefer_programs()
    results = []
    for on in (False, True):
        monkeypatch.setattr(jit, "on", on)
        results.append(_both(*case))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=2e-5 if case[0] == "float32" else 1e-14)


def test_an_axis_that_keeps_its_size_is_copied():
    rows = bilinear.taps(5, 5, 1.3, False, np.dtype(np.float32))
    assert rows.low.tolist() == rows.high.tolist() == [0, 1, 2, 3, 4] and not rows.of_high.any()


def test_other_layouts_and_types(way):
    x = torch.randn(2, 10, 6, 7)
    wanted = F.interpolate(x, scale_factor=2, mode="bilinear")
    last = F.interpolate(x.to(memory_format=torch.channels_last), scale_factor=2, mode="bilinear")
    assert torch.equal(last, wanted) and last.is_contiguous(memory_format=torch.channels_last)
    small = F.interpolate(x.bfloat16(), scale_factor=2, mode="bilinear")
    np.testing.assert_allclose(small.float().numpy(), wanted.numpy(), atol=0.1)
    assert F.interpolate(torch.zeros(0, 3, 4, 4), size=(2, 2), mode="bilinear").shape == (0, 3, 2, 2)
