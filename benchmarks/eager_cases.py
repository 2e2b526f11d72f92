"""One call each of many operators on small tensors: what an eager call costs besides the arithmetic."""

from __future__ import annotations

from collections.abc import Callable


def cases(torch) -> dict[str, Callable[[], object]]:
    """Name -> one call. A name ending in '+g' has an input that requires grad, so the call is recorded."""
    F = torch.nn.functional
    torch.manual_seed(0)
    a, b = torch.rand(8, 8) + 0.5, torch.rand(8, 8) + 0.5
    w = torch.rand(8, 8).requires_grad_()
    row, i, mask = torch.rand(8), torch.tensor([1, 3, 5]), torch.rand(8, 8) > 0.5
    target = torch.randint(0, 8, (8,))
    image, kernel = torch.rand(1, 3, 8, 8), torch.rand(4, 3, 3, 3).requires_grad_()
    scratch = torch.rand(8, 8)
    leaf = torch.rand(8, 8).requires_grad_()
    gradient = torch.ones(8, 8)
    binary = {
        "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
        "maximum": torch.maximum, "pow2": lambda x, y: x**2, "add scalar": lambda x, y: x + 1.0,
        "rsub scalar": lambda x, y: 1.0 - x, "add row": lambda x, y: x + row, "matmul": lambda x, y: x @ y,
        "where": lambda x, y: torch.where(mask, x, y), "lt": lambda x, y: x < y,
    }  # fmt: skip
    unary = {
        "neg": lambda x: -x, "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt, "tanh": torch.tanh,
        "sigmoid": torch.sigmoid, "relu": torch.relu, "abs": torch.abs, "clamp": lambda x: x.clamp(0.2, 0.8),
        "sum": lambda x: x.sum(), "sum dim": lambda x: x.sum(1), "mean": lambda x: x.mean(), "mean dim": lambda x: x.mean(0),
        "max": lambda x: x.max(), "max dim": lambda x: x.max(1), "argmax": lambda x: x.argmax(1),
        "softmax": lambda x: x.softmax(1), "log_softmax": lambda x: x.log_softmax(1), "gelu": F.gelu, "silu": F.silu,
        "view": lambda x: x.view(4, 16), "reshape": lambda x: x.reshape(-1), "transpose": lambda x: x.transpose(0, 1),
        "t": lambda x: x.t(), "unsqueeze": lambda x: x.unsqueeze(0), "squeeze": lambda x: x.squeeze(0),
        "index int": lambda x: x[1], "index slice": lambda x: x[:, 1:3], "index list": lambda x: x[i],
        "mask": lambda x: x[mask], "cat": lambda x: torch.cat([x, x]), "stack": lambda x: torch.stack([x, x]),
        "chunk": lambda x: x.chunk(2, 1), "clone": lambda x: x.clone(), "detach": lambda x: x.detach(),
        "expand": lambda x: x.unsqueeze(0).expand(4, 8, 8), "to double": lambda x: x.double(),
        "linear": lambda x: F.linear(x, w), "layer_norm": lambda x: F.layer_norm(x, (8,)),
        "cross_entropy": lambda x: F.cross_entropy(x, target), "mse_loss": lambda x: F.mse_loss(x, b),
        "embedding": lambda x: F.embedding(target, x), "masked_fill": lambda x: x.masked_fill(mask, 0.0),
        "gather": lambda x: x.gather(1, target.unsqueeze(1)), "var": lambda x: x.var(1), "norm": lambda x: x.norm(),
        "cumsum": lambda x: x.cumsum(0), "dropout": lambda x: F.dropout(x, 0.5),
    }  # fmt: skip
    table: dict[str, Callable[[], object]] = {}
    for name, f in binary.items():
        table[name] = lambda f=f: f(a, b)
        if name != "lt":
            table[name + "+g"] = lambda f=f: f(w, b)
    for name, f in unary.items():
        table[name] = lambda f=f: f(a)
        if name != "argmax":
            table[name + "+g"] = lambda f=f: f(w)
    table["conv2d+g"] = lambda: F.conv2d(image, kernel)
    table["max_pool2d"] = lambda: F.max_pool2d(image, 2)
    table["add_"] = lambda: scratch.add_(b, alpha=1e-9)
    table["mul_"] = lambda: scratch.mul_(1.0)
    table["zero_"] = lambda: scratch.zero_()
    table["zeros"] = lambda: torch.zeros(8, 8)
    table["rand"] = lambda: torch.rand(8, 8)
    table["arange"] = lambda: torch.arange(8)
    table["tensor"] = lambda: torch.tensor([1.0, 2.0, 3.0])
    table["item"] = lambda: row[0].item()
    table["backward"] = lambda: (leaf * b + a).tanh().backward(gradient)
    return table
