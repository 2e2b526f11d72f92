"""Makes a program by running it under torch: each statement is filled in from the tensors that are alive.

A theme is a function over a `Program`. Its patterns are statements with places in braces, filled from left to right:

    {x} {f} {i} {b} {c} {m} {s}   a tensor: any, floating, integer, bool, complex, float matrix, square float matrix
    {r}                           a floating tensor that requires grad
    {same} {like}                 a new tensor of the last one's shape; one that broadcasts against it
    {dim} {dims} {size}           a dimension of the last tensor, some of them, the size of its last dimension
    {shape} {num} {k} {n} {bool}  a shape, a number, 0 to 3, 1 to 5, True or False
    {dtype} {fdtype}              a dtype; a floating one
    {a|b|c}                       one of these texts, which may hold places themselves

Braces of the program's own are written ⟨ and ⟩.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .execution import Session

__all__ = ["Ended", "Program"]

_PLACE = re.compile(r"\{([^{}]*)\}")
_TYPES = ["torch.float32"] * 5 + ["torch.float64", "torch.int64", "torch.int64", "torch.int32", "torch.bool", "torch.uint8",
    "torch.bfloat16", "torch.float16", "torch.int16", "torch.int8", "torch.complex64"]  # fmt: skip
_SHAPES = [
    "()",
    "(1,)",
    "(3,)",
    "(4,)",
    "(2, 3)",
    "(3, 3)",
    "(4, 1)",
    "(1, 3)",
    "(2, 3, 4)",
    "(2, 1, 3)",
    "(0,)",
    "(2, 0)",
    "(1, 2, 3, 2)",
]
_MISTAKE = 0.03
_WRITES, _NAME = re.compile(r"\w_\(|out=|\] *[-+*/]?= "), re.compile(r"\b[a-z]\d*\b")


class Ended(Exception):
    """A program has to end here: how things are now is torch's accident."""


class Program:
    """A program under way. `statements` and `outcomes` go together."""

    def __init__(self, torch: Any, seed: int, folder: Path) -> None:
        self.torch, self.seed = torch, seed
        self.random = random.Random(seed)
        self.session = Session(torch, seed, folder)
        self.statements: list[str] = []
        self.outcomes: list[dict[str, Any]] = []
        self.names: list[str] = []
        self.last: Any = None  # the tensor that was filled in last
        self.count = 0

    # ---------------------------------------------------------------------------------------- statements

    def do(self, pattern: str) -> bool:
        """Run a statement; whether it did not raise."""
        statement = self.fill(pattern)
        before, state = self._snapshot(statement), self.torch.get_rng_state()
        outcome = self.session.run(statement)
        if "raised" in outcome and (
            self._snapshot(statement) != before or not self.torch.equal(state, self.torch.get_rng_state())
        ):
            raise Ended  # torch has written or drawn a part before it raised
        self.statements.append(statement)
        self.outcomes.append(outcome)
        return "raised" not in outcome

    def _snapshot(self, statement: str) -> list[tuple]:
        """The tensors of the program that a statement which may write names."""
        if not _WRITES.search(statement):
            return []
        tensors = [self.session.space.get(name) for name in set(_NAME.findall(statement))]
        try:
            return [(list(t.shape), repr(t.tolist())) for t in tensors if isinstance(t, self.torch.Tensor)]
        except RuntimeError:  # memory that torch did not allocate after it had failed to resize
            raise Ended from None

    def let(self, pattern: str, prefix: str = "t") -> str | None:
        """Bind what an expression gives to a new name; None if it raised."""
        expression = self.fill(pattern)
        name = f"{prefix}{self.count}"
        self.count += 1
        if not self.do(_escape(f"{name} = {expression}")):
            return None
        if isinstance(self.value(name), self.torch.Tensor):
            self.names.append(name)
        return name

    def some(self, patterns: list[str], count: int, statement: bool = False) -> None:
        for _ in range(count):
            pattern = self.random.choice(patterns)
            if statement:
                self.do(pattern)
            else:
                self.let(pattern)

    def value(self, name: str) -> Any:
        return self.session.space[name]

    def choice(self, *options: Any) -> Any:
        return self.random.choice(options)

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    # ---------------------------------------------------------------------------------------- filling in

    def fill(self, pattern: str) -> str:
        while (found := _PLACE.search(pattern)) is not None:
            pattern = pattern[: found.start()] + self._place(found[1]) + pattern[found.end() :]
        return pattern.replace("⟨", "{").replace("⟩", "}")

    def _place(self, place: str) -> str:
        if "|" in place:
            return self.random.choice(place.split("|"))
        return _PLACES[place](self) if place in _PLACES else place

    def tensor(self, wanted: Callable[[Any], bool], make: str) -> str:
        """A living tensor, or a new one made by a pattern."""
        fit = [n for n in self.names[-12:] if isinstance(self.value(n), self.torch.Tensor) and wanted(self.value(n))]
        name = self.random.choice(fit) if fit and not self.chance(0.35) else self.let(make)
        assert name is not None
        self.last = self.value(name)
        return name

    def literal(self, shape: Any, dtype: str) -> str:
        """A new tensor with small values, some of them equal, in one of several layouts."""
        r, shape = self.random, tuple(shape)
        if dtype == "torch.bool":
            return f"torch.rand({shape}) > 0.5"
        if "int" in dtype:
            return f"torch.randint(0, {r.choice([3, 10, 100])}, {shape}, dtype={dtype})"
        text = r.choice([f"torch.randn({shape})", f"torch.rand({shape})", f"torch.randint(-3, 4, {shape}).float()"])
        if len(shape) > 1 and r.random() < 0.3:
            text = f"torch.randn({shape[::-1]}).permute({', '.join(map(str, range(len(shape))[::-1]))})"
        elif len(shape) and shape[0] and r.random() < 0.1:
            text = f"torch.randn({(shape[0] * 2, *shape[1:])})[::2]"
        if dtype == "torch.complex64":
            return f"torch.complex({text}, torch.randn({shape}))"
        return text if dtype == "torch.float32" else f"{text}.to({dtype})"

    def new_shape(self) -> tuple[int, ...]:
        return eval(self.random.choice(_SHAPES))

    def dim(self) -> str:
        n = self.last.dim() if self.last is not None else 2
        if self.chance(_MISTAKE):
            return str(n + self.random.randint(0, 2))
        return str(self.random.randint(-n, n - 1)) if n else self.random.choice(["0", "-1"])

    def dims(self) -> str:
        n = self.last.dim() if self.last is not None else 2
        chosen = self.random.sample(range(n), self.random.randint(0 if self.chance(0.1) else min(1, n), n))
        chosen = [d - n if self.chance(0.3) else d for d in chosen]
        return f"({', '.join(map(str, chosen))}{',' if len(chosen) == 1 else ''})"

    def like(self) -> str:
        """A shape that broadcasts against the last tensor's."""
        shape = tuple(self.last.shape) if self.last is not None else (2, 3)
        if self.chance(_MISTAKE):
            return str((*shape[:-1], 7))
        if self.chance(0.3):
            shape = tuple(1 if self.chance(0.4) else n for n in shape)
        return str(shape[self.random.randint(0, len(shape)) :] if self.chance(0.3) else shape)


def _number(p: Program) -> str:
    return p.random.choice(["2", "0.5", "-1.5", "3", "1", "0", "-2", "0.1", "1e-3", "True", "7.25"])


def _float(p: Program) -> str:
    kind = p.random.choices(["torch.float32", "torch.float64", "torch.bfloat16"], [8, 1, 1])[0]
    return p.literal(p.new_shape(), kind)


_PLACES: dict[str, Callable[[Program], str]] = {
    "x": lambda p: p.tensor(lambda t: True, _escape(p.literal(p.new_shape(), p.random.choice(_TYPES)))),
    "f": lambda p: p.tensor(lambda t: t.is_floating_point(), _escape(_float(p))),
    "i": lambda p: p.tensor(lambda t: not t.dtype.is_floating_point and not t.dtype.is_complex and t.dtype != p.torch.bool,
        _escape(p.literal(p.new_shape(), p.random.choice(["torch.int64", "torch.int32", "torch.uint8"])))),
    "b": lambda p: p.tensor(lambda t: t.dtype == p.torch.bool, _escape(p.literal(p.new_shape(), "torch.bool"))),
    "c": lambda p: p.tensor(lambda t: t.is_complex(), _escape(p.literal(p.new_shape(), "torch.complex64"))),
    "m": lambda p: p.tensor(lambda t: t.dim() == 2 and t.is_floating_point(), _escape(p.literal((p.random.randint(1, 4), p.random.randint(1, 4)), "torch.float32"))),
    "s": lambda p: p.tensor(lambda t: t.dim() == 2 and t.is_floating_point() and t.shape[0] == t.shape[1] and t.shape[0] > 0, "torch.randn(3, 3) + 3 * torch.eye(3)"),
    "r": lambda p: p.tensor(lambda t: t.is_floating_point() and t.requires_grad, _escape(f"({p.literal(p.new_shape(), 'torch.float32')}).requires_grad_()")),
    "same": lambda p: f"({p.literal(p.last.shape, p.random.choice(['torch.float32', 'torch.float32', _named(p.last.dtype)]))})",
    "like": lambda p: f"({p.literal(eval(p.like()), p.random.choice(['torch.float32', 'torch.float32', _named(p.last.dtype)]))})",
    "dim": Program.dim,
    "dims": Program.dims,
    "size": lambda p: str(p.last.shape[-1] if p.last is not None and p.last.dim() else 1),
    "shape": lambda p: str(p.new_shape()),
    "num": _number,
    "k": lambda p: str(p.random.randint(0, 3)),
    "n": lambda p: str(p.random.randint(1, 5)),
    "bool": lambda p: p.random.choice(["True", "False"]),
    "dtype": lambda p: p.random.choice(_TYPES),
    "fdtype": lambda p: p.random.choice(["torch.float32", "torch.float64", "torch.bfloat16", "torch.float16"]),
}  # fmt: skip


def _named(dtype: Any) -> str:
    kind = str(dtype)
    return (
        kind
        if "int" in kind or kind in ("torch.bool", "torch.float32", "torch.float64", "torch.complex64")
        else "torch.float32"
    )


def _escape(text: str) -> str:
    return text.replace("{", "⟨").replace("}", "⟩")
