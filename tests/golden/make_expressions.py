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
