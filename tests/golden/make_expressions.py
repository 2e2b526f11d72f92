"""Makes expressions.json: what torch gives for expressions of sparse tensors, transforms and rarer operators.

Run where torch 2.13 is installed: python tests/golden/make_expressions.py
A section has a setup and expressions; what an expression gives is written as nested lists of numbers, an exception as
its class. The tests evaluate the same text.
"""

import json
import warnings
from pathlib import Path

SETUP = {
    "sparse": """
i = torch.tensor([[0, 1, 1, 2, 0], [2, 0, 2, 1, 2]])
d = torch.arange(6.0).reshape(3, 2) - 2
s = torch.sparse_coo_tensor(i, torch.arange(1.0, 6), (3, 3))
c = s.coalesce()
h = torch.sparse_coo_tensor([[0, 2]], torch.arange(4.0).reshape(2, 2), (4, 2))
def g(f, *shape_of):
    v = torch.arange(1.0, 6).requires_grad_()
    x = d.clone().requires_grad_()
    out = f(torch.sparse_coo_tensor(i, v, (3, 3)), x)
    out = out.to_dense() if out.layout is not torch.strided else out
    (out**2).sum().backward()
    return [v.grad, x.grad]
def leaf(f):
    t = c.detach().requires_grad_()
    out = f(t)
    out = out.to_dense() if out.layout is not torch.strided else out
    (out**2).sum().backward()
    return t.grad.to_dense()
""",
    "fft": """
x = torch.arange(30, dtype=torch.float64).reshape(5, 6).sin()
z = torch.complex(x, x.cos())
w = torch.hann_window(6, dtype=torch.float64)
def g(f, t):
    t = t.clone().requires_grad_()
    (f(t).abs() ** 3).sum().backward()
    return t.grad
""",
    "func": """
from torch.func import grad, grad_and_value, vjp, jvp, jacrev, jacfwd, hessian, vmap, functional_call, linearize
x, y = torch.tensor([0.5, -1.0, 2.0]), torch.tensor([1.0, 3.0, -2.0])
f = lambda x: (x.sin() * x**2).sum()
m = torch.nn.Linear(3, 2)
p = {"weight": torch.arange(6.0).reshape(2, 3) / 7, "bias": torch.tensor([0.5, -0.5])}
def dual(f):
    import torch.autograd.forward_ad as fwad
    with fwad.dual_level():
        return fwad.unpack_dual(f(fwad.make_dual(x, y))).tangent
""",
    "scatter": """
x = torch.arange(12, dtype=torch.float64).reshape(3, 4).cos()
s = torch.arange(8, dtype=torch.float64).reshape(2, 4).sin()
i = torch.tensor([[0, 1, 2, 0], [0, 1, 0, 0]])
a = torch.tensor([[1.0, 2, 4, 7], [3, 5, 1, 0], [2, 2, 9, 4]])
def g(r, inc):
    p, q = x.clone().requires_grad_(), s.clone().requires_grad_()
    (torch.scatter_reduce(p, 0, i, q, r, include_self=inc) ** 2).sum().backward()
    return [p.grad, q.grad]
""",
    "native": """
import math
x = torch.arange(24.0, dtype=torch.float64).reshape(2, 4, 3).sin().float()  # float32 sines differ by processor
w, b = torch.arange(1.0, 5), torch.tensor([0.5, -1, 2, 0])
z = x.relu().to_sparse()
def kinds(results):
    return [[str(r.dtype)[-7:], list(r.shape), r.requires_grad, r] for r in results]
def seeded(f):
    torch.manual_seed(3)
    return kinds([*f(), torch.rand(2)])
def sizes(f, *args):
    moved = [a.to("meta") if isinstance(a, torch.Tensor) else a for a in args]
    return [[str(r.dtype)[-7:], list(r.shape), r.device.type] for r in f(*moved)]
def ln(x, w, b):
    return torch.native_layer_norm(x, [4], w, b, 1e-3)
def gn(x, w, b):
    return torch.native_group_norm(x, w, b, 2, 4, 3, 2, 1e-3)
def bn(x, w, b):
    return torch.native_batch_norm(x, w, b, torch.zeros(4), torch.ones(4), True, 0.1, 1e-3)
def moved(momentum):
    mean, var = torch.arange(4.0), torch.ones(4)
    torch.native_batch_norm(x, None, None, mean, var, True, momentum, 1e-3)
    return [mean, var]
def g(f):
    leaves = [t.double().requires_grad_() for t in (x, w, b)]
    total = sum((r**3 * r.detach().cos()).sum() for r in f(*leaves))
    first = torch.autograd.grad(total, leaves, create_graph=True)
    return [list(first), list(torch.autograd.grad(sum((t**2).sum() for t in first), leaves))]
def dropped(p):
    torch.manual_seed(3)
    y = x.double().requires_grad_()
    return torch.autograd.grad((torch.native_dropout(y, p, True)[0] ** 2).sum(), y)
""",
    "forms": """
import math
T = torch.tensor
inf, nan = math.inf, math.nan
p = torch.arange(12.0).reshape(6, 2)
def kind(r):
    return [str(r.dtype)[-7:], list(r.shape), r]
def grid(r):
    return [r.hist, list(r.bin_edges) if isinstance(r.bin_edges, tuple) else r.bin_edges]
def exact(t):
    return [str(v) for v in t.tolist()]
def add_(x, y, alpha):
    return x.add_(y, alpha=alpha)
def grad(f, *values):
    x = T(values, dtype=torch.float64).requires_grad_()
    return torch.autograd.grad(f(x).sum(), x)
""",
}

EXPRESSIONS = {
    "sparse": """
c.indices(); c.values(); s._indices(); s._values(); s._nnz(); s.to_dense(); s.t(); s.transpose(0, 1); s.T; s + s; s + c.t()
s * 2; s * torch.arange(9.0).reshape(3, 3); s * s; s / 2; -s; s - s; torch.ones(3, 3) + s; torch.ones(3, 3) - s; s.sum()
s.sum(0); s.sum(1); s.sum(0, keepdim=True); torch.sparse.sum(h, 0); torch.sparse.sum(h, 1); torch.sparse.sum(h, (0, 1))
s @ d; torch.spmm(s, d); torch.mm(d.T, s); s @ s; s @ d[:, 0]; d[:, 0] @ s; torch.addmm(d, s, d, beta=2, alpha=3)
torch.sparse.addmm(d, s, d); torch.hspmm(s, d).to_dense(); torch.smm(s, d).to_dense(); torch.bmm(torch.stack([s, s]), d.expand(2, 3, 2))
torch.nn.functional.linear(d.T, s); s.relu(); s.sqrt(); s**2; s.abs(); s.norm(); s.clone(); s.double(); s.unsqueeze(0); s[0]; s[0, 1]
s[:, 0]; s.index_select(1, torch.tensor([2, 0])); torch.cat([s, s]); torch.cat([h, h], 1); torch.stack([s, s], 1)
torch.sparse.softmax(s, 1); torch.sparse.log_softmax(s, 0); torch.sparse.spdiags(torch.arange(9).reshape(3, 3), torch.tensor([0, -1, 2]), (3, 4))
d.to_sparse(); d.to_sparse(1); torch.ones(3, 3).sparse_mask(c); torch.zeros(3, 3).add_(s, alpha=2)
s.to_sparse_csr().crow_indices(); s.to_sparse_csr() @ d; s.to_sparse_csr().to_dense(); s.to_sparse_csr() * 2; repr(s); repr(c.to_sparse_csr())
repr(h); repr(s.double().requires_grad_()); repr(torch.sparse_coo_tensor(size=(2, 3))); torch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [1.0, 2, 3], (2, 3))
g(torch.mm); g(lambda s, x: torch.sparse.mm(s, x)); g(lambda s, x: s.t() @ x); g(lambda s, x: s @ s @ x); g(lambda s, x: (s * 2 + s) @ x)
g(lambda s, x: s.to_dense() @ x); g(lambda s, x: s.coalesce().values().sum() * x)
leaf(lambda t: torch.sparse.mm(t, d)); leaf(lambda t: torch.sparse.sum(t, 0)); leaf(lambda t: torch.sparse.log_softmax(t, 1)); leaf(lambda t: t * t)
s.exp(); s.view(9); s[0:2]; s == s; torch.softmax(s, 1); s.mean(); s.numpy(); s + 1; s / s; s.indices(); s[None, 0] * 1; torch.ones(3).indices()
torch.sparse_coo_tensor(i, torch.ones(3), (3, 3)); torch.sparse_coo_tensor(i, torch.ones(5), (3,)); s @ torch.ones(4, 1); torch.nn.functional.dropout(s)
""",
    "fft": "; ".join(
        [f"torch.fft.{n}({t}{a})" for n in ("fft", "ifft", "irfft", "hfft") for t in "xz" for a in ("", ", 4, 0", ", 9, norm='ortho'")]
        + [f"torch.fft.{n}(x{a})" for n in ("rfft", "ihfft") for a in ("", ", 4, 0", ", norm='forward'")]
        + [f"torch.fft.{n}{k}({t}{a})" for n in ("fft", "ifft", "irfft", "hfft") for k in "2n" for t in "xz" for a in ("", ", (4, 7)")]
        + [f"torch.fft.{n}{k}(x{a})" for n in ("rfft", "ihfft") for k in "2n" for a in ("", ", (4, 7)")]
        + [f"g(torch.fft.{n}, {t})" for n in ("fft", "irfft", "hfft", "fftn", "irfftn") for t in "xz"]
        + [f"g(torch.fft.{n}, x)" for n in ("rfft", "ihfft", "rfft2")]
        + ["torch.fft.fftfreq(5, 0.1)", "torch.fft.rfftfreq(5)", "torch.fft.fftshift(x)", "torch.fft.ifftshift(x, 1)"]
        + ["torch.fft.fft(x, 0)", "torch.fft.fft(x, norm='x')", "torch.fft.rfft(z)", "torch.fft.fft(x.half())", "torch.fft.fftn(x, dim=(0, 0))"]
        + [f"torch.stft(x, 6, window=w, return_complex=True{o})" for o in ("", ", center=False", ", onesided=False", ", hop_length=2, normalized=True")]
        + ["torch.istft(torch.stft(x, 6, 2, window=w, return_complex=True), 6, 2, window=w)", "torch.stft(x, 6, window=w)"]
        + ["g(lambda t: torch.stft(t, 6, 2, window=w, return_complex=True), x)"]
        + [f"torch.{n}_window({a})" for n in ("hann", "hamming", "blackman", "bartlett", "kaiser") for a in ("7", "6, False", "1")]
        + [f"torch.signal.windows.{n}(6{a})" for n in ("bartlett", "blackman", "cosine", "exponential", "gaussian", "hamming", "hann", "kaiser", "nuttall") for a in ("", ", sym=False")]
    ),
    "func": """
grad(f)(x); grad(grad(lambda x: x**3))(torch.tensor(2.0)); grad_and_value(f)(x); grad(lambda x, y: (x * y).sum(), (0, 1))(x, y); grad(lambda t: t)(x)
grad(lambda x: x * grad(lambda y: x + y)(torch.tensor(1.0)))(torch.tensor(1.0)); grad(lambda d: (d["a"] * d["b"]).sum())({"a": x, "b": y})
vjp(lambda x: (x.sin(), x * 2), x)[1]((y, x)); jvp(lambda x: x.sin(), (x,), (y,)); jvp(lambda x, y: (x * y, x + 1), (x, y), (y, x)); jvp(lambda x: torch.ones(2), (x,), (y,))
jacrev(lambda x: x**2)(x); jacfwd(lambda x: x**2)(x); hessian(f)(x); jacrev(jacrev(f))(x); jacfwd(lambda x, y: (x * y, x.sum()), 1)(x, y); linearize(torch.sin, x)[1](y)
vmap(torch.dot)(torch.stack([x, y]), torch.stack([y, y])); vmap(torch.mul, (0, 1))(torch.ones(3, 2), torch.ones(2, 3)); vmap(lambda x: (x, x * 2), out_dims=(0, 1))(torch.ones(3, 2))
vmap(vmap(lambda a, b: a * b, (None, 0)), (0, None))(x, y); vmap(grad(f))(torch.stack([x, y])); vmap(lambda x: x + torch.randn(1))(x); vmap(lambda t: t)(3); vmap(lambda t: 3)(x)
functional_call(m, p, (x,)); grad(lambda p: functional_call(m, p, (x,)).pow(2).sum())(p); functional_call(m, [p, p], x); dual(torch.sin); dual(lambda t: (t * t).sum()); dual(lambda t: t)
""",
    "scatter": "; ".join(
        [f"torch.scatter_reduce(x, 0, i, s, '{r}', include_self={k})" for r in ("sum", "prod", "mean", "amax", "amin") for k in (True, False)]
        + [f"g('{r}', {k})" for r in ("sum", "prod", "mean", "amax", "amin") for k in (True, False)]
        + [f"x.clone().index_reduce_(1, torch.tensor([0, 2, 0]), x[:, :3], '{r}')" for r in ("prod", "mean", "amax", "amin")]
        + [f"torch.segment_reduce(a, '{r}', lengths=torch.tensor([2, 0, 1]))" for r in ("sum", "mean", "max", "min", "prod")]
        + ["torch.vander(torch.tensor([1, 2, 3]))", "torch.gradient(a)", "torch.gradient(a, dim=1, edge_order=2)", "torch.unravel_index(torch.tensor([4, 1]), (3, 2))"]
        + ["torch.gradient(a, spacing=(torch.tensor([0.0, 1, 4]), torch.tensor([0.0, 1, 2, 5])))", "torch.renorm(a, 2, 0, 5.0)", "torch.renorm(a, 1, 1, 5.0)"]
        + ["torch.isin(a, torch.tensor([2.0, 4.0]))", "torch.polar(x, x)", "torch.scatter_reduce(x, 0, i, s, 'x')"]
    ),
    "native": """
kinds(ln(x.mT, w, b)); kinds(ln(x.mT, None, b)); kinds(ln(x.mT.half(), None, None)); kinds(ln(x.mT.half(), w, b)); kinds(ln(x.mT.bfloat16(), w.bfloat16(), None))
kinds(ln(torch.zeros(0, 4), None, None)); kinds(torch.native_layer_norm(x, (4, 3), None, None, 1e-3)); kinds(torch.native_layer_norm(torch.zeros(2, 0), (0,), None, None, 1e-3))
ln(x.mT.long(), None, None); ln(x, None, None); ln(x.mT, w[:3], None); torch.native_layer_norm(x, [], None, None, 1e-3); torch.native_layer_norm(x, 3, None, None, 1e-3)
kinds(gn(x, w, b)); kinds(gn(x, w, None)); kinds(gn(x.half(), w.half(), None)); kinds(gn(x.half(), w, b)); kinds(torch.native_group_norm(x[:0], None, None, 0, 4, 3, 2, 1e-3))
kinds(torch.native_group_norm(torch.zeros(2, 4, 0), None, None, 2, 4, 0, 2, 1e-3)); gn(x.long(), None, None); torch.native_group_norm(x, None, None, 2, 4, 3, 3, 1e-3)
torch.native_group_norm(x, None, None, 2, 4, 3, 0, 1e-3); torch.native_group_norm(x, None, None, 2, 4, 5, 2, 1e-3); gn(x, w[:2], None)
kinds(bn(x, w, b)); kinds(bn(x, None, b)); kinds(bn(x.half(), w, b)); kinds(torch.native_batch_norm(x.half(), None, None, None, None, True, 0.1, 1e-3)[1:]); moved(0.25); moved(1)
kinds(torch.native_batch_norm(x, w, b, b, w, False, 0.1, 1e-3)); kinds(torch.native_batch_norm(x.half(), None, None, b.half(), w.half(), False, 0.1, 1e-3))
bn(x.long(), None, None); torch.native_batch_norm(w, None, None, None, None, True, 0.1, 1e-3); torch.native_batch_norm(x[:0], None, None, None, None, True, 0.1, 1e-3)
kinds(torch.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-3, out=tuple([torch.empty(0) for _ in "123"])))
g(lambda x, w, b: ln(x.mT, w, b)); g(gn); g(lambda x, w, b: torch.native_batch_norm(x, w, b, None, None, True, 0.1, 1e-3)); kinds(gn(x.double().requires_grad_(), None, None))
seeded(lambda: torch.native_dropout(x, 0.3, True)); seeded(lambda: torch.native_dropout(x, 0.3, None)); seeded(lambda: torch.native_dropout(x, 0.3, False))
seeded(lambda: torch.native_dropout(w.half(), 0, True)); seeded(lambda: torch.native_dropout(torch.tensor([math.inf, 1.0]), 1, True)); seeded(lambda: torch.native_dropout(w.long(), 0.5, False))
seeded(lambda: torch.native_dropout(w[:0], 0.5, True)); torch.native_dropout(w, 1.5, True); torch.native_dropout(w.long(), 0.5, True); dropped(0.4)
sizes(ln, x.mT, w, b); sizes(gn, x, w, b); sizes(torch.native_batch_norm, x, None, None, None, None, True, 0.1, 1e-3); sizes(torch.native_dropout, x, 0.5, True)
kinds([torch.native_norm(z)]); torch.native_norm(z, 3); torch.native_norm(z, None, (0, 1, -1), False, None); torch.native_norm(z, p=0); torch.native_norm(z, p=math.inf)
torch.native_norm(z, 2, [], False, None); torch.native_norm(z, 2, (0, 1), False, None); torch.native_norm(z, 2, (0, 1, 2), True, None)
torch.native_norm(z, 2, (0, 1, 2), False, torch.float64); torch.native_norm(x); torch.native_norm(torch.sparse_coo_tensor([[0, 0]], [3.0, 4.0], (3,)))
""",
    "forms": """
torch.special.softmax(T([1.0, 2.0])); torch.special.softmax(T([1.0, 2.0]), None); torch.special.log_softmax(T([1.0, 2.0])); kind(torch.special.softmax(input=T([1.0, 2.0]), dim=0)); kind(torch.special.log_softmax(T([1.0, 2.0]), -1, dtype=torch.float64))
torch.unique(T([2, 1]), 0); torch.unique(T([2, 1]), return_counts=1); torch.unique(T([2, 1]), 1, dim=0); T([2, 1]).unique(0); torch.unique_consecutive(T([1, 1]), 1); torch.unique(T([2, 1, 2]), True, True, True)
grid(torch.histogram(T([1.0, 2, 3, 4]), 4, range=(0.0, 4.0))); grid(torch.histogram(T([1.0, 2, 3, 4]), 4, range=(1.0, 1.0))); grid(torch.histogram(T([1.0, 2, 3]), 4, range=(0.0, 0.0))); grid(torch.histogram(T([]), 4)); grid(torch.histogram(T([1.0, 1.0]), 2))
grid(torch.histogram(T([1.0, 2, 3, 4]), T([1.0, 2, 5]), weight=T([1.0, 2, 3, 4]), density=True)); torch.histogram(T([1.0]), 4, range=(4.0, 0.0)); torch.histogram(T([1.0]), 4, range=(0.0, 1.0, 2.0)); torch.histogram(T([1.0]), 0); torch.histogram(T([1.0, nan]), 2)
torch.histogram(T([1.0]), 4, range=(0.0, inf)); torch.histogram(T([1.0]), T([0.0, 1.0]), range=(0.0, 1.0)); torch.histogram(T([1]), 2); torch.histogram(T([True]), 2); torch.histogram(T([1.0]).half(), 2); torch.histogram(T([1j]), 2)
grid(torch.histogramdd(p, [2, 3])); grid(torch.histogramdd(p, [2, 3], range=[0.0, 12.0, 0.0, 12.0])); grid(torch.histogramdd(p[:0], [2, 1])); grid(torch.histogramdd(p[:1], [2, 2], range=(0.0, 0.0, 1.0, 1.0))); torch.histogramdd(p, [2]); torch.histogramdd(p, [2, 3], range=[0.0, 12.0])
torch.histogramdd(p, [2, 2], range=(0.0, 0.0, 2.0, 1.0)); torch.histogramdd(p, [0, 2]); torch.histogramdd(p.long(), [2, 2])
torch.add(T([1.0]), T([2.0]), alpha=True); torch.add(T([1]), T([2]), alpha=True); kind(torch.add(T([True]), T([True]), alpha=True)); kind(torch.add(T([True, False]), True, alpha=True)); torch.add(T([True]), T([1]), alpha=True); torch.sub(T([1.0]), 2, alpha=True)
torch.add(T([1 + 1j]), T([1.0]), alpha=True); torch.rsub(T([1.0]), 2, alpha=True); T([1.0]).sub(T([1.0]), alpha=True); add_(T([1]), T([1]), True); kind(add_(T([True]), T([True]), True)); kind(torch.add(T([True]), T([True]), alpha=False)); kind(torch.add(T([1.0]), True, alpha=1))
torch.fft.fftfreq(4, 0); torch.fft.fftfreq(5, -0.0); torch.fft.fftfreq(0, 0.0); torch.fft.rfftfreq(4, 0.0); torch.fft.rfftfreq(0, 1.0); torch.fft.fftfreq(4, 1j); torch.fft.fftfreq(4, inf)
kind(torch.linspace(1j, 2, 4)); kind(torch.linspace(0, 2 + 1j, 4)); kind(torch.linspace(T(1j), 2, 3)); kind(torch.linspace(0, 1j, 1)); kind(torch.linspace(0, 1j, 0)); kind(torch.linspace(0, 1j, 3, dtype=torch.complex128)); torch.linspace(0, 1j, 4, dtype=torch.float32)
kind(torch.logspace(0, 1j, 4)); kind(torch.logspace(0.5, 1 + 1j, 3, 2.0)); kind(torch.logspace(0, 1j, 1)); torch.logspace(0, 1j, 3, dtype=torch.float32); torch.linspace(1.5, 3.5 + 2j, 3, dtype=torch.int64)
torch.polygamma(0, T([1.0, 0.0, -0.5, inf, nan])); torch.polygamma(1, T([1.0, -0.5, inf, nan])); torch.polygamma(2, T([1.0, 0.0, -0.5, inf, nan])); torch.polygamma(3, T([1.0, 0.0, -0.5, inf, 30.0])); torch.special.zeta(T(3.0), T([inf, nan, 1.0])); grad(lambda x: torch.polygamma(2, x), 0.7, 2.0)
list(T([1.0]).new(size=(2, 3)).shape); str(T([1]).new(size=(2, 3), device="cpu").dtype); torch.meshgrid(indexing="xy")
exact(T([1, 2**63 + 5, 7], dtype=torch.uint64)); exact(T([[2**63 + 5], [3]], dtype=torch.uint64)); exact(T([True, 2**64 - 1], dtype=torch.uint64)); exact(torch.full((2,), 2**63 + 5, dtype=torch.uint64)); exact(torch.zeros(1, dtype=torch.uint64).fill_(2**63 + 5))
str(T(2**63 + 5, dtype=torch.uint64).item()); exact(torch.as_tensor([2**63 + 5], dtype=torch.uint64)); T([1.5, 2], dtype=torch.uint64); exact(T([], dtype=torch.uint64)); T([2**63]); T([2**63], dtype=torch.int64)
""",
}  # fmt: skip


def plain(value):
    """Numbers in nested lists, complex ones as pairs."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        t = value.detach()
        t = t.to_dense() if str(t.layout) != "torch.strided" else t
        return plain(t.tolist())
    if isinstance(value, complex):
        return [plain(value.real), plain(value.imag)]
    return round(value, 12) if isinstance(value, float) else value


def outcome(expression, scope):
    try:
        return plain(eval(expression, scope))
    except Exception as error:
        kinds = (NotImplementedError, IndexError, TypeError, ValueError, RuntimeError)
        return "raises " + next(k.__name__ for k in kinds if isinstance(error, k))


def expressions(section):
    return [e.strip() for e in EXPRESSIONS[section].replace("\n", ";").split(";") if e.strip()]


def main():
    import torch

    warnings.simplefilter("ignore")
    results = {}
    for section, setup in SETUP.items():
        scope = {"torch": torch}
        exec(setup, scope)
        results[section] = {"setup": setup, "cases": {e: outcome(e, scope) for e in expressions(section)}}
    lines = []
    for section, content in results.items():
        cases = ",\n".join(
            f"{json.dumps(e)}: {json.dumps(r, separators=(',', ':'))}" for e, r in content["cases"].items()
        )
        lines.append(f'"{section}": {{"setup": {json.dumps(content["setup"])}, "cases": {{\n{cases}\n}}}}')
    Path(__file__).with_name("expressions.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
