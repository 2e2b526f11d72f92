"""Statements that name what is to be done and do not do it: `optimizer.zero_grad` without a call, `h.detach()` of which nothing is kept.

A check sees what follows from such a statement. The user edits the statement itself, so that is where the finding is told.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from .places import Place, files_of_program, is_in_function_of, parsed, place_in_file, statements_at

__all__ = ["Idle", "compared_flags", "idle_at", "idle_for", "idle_statements", "misspelt_flags", "only_named"]

_SHAPES = ("squeeze", "unsqueeze", "view", "view_as", "reshape", "flatten", "t", "transpose", "permute", "expand_as")

_EXPLAINS: dict[str, tuple[str, ...]] = {
    "stale-grad": ("zero_grad",),
    "stale-grad-other-net": ("zero_grad",),
    "step-without-grad": ("backward",),
    "missing-eval": ("eval",),
    "train-not-restored": ("train",),
    "missing-no-grad": ("no_grad", "inference_mode"),
    "no-grad-path": ("requires_grad_", "requires_grad"),
    "double-backward": ("detach", "detach_"),
    "graph-leak": ("detach", "detach_", "item"),
    "fake-not-detached": ("detach", "detach_"),
    "unscaled-accumulation": ("/", "div"),
    "loss-broadcast": _SHAPES,
    "inplace-modified": ("clone", "detach", "detach_"),
    "dataset-changed": ("clone", "copy"),
    "clip-scaled": ("unscale_",),
    "step-scaled": ("unscale_",),
    "exploding": ("clip_grad_norm_", "clip_grad_value_"),
    "nan-inf-grad": ("clamp", "clamp_min"),
    "wrong-activation": ("log_softmax", "softmax", "sigmoid"),
    "scheduler-never-stepped": ("step",),
}
"""By check: the methods of which it is the consequence that they were not called, or that their result was dropped."""

_ALL = {name for names in _EXPLAINS.values() for name in names}
# Calls of these have an effect, or are for a look.
_ACTS = re.compile(r".+_|backward|step|zero_grad|train|eval|item|copy")
_MODES = ("no_grad", "inference_mode")
_STATEMENT = re.compile(
    rf"^[ \t]*[\w.()\[\]\"']*\.?\b({'|'.join(map(re.escape, _ALL - {'/'}))})\b|^[ \t]*[\w.]+ / ", re.MULTILINE
)


_COMPARED = re.compile(r"\.requires_grad (==|is) ")
_MISSPELT = re.compile(r"\.(requires?_?grads?|required_grads?|requires?_gradients?)\b(?<!\.requires_grad)")


class Idle(NamedTuple):
    """A statement without an effect. owner: whose method, as it is written; name: the method; is_called: its result is dropped."""

    line: int
    owner: str
    name: str
    is_called: bool

    def message(self, text: str) -> str:
        """The first half of a sentence about the statement, whose text this is."""
        if self.name in _MODES:
            return f"{text} is no region without a `with`, and changes nothing"
        if self.is_called:
            return f"the result of {text} is dropped here, and {self.owner} stays as it was"
        return f"{text} is only named here, and not called"

    def mend(self, text: str) -> str:
        """What to write instead."""
        if self.name in _MODES:
            return f"with {text if self.is_called else text + '()'}: around what is not to be recorded"
        return f"{self.owner} = {text}" if self.is_called else f"call it: {text}()"


@cache
def idle_statements(file: str) -> tuple[Idle, ...]:
    """Those of a file."""
    if not _STATEMENT.search("".join(linecache.getlines(file))):
        return ()
    tree = parsed(file)
    found = (_idle(node) for node in (ast.walk(tree) if tree is not None else ()) if isinstance(node, ast.Expr))
    return tuple(idle for idle in found if idle is not None)


def _idle(statement: ast.Expr) -> Idle | None:
    value, line = statement.value, statement.lineno
    if isinstance(value, ast.Attribute) and value.attr in _ALL:
        return Idle(line, ast.unparse(value.value), value.attr, False)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
        return Idle(line, ast.unparse(value.left), "/", True)
    if not isinstance(value, ast.Call):
        return None
    if isinstance(value.func, ast.Name) and value.func.id in _MODES:
        return Idle(line, "", value.func.id, True)
    if isinstance(value.func, ast.Attribute) and value.func.attr in _ALL and not _ACTS.fullmatch(value.func.attr):
        return Idle(line, ast.unparse(value.func.value), value.func.attr, True)
    return None


def only_named(method: str, like: Place) -> Place | None:
    """The first statement of the program that names a method and does not call it."""
    for file in files_of_program(like.code.co_filename):
        for idle in idle_statements(file):
            if idle.name == method and not idle.is_called:
                return place_in_file(like, file, idle.line)
    return None


def compared_flags(like: Place) -> list[tuple[Place, str]]:
    """The statements of the program that only compare a flag, `p.requires_grad == False`: (place, what is compared)."""
    return [
        (place_in_file(like, file, node.lineno), ast.unparse(node.value.left))
        for file, node in _statements_with(_COMPARED, like)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Compare)
        and isinstance(node.value.left, ast.Attribute)
        and node.value.left.attr == "requires_grad"
    ]


def misspelt_flags(like: Place) -> list[tuple[Place, str]]:
    """The assignments of the program to an attribute that is nearly called `requires_grad`: (place, its name)."""
    return [
        (place_in_file(like, file, node.lineno), target.attr)
        for file, node in _statements_with(_MISSPELT, like)
        if isinstance(node, ast.Assign)
        and isinstance(target := node.targets[0], ast.Attribute)
        and _MISSPELT.fullmatch(f".{target.attr}")
    ]


def _statements_with(pattern: re.Pattern[str], like: Place) -> Iterator[tuple[str, ast.stmt]]:
    """The statements, with their file, of those files of the program in which there is a pattern."""
    for file in files_of_program(like.code.co_filename):
        tree = parsed(file) if pattern.search("".join(linecache.getlines(file))) else None
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.stmt):
                yield file, node


def idle_at(place: Place) -> Idle | None:
    """What is idle about the statement at a place."""
    here = [n for n in statements_at(place) if isinstance(n, ast.Expr)]
    return _idle(here[-1]) if here else None


def idle_for(check: str, place: Place, others: Iterable[Place], owner: str = "") -> tuple[Place, Idle] | None:
    """The idle statement that a check's suspicion comes from, and what it is; None where there is none.

    others: the other places of the suspicion. owner: whose method it has to be, '' where that is not known. What drops a result has to be in
    the function of one of the places, and of a value that their statements have.
    """
    names, places = _EXPLAINS.get(check, ()), [place, *others]
    files = files_of_program(place.code.co_filename) if names else ()
    best: tuple[tuple[bool, bool, bool, int], Place, Idle] | None = None
    for file in files:
        for idle in idle_statements(file):
            if idle.name not in names or (owner and idle.owner != owner):
                continue
            like = next((p for p in places if p.code.co_filename == file and is_in_function_of(p, idle.line)), None)
            is_named = bool(idle.owner) and any(
                re.search(rf"(?<![\w.]){re.escape(idle.owner)}(?!\w)", _text(p)) for p in places
            )
            if idle.is_called and idle.name not in _MODES and not (like is not None and is_named):
                continue
            score = is_named, like is not None, file == place.code.co_filename, -abs(idle.line - place.line)
            if best is None or score > best[0]:
                best = score, place_in_file(like or place, file, idle.line), idle
    return None if best is None else best[1:]


def _text(place: Place) -> str:
    return "".join(linecache.getline(place.code.co_filename, n) for n in range(place.line, place.end_line + 1))
