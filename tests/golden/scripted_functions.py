"""Functions whose graphs as scripts `tests/golden/jit/graphs.txt` has."""

# ruff: noqa
# fmt: off
import torch
from typing import List, Optional, Tuple, Dict
def f01(x): return x*2+1
def f02(x): return x
def f03(x, y):
    z = x + y
    return z * z
def f04(x):
    if x.sum() > 0:
        y = x
    else:
        y = -x
    return y
def f05(x, n: int):
    for i in range(n):
        x = x + i
    return x
def f06(x):
    while bool(x.sum() < 10):
        x = x * 2
    return x
def helper(x, k: int = 3): return x + k
def f12(x): return helper(x) + helper(x, 4)
def f13(x): return x, x + 1
def f14(x: Tuple[torch.Tensor, torch.Tensor]):
    a, b = x
    return a + b
def f15(x: List[int]):
    s = 0
    for v in x:
        s += v
    return s
def f17(n: int):
    l: List[int] = []
    for i in range(n):
        l.append(i * 2)
    return l
def f18(x):
    return f"value {x} and {1}"
def f19(x): return torch.cat([x, x], dim=1)
def f21(x, flag: bool = True):
    if flag:
        x = x + 1
    else:
        x = x - 1
    return x
def f23(x, n: int):
    y = x
    for i in range(n):
        for j in range(i):
            y = y + j
    return y
def f24(x):
    if x.dim() == 1:
        if x.size(0) > 2:
            y = x
        else:
            y = x * 2
    else:
        y = x * 3
    return y
def f25(a: int, b: int): return a * b + a // b - a % b
def f26(a: float, b: int): return a * b
def f27(x): return x.view(-1, 2).sum(dim=1, keepdim=True)
def f28(x): return torch.nn.functional.relu(x)
def f29(x): return torch.nn.functional.dropout(x, 0.5, True)
def f30(x): return x if bool(x.sum() > 0) else -x
def f31(x): return bool(x.sum() > 0) and x.dim() == 1
def f32(x): return not (x.dim() == 1 or x.dim() == 2)
def f33(d: Dict[str, int]):
    d["a"] = 1
    return d["a"] + len(d)
def f34(x):
    x += 1
    x *= 2
    return x
def f35(x):
    x[0] = 1.0
    x[1] += 2
    return x
def f37(x, n: int):
    if n > 0:
        raise ValueError("no")
    return x
def f38(n: int):
    return [i * i for i in range(n)]
def f39(x: List[torch.Tensor]):
    return [y + 1 for y in x]
def f40(x):
    print(x, 1)
    return x
def f41(x, n: int):
    i = 0
    while i < n:
        i += 1
        x = x + i
    return x
def f43(x, h, c):
    if x.sum() > 0:
        h = x @ h
        c = c + 1
    return h, c
def f44(x): return 1 - x, 2 / x, x ** 2, 2 * x
def f46(s: str): return s + "a" if len(s) > 2 else s
def f47(x, y: Optional[int] = None):
    if y is not None:
        x = x + y
    return x
def f48(x):
    a = 1
    b = 2
    c = a + b
    return x + c
def f49(x):
    if True:
        return x + 1
    return x
def f50(x, n: int):
    for i in range(1, n, 2):
        x = x + i
    return x
def f51(xs: List[torch.Tensor]):
    for i, x in enumerate(xs):
        x.add_(i)
    return xs
def f52(xs: List[torch.Tensor], ys: List[torch.Tensor]):
    s = torch.zeros(1)
    for a, b in zip(xs, ys):
        s = s + a * b
    return s
def f53(x):
    values, indices = torch.max(x, dim=0)
    return values
def f54(x): return torch.zeros(2, 3), torch.ones_like(x), torch.arange(3)
def f55(x):
    y = x
    x = y + 1
    y = x + y
    return x, y
def f56(x: int) -> float: return x / 2
def f57(x):
    pass
def f58(x):
    if x.sum() > 0:
        r = x
        s = 1
    else:
        s = 2
        r = -x
    return r + s
def f59(x): return x.shape[0] + x.size(1), x.dtype
def f60(x, w, b): return torch.nn.functional.linear(x, w, b)
def f20(x): return x[0], x[1:3], x[:, None]
def g01(x, hx, cx, w_ih, w_hh, b_ih, b_hh):
    gates = x.mm(w_ih.t()) + hx.mm(w_hh.t()) + b_ih + b_hh
    ingate, forgetgate, cellgate, outgate = gates.chunk(4, 1)
    ingate = torch.sigmoid(ingate)
    forgetgate = torch.sigmoid(forgetgate)
    cellgate = torch.tanh(cellgate)
    outgate = torch.sigmoid(outgate)
    cy = (forgetgate * cx) + (ingate * cellgate)
    hy = outgate * torch.tanh(cy)
    return hy, cy
def g02(len: int):
    rv = torch.zeros(3, 4)
    for i in range(len):
        if i < 10:
            rv = rv - 1.0
        else:
            rv = rv + 1.0
    return rv
def g03(x, tup: Tuple[torch.Tensor, torch.Tensor]):
    t0, t1 = tup
    return t0 + t1 + x
def g04(x, y):
    if bool(x.max() > y.max()):
        r = x
    else:
        r = y
    return r
def g05(x, n: int):
    z = x
    while n > 0:
        if bool(z.mean() > 0.5):
            z = z - 1
        else:
            z = z + n
        n = n - 1
    return z, n
def g06(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    a = x.new_zeros(y.size(0), 2)
    for i in range(y.size(0)):
        a[i] = y[i] * 2
    return a
def g07(x, k: float = 0.5, s: str = "mean"):
    if s == "mean":
        x = x.mean() * k
    elif s == "sum":
        x = x.sum()
    return x
def g09(x):
    b, c, h, w = x.shape
    return x.reshape(b, c, h * w).transpose(1, 2)
def g10(x, mask: Optional[torch.Tensor] = None):
    if mask is not None:
        x = x.masked_fill(mask, float("-inf"))
    return torch.softmax(x, dim=-1)
def g11(n: int):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
def g12(x):
    y = torch.empty([0])
    for i in range(x.size(0)):
        y = torch.cat((y, x[i].unsqueeze(0)), 0)
    return y
def g13(x):
    r = torch.rand(3) if x.dim() > 1 else x
    return r.sum().item()
def g14(x, y):
    print("sum", x.sum(), y)
    return (x == y).all(), x != y, x >= 1, x < y
def g15(x):
    return torch.where(x > 0, x, torch.zeros_like(x))
def g16(x): return x.float().long(), int(x.sum()), float(x.mean())
def g17(x: List[int]): return x[0], x[-1], x[1:], len(x)
def g18(x, y): return x & y, x | y, ~x, x @ y, x // y, x % y
def g19(x): return torch.nn.functional.conv2d(x, x, None, 1, 1)
def g20(x): return torch.max_pool2d(x, 2)
