"""Products, convolutions and attention of 16-bit floats: native on every processor, as exact as their eager calls."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.backend.onednn import library
from rushlight.compile.lower.onednn import kernels
from rushlight.compile.passes.expand import is_short_float
from rushlight.compile.runtime import native
from rushlight.nn import functional as F

pytestmark = pytest.mark.skipif(not kernels.available(), reason="needs llvmlite")
with_onednn = pytest.mark.skipif(not library.available(), reason="needs oneDNN")
short = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
ULP = {torch.bfloat16: 2**-8, torch.float16: 2**-11}


@pytest.fixture(params=[False, True], ids=["as served", "refused"])
def refused(request, monkeypatch):
    """Whether the library refuses every 16-bit float, as oneDNN does without AVX-512."""
    if request.param:
        served = native.serves

        def in_float32_alone(extern):
            refs = (r for r in (*extern.operands, *extern.results) if r is not None)
            return not any(is_short_float(r.dtype) for r in refs) and served(extern)

        monkeypatch.setattr(native, "serves", in_float32_alone)
    return request.param


def random(*shape, dtype=torch.float32):
    numbers = np.random.default_rng([*shape]).standard_normal(shape).astype(np.float32)
    return torch.from_numpy(numbers).to(dtype)


def compare(f, *tensors, factor=4):
    """`f` compiled errs by no more than a few roundings, or what eager calls err by; returns `explain`'s text."""
    compiled = torch.compile(f, fullgraph=True)
    for _ in range(4):
        found = compiled(*tensors)
    eager, exact = f(*tensors), f(*(t.detach().double().requires_grad_(t.requires_grad) for t in tensors))
    for one, plain, true in zip(found, eager, exact, strict=True):
        assert (one.dtype, one.shape) == (plain.dtype, plain.shape)
        size = true.abs().max().item()
        allowed = max(factor * ULP[one.dtype] * size, 1.5 * (plain.double() - true).abs().max().item())
        assert (one.double() - true).abs().max().item() <= allowed
    text = str(torch.compile.explain(compiled)(*tensors))
    assert "in Python" not in text, text
    return text


@short
def test_products(dtype, refused):
    a, b, bias = (random(*s, dtype=dtype) for s in ((130, 70), (90, 70), (90,)))
    batch, other = random(3, 20, 30, dtype=dtype), random(3, 30, 40, dtype=dtype)

    def f(a, b, bias, batch, other):
        return a @ b.T, F.linear(a[:, ::2], b[:, ::2], bias), torch.addmm(bias, a, b.T), batch @ other, batch @ other[0]

    text = compare(f, a, b, bias, batch, other)
    if refused or dtype is torch.float16:
        assert f"{str(dtype).partition('.')[2]} through float32" in text


@short
@pytest.mark.parametrize("groups", [1, pytest.param(2, marks=with_onednn)])
def test_convolutions(dtype, groups, refused):
    def f(x, w, bias, g):
        y = F.conv2d(x, w, bias, stride=(2, 1), padding=1, groups=groups)
        return (y, *torch.autograd.grad(y, (x, w, bias), g))

    x, w, bias = (random(*s, dtype=dtype).requires_grad_() for s in ((2, 8, 9, 7), (6, 8 // groups, 3, 3), (6,)))
    text = compare(f, x, w, bias, random(2, 6, 5, 7, dtype=dtype))
    assert text.count("through float32") >= 3 * (refused or dtype is torch.float16)


@short
@pytest.mark.parametrize("keys", [40, pytest.param(600, marks=with_onednn)], ids=["whole", "in blocks"])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(dtype, keys, causal, refused):
    def f(q, k, v, g):
        out = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
        return (out, *torch.autograd.grad(out, (q, k, v), g))

    q, k, v = (random(2, 2, keys, 16 + i, dtype=dtype)[..., :16].requires_grad_() for i in range(3))
    compare(f, q, k, v, random(2, 2, keys, 16, dtype=dtype))


def test_a_product_that_no_library_serves_is_left_to_its_kernel(monkeypatch):
    """Also where float32 is refused: then Python runs the operator, and explain says why."""
    monkeypatch.setattr(native, "serves", lambda extern: False)
    compiled = torch.compile(lambda a: a @ a)
    a = random(8, 8, dtype=torch.bfloat16)
    for _ in range(4):
        found = compiled(a)
    assert torch.equal(found, a @ a)
    assert "no library has an implementation of matmul" in str(torch.compile.explain(compiled)(a))


@with_onednn
def test_explain_names_the_implementations():
    a, b = random(200, 300), random(300, 100)
    compiled = torch.compile(lambda a, b: (a @ b, a[:4, :40] @ b[:40, :12], torch.cumsum(a, 0)))
    lines = [line.strip() for line in str(torch.compile.explain(compiled)(a, b)).splitlines()]
    (products,) = (line for line in lines if line.startswith("matmul: "))
    assert "1 by oneDNN " in products and "1 by OpenBLAS" in products
    assert "running_sum: 1 by generated code" in lines
