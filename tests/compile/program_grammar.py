"""What random programs are made of: each production proposes one statement that fits the tensors at hand.

A production is a method of `Grammar` that returns the text of an expression (which becomes a new variable) or of a
statement that writes in place (after a "!"; it begins with the tensor it writes), or None where nothing fits. The generator
runs every proposal at once and drops what raises, so a production need not be careful.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

import rushlight as torch

LENGTHS = [1, 2, 3, 4, 5, 7, 8, 16, 17, 33]
UNARY = [
    "neg()",
    "abs()",
    "exp()",
    "tanh()",
    "sigmoid()",
    "sin()",
    "cos()",
    "relu()",
    "square()",
    "atan()",
    "erf()",
    "expm1()",
    "asinh()",
    "softplus()",
    "gelu()",
    "silu()",
    "elu()",
    "leaky_relu(0.1)",
    "hardtanh()",
    "softsign()",
    "logsigmoid()",
    "mish()",
    "hardswish()",
    "sinh()",
    "cosh()",
    "erfc()",
    "exp2()",
    "clamp(-0.5,0.7)",
    "clamp(min=0.1)",
    "pow(2)",
    "pow(3)",
    "sign()",
    "round()",
    "floor()",
    "trunc()",
    "nan_to_num()",
    "clone()",
]
FUNCTIONAL = {
    "softplus",
    "gelu",
    "silu",
    "elu",
    "leaky_relu",
    "hardtanh",
    "softsign",
    "logsigmoid",
    "mish",
    "hardswish",
}
JUMPS = {"sign", "round", "floor", "trunc"}  # not continuous: only of values that have no error
POSITIVE = [
    "log()",
    "sqrt()",
    "rsqrt()",
    "log1p()",
    "log2()",
    "log10()",
    "reciprocal()",
    "pow(-1.5)",
    "lgamma()",
    "digamma()",
]
WITHIN = ["asin()", "acos()", "atanh()", "erfinv()"]
BINARY = ["+", "-", "*", "+", "-", "*"]
INTEGER = ["+", "-", "*", "&", "|", "^", "//", "%"]
_FLOATS = {"real": torch.float32, "low": torch.bfloat16, "torch.float64": torch.float64}  # where programs are made
COMPARE = ["<", "<=", ">", ">=", "==", "!="]


class Grammar:
    """Proposes statements over the variables of `env`."""

    def __init__(self, rng: np.random.Generator, leaf: Callable[[str, str], str]):
        self.rng, self.leaf = rng, leaf
        self.env: dict[str, Any] = {}
        self.exact: set[str] = set()  # variables that come from leaves without rounding
        self.fixed: set[str] = set()  # leaves that must not be written
        self.productions: list[tuple[Callable, float]] = [
            (self.unary, 5),
            (self.partial, 1.5),
            (self.binary, 6),
            (self.scalar, 3),
            (self.ternary, 2),
            (self.reduce, 3),
            (self.scan, 0.7),
            (self.normalise, 2.5),
            (self.product, 2.5),
            (self.convolve, 1.5),
            (self.pool, 1),
            (self.lookup, 2),
            (self.join, 2),
            (self.part, 2),
            (self.view, 6),
            (self.write, 4),
            (self.write_view, 3),
            (self.write_overlapping, 0.8),
            (self.convert, 2),
            (self.compare, 2),
            (self.integer, 1.5),
            (self.drop, 0.7),
            (self.grad_free, 0.7),
            (self.loss, 1),
            (self.attend, 0.5),
        ]
        weights = np.array([w for _, w in self.productions])
        self.weights = weights / weights.sum()

    def propose(self) -> str | None:
        """A statement or an expression, as text."""
        production, _ = self.productions[self.rng.choice(len(self.productions), p=self.weights)]
        return production()

    # ------------------------------------------------------------------------------------------- choices

    def pick(self, options: Any) -> Any:
        return options[self.rng.integers(len(options))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def number(self) -> str:
        return str(round(float(self.rng.uniform(-1.5, 1.5)), 2) or 0.5)

    def shape(self, ndim: int | None = None, most: int = 3000) -> tuple[int, ...]:
        out = [int(self.pick(LENGTHS)) for _ in range(self.rng.integers(0, 5) if ndim is None else ndim)]
        while prod(out) > most:
            out[int(np.argmax(out))] //= 2
        return tuple(out)

    def where(self, test: Callable[[Any], bool]) -> str | None:
        """A variable whose tensor passes a test; late ones more often."""
        names = [n for n, t in self.env.items() if test(t)]
        if not names:
            return None
        p = np.arange(1, len(names) + 1, dtype=float)
        return names[self.rng.choice(len(names), p=p / p.sum())]

    def floating(self, ndim: int = 0) -> str | None:
        return self.where(lambda t: t.is_floating_point() and t.ndim >= ndim)

    def real(self, ndim: int = 0) -> str | None:
        """A variable of the program's own type."""
        return self.where(lambda t: t.dtype in (torch.float32, torch.float64) and t.ndim >= ndim)

    def integral(self) -> str | None:
        return self.where(lambda t: t.dtype in (torch.int64, torch.uint8, torch.int32))

    def exactly(self, test: Callable[[Any], bool]) -> str | None:
        names = [n for n in self.exact if n in self.env and test(self.env[n])]
        return self.pick(sorted(names)) if names else None

    def axis(self, name: str) -> int:
        n = self.env[name].ndim
        return int(self.rng.integers(-n, n)) if n else 0

    def axes(self, name: str) -> tuple[int, ...]:
        n = self.env[name].ndim
        return tuple(sorted(int(a) for a in self.rng.choice(n, self.rng.integers(1, n + 1), replace=False)))

    def partner(self, name: str, test: Callable[[Any], bool] = lambda t: t.is_floating_point()) -> str:
        """A variable that broadcasts with another one, made if there is none."""
        shape = tuple(self.env[name].shape)

        def fits(t: Any) -> bool:
            try:
                return test(t) and np.broadcast_shapes(shape, tuple(t.shape)) == shape or tuple(t.shape) == shape
            except ValueError:
                return False

        if self.chance(0.8):
            found = self.where(lambda t: test(t) and fits(t))
            if found is not None:
                return found
        some = tuple(n if self.chance(0.7) else 1 for n in shape)[self.rng.integers(0, len(shape) + 1) :]
        return self.leaf(self.pick(["param", "arg", "buffer"]), f"normal({_list(some)})")

    # ------------------------------------------------------------------------------------------- pointwise

    def unary(self) -> str | None:
        x, call = self.floating(), self.pick(UNARY)
        name = call.split("(")[0]
        if name in JUMPS:
            x = self.exactly(lambda t: t.is_floating_point())
        if x is None:
            return None
        if name in FUNCTIONAL:
            rest = call[len(name) + 1 : -1]
            return f"F.{name}({x}{', ' if rest else ''}{rest})"
        return f"{x}.{call}"

    def partial(self) -> str | None:
        """Functions that are not defined everywhere."""
        x = self.real()
        if x is None:
            return None
        if self.chance(0.7):
            return f"({x}.abs() + {round(float(self.rng.uniform(0.3, 2)), 2)}).{self.pick(POSITIVE)}"
        return f"({x}.tanh() * 0.9).{self.pick(WITHIN)}"

    def binary(self) -> str | None:
        x = self.floating()
        if x is None:
            return None
        y = self.partner(x)
        x, y = (y, x) if self.chance(0.3) else (x, y)
        kind = self.rng.random()
        if kind < 0.65:
            return f"{x} {self.pick(BINARY)} {y}"
        if kind < 0.75:
            return f"{x} / ({y}.abs() + 0.5)"
        name = self.pick(
            ["maximum", "minimum", "atan2", "hypot", "fmax", "fmin", "logaddexp", "copysign", "mul", "sub"]
        )
        if name in ("atan2", "hypot"):
            return f"torch.{name}({x}, {y}.abs() + 0.5)"
        if name == "copysign" and y not in self.exact:
            return None
        return f"torch.{name}({x}, {y})"

    def scalar(self) -> str | None:
        x = self.where(lambda t: t.dtype != torch.bool)
        if x is None:
            return None
        n = self.number()
        return self.pick([f"{x} + {n}", f"{x} * {n}", f"{n} - {x}", f"{x} / {n}", f"{x} * 2", f"-{x}", f"{x} + True"])

    def ternary(self) -> str | None:
        x = self.floating()
        if x is None:
            return None
        y, kind = self.partner(x), self.rng.random()
        if kind < 0.4:
            mask = self.partner(x, lambda t: t.dtype == torch.bool)
            if self.env[mask].dtype != torch.bool:
                return None
            other = y if self.chance(0.7) else self.number()
            return self.pick([f"torch.where({mask}, {x}, {other})", f"{x}.masked_fill({mask}, {self.number()})"])
        if kind < 0.6:
            return f"torch.lerp({x}, {y}, {self.number()})"
        if kind < 0.8:
            return f"torch.addcmul({x}, {y}, {self.partner(x)}, value={self.number()})"
        return f"{x}.clamp(-({y}.abs()), {self.partner(x)}.abs())"

    # ------------------------------------------------------------------------------------------- rows

    def reduce(self) -> str | None:
        x = self.floating(1)
        if x is None or not self.env[x].numel():
            return None
        dims, keep = self.axes(x), self.chance(0.5)
        name = self.pick(
            [
                "sum",
                "mean",
                "amax",
                "amin",
                "sum",
                "mean",
                "logsumexp",
                "var",
                "std",
                "prod",
                "norm",
                "max",
                "min",
                "any_all",
                "whole",
            ]
        )
        one = self.axis(x)
        if name == "whole":
            return f"{x}.{self.pick(['sum', 'mean', 'max', 'min', 'norm'])}()"
        if name == "any_all":
            b = self.where(lambda t: t.dtype == torch.bool and t.ndim > 0)
            return None if b is None else f"{b}.{self.pick(['any', 'all', 'sum'])}({self.axis(b)})"
        if name in ("var", "std"):
            return (
                f"{x}.{name}({dims}, correction=0, keepdim={keep})"
                if name == "var"
                else f"({x}.var({dims}, correction=0, keepdim={keep}) + 0.1).sqrt()"
            )
        if name == "prod":
            return f"{x}.prod({one}, keepdim={keep})"
        if name in ("max", "min"):
            return f"{x}.{name}({one}, keepdim={keep})[0]"
        if name == "norm":
            return f"({x}.norm({self.pick([1, 2])}, {one}, keepdim={keep}) + 0.1)"
        return f"{x}.{name}({dims}, keepdim={keep})"

    def scan(self) -> str | None:
        x = self.real(1)
        if x is None:
            return None
        exact = self.exactly(lambda t: t.is_floating_point() and t.ndim > 0)
        text = [f"{x}.cumsum({self.axis(x)})", f"{x}.flip({self.axis(x)})", f"{x}.roll(1, {self.axis(x)})"]
        if exact is not None:
            a = self.axis(exact)
            text += [
                f"{exact}.argmax({a})",
                f"{exact}.sort({a})[0]",
                f"{exact}.argsort({a})",
                f"{exact}.topk(1, {a})[0]",
            ]
        return self.pick(text)

    def normalise(self) -> str | None:
        x = self.real(1)
        if x is None:
            return None
        shape, kind = self.env[x].shape, self.rng.random()
        if kind < 0.3:
            return f"{x}.{self.pick(['softmax', 'log_softmax'])}({self.axis(x)})"
        if kind < 0.6:
            k = int(self.rng.integers(1, len(shape) + 1))
            if prod(shape[-k:]) < 3:
                return None
            tail = _list(shape[-k:])
            if self.chance(0.4):
                return f"F.layer_norm({x}, ({tail},))"
            w, b = self.leaf("param", f"normal({tail})"), self.leaf("param", f"normal({tail})")
            return f"F.layer_norm({x}, ({tail},), {w}, {b})"
        if len(shape) < 2 or shape[0] * prod(shape[2:]) < 4:
            return None
        c = shape[1]
        if self.chance(0.2):
            return f"F.group_norm({x}, 1)" if prod(shape[1:]) > 2 else None
        mean, var = self.leaf("buffer", f"normal({c})"), self.leaf("buffer", f"uniform({c})")
        w, b = self.leaf("param", f"normal({c})"), self.leaf("param", f"normal({c})")
        affine = f", {w}, {b}" if self.chance(0.7) else ""
        return f"F.batch_norm({x}, {mean}, {var}{affine}, training={self.chance(0.8)})"

    def drop(self) -> str | None:
        x = self.real()
        return None if x is None else f"F.dropout({x}, 0.4)"

    # ------------------------------------------------------------------------------------------- products

    def product(self) -> str | None:
        x = self.real(1)
        if x is None:
            return None
        shape, n = self.env[x].shape, int(self.pick([1, 3, 4, 10, 16]))
        k = shape[-1]
        kind = self.rng.random()
        if kind < 0.4:
            w = self.leaf("param", f"normal({n}, {k})")
            return f"F.linear({x}, {w} * 0.3" + (
                f", {self.leaf('param', f'normal({n})')})" if self.chance(0.7) else ")"
            )
        if len(shape) < 2:
            return f"{x} @ {self.leaf('param', f'normal({k})')}"
        if kind < 0.6:
            return f"{x} @ {x}.transpose(-1, -2) * 0.3"
        if kind < 0.8:
            return f"{x} @ ({self.leaf('param', f'normal({k}, {n})')} * 0.3)"
        if len(shape) == 3:
            lead = shape[0]
            return f"torch.bmm({x}, {self.leaf('arg', f'normal({lead}, {k}, {n})')})"
        if len(shape) == 2:
            b = self.leaf("param", f"normal({n})")
            return f"torch.addmm({b}, {x}, {self.leaf('param', f'normal({k}, {n})')}, beta=0.5)"
        return f"torch.einsum('...ij,...kj->...ik', {x}, {x})"

    def convolve(self) -> str | None:
        if self.chance(0.5):
            n, c, size = int(self.rng.integers(1, 4)), int(self.pick([1, 2, 3, 4])), int(self.pick([5, 6, 8]))
            x = self.leaf("arg", f"normal({n}, {c}, {size}, {size})")
        else:
            x = self.where(
                lambda t: t.dtype in (torch.float32, torch.float64) and t.ndim in (3, 4) and t.numel() < 2000
            )
            if x is None:
                return None
        shape = self.env[x].shape
        d = len(shape) - 2
        k = int(self.pick([1, 2, 3]))
        out = int(self.pick([1, 2, 4, 5]))
        stride, pad = int(self.pick([1, 1, 2])), int(self.pick([0, 1]))
        if self.chance(0.2):
            w = self.leaf("param", f"normal({shape[1]}, {out}, {_list((k,) * d)})")
            return f"F.conv_transpose{d}d({x}, {w} * 0.3, stride={stride})"
        w = self.leaf("param", f"normal({out}, {shape[1]}, {_list((k,) * d)})")
        b = self.leaf("param", f"normal({out})") if self.chance(0.6) else "None"
        return f"F.conv{d}d({x}, {w} * 0.3, {b}, stride={stride}, padding={pad})"

    def pool(self) -> str | None:
        x = self.where(lambda t: t.dtype in (torch.float32, torch.float64) and t.ndim in (3, 4))
        if x is None:
            return None
        d = self.env[x].ndim - 2
        name = self.pick(["max_pool", "avg_pool"])
        more = self.pick(["", ", stride=1", ", padding=1", ", ceil_mode=True"])
        if self.chance(0.2):
            return f"F.adaptive_avg_pool{d}d({x}, 2)"
        return f"F.{name}{d}d({x}, {self.pick([2, 2, 3])}{more})"

    def attend(self) -> str | None:
        heads = f"normal({self.pick([1, 2])}, {self.pick([1, 2])}, {self.pick([3, 8])}, {self.pick([4, 8])})"
        q, k, v = (self.leaf("param", heads) for _ in range(3))
        return f"F.scaled_dot_product_attention({q}, {k}, {v}, is_causal={self.chance(0.5)})"

    def loss(self) -> str | None:
        x = self.real(2)
        if x is None:
            return None
        shape, kind = self.env[x].shape, self.rng.random()
        if kind < 0.5:
            target = self.leaf("arg", f"integers({shape[1]}, {_list((shape[0], *shape[2:]))})")
            reduction = self.pick(["mean", "sum", "none"])
            smooth = ", label_smoothing=0.1" if self.chance(0.2) else ""
            return f"F.cross_entropy({x}, {target}, reduction='{reduction}'{smooth})"
        other = self.leaf("arg", f"uniform({_list(shape)})")
        name = self.pick(["mse_loss", "l1_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits", "huber_loss"])
        return f"F.{name}({x}, {other})"

    # ------------------------------------------------------------------------------------------- lookups and joins

    def lookup(self) -> str | None:
        kind = self.rng.random()
        if kind < 0.35:
            n, e = int(self.pick([3, 7, 20])), int(self.pick([1, 4, 8]))
            table = self.leaf("param", f"normal({n}, {e})")
            return f"F.embedding({self.leaf('arg', f'integers({n}, {_list(self.shape(2, 40))})')}, {table})"
        x = self.floating(1)
        if x is None:
            return None
        dim = self.axis(x)
        shape = self.env[x].shape
        if not shape[dim]:
            return None
        if kind < 0.6:
            i = self.leaf("arg", f"integers({shape[dim]}, {self.pick([1, 3, 6])})")
            return f"{x}.index_select({dim}, {i})"
        if kind < 0.8:
            some = [n if a != dim % len(shape) else int(self.pick([1, 3])) for a, n in enumerate(shape)]
            return f"{x}.gather({dim}, {self.leaf('arg', f'integers({shape[dim]}, {_list(some)})')})"
        i = self.leaf("arg", f"integers({shape[0]}, {self.pick([1, 3, 6])})")
        if kind < 0.9:
            return f"{x}[{i}]"
        return f"torch.zeros_like({x}).index_add(0, torch.arange({shape[0]}), {x})"

    def join(self) -> str | None:
        x = self.floating(1)
        if x is None:
            return None
        dim, shape = self.axis(x), self.env[x].shape
        if self.chance(0.5):
            others = [self.partner(x) for _ in range(self.rng.integers(1, 3))]
            y = ", ".join(n if self.env[n].shape == shape else f"{n}.expand({_list(shape)})" for n in others)
            return f"torch.{self.pick(['cat', 'stack'])}([{x}, {y}], {dim})"
        return f"torch.cat([{x}, {x}.narrow({dim}, 0, {max(1, shape[dim] // 2)})], {dim})"

    def part(self) -> str | None:
        x = self.floating(1)
        if x is None:
            return None
        dim = self.axis(x)
        n = self.env[x].shape[dim]
        size = int(self.rng.integers(1, n + 1)) if n else 1
        return self.pick([f"{x}.split({size}, {dim})[-1]", f"{x}.chunk(2, {dim})[0]", f"{x}.unbind({dim})[0]"])

    # ------------------------------------------------------------------------------------------- views

    def view(self) -> str | None:
        x = self.where(lambda t: t.numel() > 0)
        return None if x is None else self.viewed(x)

    def viewed(self, x: str) -> str:
        """A random view of a variable, as text."""
        shape = tuple(self.env[x].shape)
        n, size = len(shape), prod(shape)
        if not n:
            return self.pick([f"{x}.reshape(1, 1)", f"{x}.unsqueeze(0)", f"{x}.expand(3, 2)"])
        a, b = self.axis(x), self.axis(x)
        order = [int(i) for i in self.rng.permutation(n)]
        start = int(self.rng.integers(0, shape[a]))
        factor = next((k for k in (2, 3, 4, 7) if size % k == 0), 1)
        texts = [
            f"{x}.transpose({a}, {b})",
            f"{x}.permute({_list(order)})",
            f"{x}.reshape({factor}, -1)",
            f"{x}.flatten()",
            f"{x}.unsqueeze({a})",
            f"{x}.select({a}, {start})",
            f"{x}.narrow({a}, {start}, {int(self.rng.integers(1, shape[a] - start + 1))})",
            f"{x}.squeeze()",
            f"{x}.unsqueeze(0).expand(2, {', '.join(['-1'] * n)})",
            f"{x}[{', '.join(self.slices(shape))}]",
            f"{x}[{', '.join(self.slices(shape))}]",
            f"{x}[..., None, {start if a in (n - 1, -1) else 0}]",
        ]
        if n > 1:
            texts += [
                f"{x}.diagonal(0, 0, {n - 1})",
                f"{x}.flatten(0, 1)",
                f"{x}.movedim(0, -1)",
                f"{x}.t()" if n == 2 else f"{x}.mT",
            ]
        return self.pick(texts)

    def slices(self, shape: tuple[int, ...]) -> list[str]:
        out = []
        for n in shape[: self.rng.integers(1, len(shape) + 1)]:
            start = int(self.rng.integers(0, max(1, n)))
            out.append(
                self.pick(
                    [":", f"{start}:", f"{start}::2", f":{start + 1}", "::3", f"-{max(1, n - start)}:", str(start)]
                )
            )
        return out

    # ------------------------------------------------------------------------------------------- writes

    def target(self) -> str | None:
        """A variable that may be written."""
        name = self.where(lambda t: True)
        return None if name is None or name in self.fixed else name

    def write(self) -> str | None:
        x = self.target()
        text = None if x is None else self.written(x, self.env[x])
        return text and "!" + text

    def write_view(self) -> str | None:
        x = self.target()
        if x is None or not self.env[x].numel() or not self.env[x].ndim:
            return None
        text = self.viewed(x) if self.chance(0.4) else f"{x}[{', '.join(self.slices(tuple(self.env[x].shape)))}]"
        try:
            part = eval(text, {}, self.env)
        except Exception:
            return None
        if not part.numel():
            return None
        self.env["_"] = part
        statement = self.written("_", part)
        del self.env["_"]
        if statement is None or len(re.findall(r"\b_\b", statement)) != 1:
            return None
        if text.endswith("]") and self.chance(0.5):
            y = self.partner_of(part)
            return f"!{text} {self.pick(['=', '+=', '*='])} {y}"
        return "!" + text + statement.removeprefix("_")

    def write_overlapping(self) -> str | None:
        """A write from another view of the same memory: element after element, unless both are without gaps."""
        x = self.where(lambda t: t.is_floating_point() and t.ndim > 0 and t.numel() > 1)
        if x is None or x in self.fixed:
            return None
        shape, name, a = self.env[x].shape, self.pick(["copy_", "copy_", "add_", "mul_", "sub_"]), self.axis(x)
        n, equal = shape[a], [b for b in range(len(shape)) if shape[b] == shape[a] and b != a % len(shape)]
        texts = [f"{x}.{name}({x}.narrow({a}, {n - 1}, 1))"]
        if n > 1:
            here, there = ("1", "0") if self.chance(0.6) else ("0", "1")
            texts.append(f"{x}.narrow({a}, {here}, {n - 1}).{name}({x}.narrow({a}, {there}, {n - 1}))")
        if equal:
            texts.append(f"{x}.{name}({x}.transpose({a}, {equal[0]}))")
            texts.append(f"{x}[..., :-1].{name}({x}.transpose({a}, {equal[0]})[..., :-1])")
        return "!" + self.pick(texts)

    def partner_of(self, part: Any) -> str:
        self.env["_"] = part
        try:
            y = self.partner(
                "_",
                (lambda t: t.is_floating_point()) if part.is_floating_point() else (lambda t: t.dtype == part.dtype),
            )
        finally:
            del self.env["_"]
        return self.number() if y == "_" or self.chance(0.2) else y

    def written(self, x: str, t: Any) -> str | None:
        """An in-place statement on `x`."""
        if t.dtype == torch.bool:
            return self.pick([f"{x}.logical_not_()", f"{x}.zero_()", f"{x}.fill_(True)"])
        if not t.is_floating_point():
            return self.pick(
                [f"{x}.add_(1)", f"{x}.mul_(2)", f"{x}.zero_()", f"{x}.clamp_(0, 3)", f"{x}.remainder_(5)"]
            )
        y = self.partner(x)
        if y == x or y == "_":
            y = self.number()
        n = self.number()
        texts = [
            f"{x}.add_({y})",
            f"{x}.add_({y}, alpha={n})" if y in self.env else f"{x}.sub_({n})",
            f"{x}.mul_({y})",
            f"{x}.mul_({n})",
            f"{x}.copy_({y})" if y in self.env else f"{x}.fill_({n})",
            f"{x}.zero_()",
            f"{x}.clamp_(-0.8, 0.9)",
            f"{x}.tanh_()",
            f"{x}.sigmoid_()",
            f"{x}.relu_()",
            f"{x}.neg_()",
            f"{x}.addcmul_({y}, {self.partner(x)}, value={n})" if y in self.env else f"{x}.exp_()",
            f"{x}.lerp_({y}, 0.3)" if y in self.env else f"{x}.abs_()",
        ]
        mask = self.where(lambda m: m.dtype == torch.bool)
        if mask is not None:
            texts += [f"{x}.masked_fill_({mask}, {n})"]
        if 0 not in self.env[x].stride():  # of expanded tensors it is deprecated
            texts += [f"{x}[{x} {self.pick(COMPARE)} {n}] = {self.number()}", f"{x}[{x} < 0] = {x}.max()"]
            texts += [f"{x}[{mask}] = {n}"] if mask is not None else []
        return self.pick(texts).replace("(_)", f"({n})")

    def grad_free(self) -> str | None:
        """A write outside the history: into a buffer, or into a parameter's data."""
        x = self.where(lambda t: t.is_floating_point())
        buffer = self.where(lambda t: t.is_floating_point() and not t.requires_grad)
        if x is None or buffer is None or buffer in self.fixed:
            return None
        shape = self.env[buffer].shape
        if self.env[x].shape != shape:
            return f"!{buffer}.mul_(0.9).add_({x}.detach().mean(), alpha=0.1)"
        return f"!{buffer}.mul_(0.9).add_({x}.detach(), alpha=0.1)"

    # ------------------------------------------------------------------------------------------- types

    def convert(self) -> str | None:
        x = self.where(lambda t: True)
        if x is None:
            return None
        t = self.env[x]
        if t.is_floating_point():
            kinds = ["real", "torch.float64", "real", "low"]
            if x in self.exact:
                kinds += ["torch.int64", "torch.bool"]
            kind = self.pick(kinds)
            # in float64 alone all of these are one type, and without a copy the result would be `x` itself
            copies = t.dtype != _FLOATS.get(kind, t.dtype)
            return f"{x}.to({kind}{', copy=True' if copies else ''})"
        return f"{x}.to({self.pick(['real', 'torch.int64', 'real', 'torch.float64', 'torch.uint8', 'torch.int32', 'torch.bool'])})"

    def compare(self) -> str | None:
        x = self.exactly(lambda t: True)
        if x is None:
            return None
        y = self.exactly(lambda t: True) if self.chance(0.4) else None
        kind = self.rng.random()
        if self.env[x].is_floating_point() and kind < 0.1:
            name = self.pick(["isnan", "isfinite", "isinf", "signbit"])
            return f"{x}.nan_to_num().signbit()" if name == "signbit" else f"{x}.{name}()"  # nan's sign is anything
        if self.env[x].dtype == torch.bool and kind < 0.5:
            return f"~{x}"
        return f"{x} {self.pick(COMPARE)} {y or self.number()}"

    def integer(self) -> str | None:
        x = self.integral()
        if x is None:
            shape = self.shape(most=300)
            return f"{self.leaf('arg', f'integers(9, {_list(shape)})')} + 1"
        kind = self.rng.random()
        if kind < 0.3:
            return f"{x} {self.pick(INTEGER)} {self.rng.integers(1, 5)}"
        if kind < 0.6:
            y = self.partner(x, lambda t: t.dtype in (torch.int64, torch.uint8, torch.int32, torch.bool))
            return f"{x} {self.pick(['+', '-', '*', '&', '|', '^'])} {y}"
        return self.pick(
            [f"{x}.sum()", f"{x}.clamp(1, 4)", f"{x}.abs()", f"{x}.cumsum(0)", f"{x}.max()", f"{x}.prod()"]
        )


def _list(shape: Any) -> str:
    return ", ".join(str(int(n)) for n in shape)
