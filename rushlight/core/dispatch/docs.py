"""Docstrings that follow from others: of the table's rows, of their in-place forms, of the same function under a second name.

The markup is a sentence, `Args:`, `Shape:`, `Raises:`, and examples; `tools/docstrings.py` reads it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import cleandoc
from textwrap import indent
from typing import Any

_HEADERS = ("Args:", "Shape:", "Raises:")
_RESULTS = {
    "unary": {
        "float": "input: a tensor. Integers and bools become the default float type.",
        "same": "input: a tensor, whose type is the result's.",
        "bool": "input: a tensor. The result is of bools.",
    },
    "binary": {
        "float": "other: a tensor or a number. Integers and bools become the default float type.",
        "same": "other: a tensor or a number. The result has the common type.",
        "bool": "other: a tensor or a number. The result is of bools.",
    },
}


def _split(doc: str) -> tuple[str, dict[str, str], str]:
    """The text before the blocks, the blocks by their headers, the examples; all indented by four columns but the first line."""
    parts = {"": ""}
    at = ""
    first, _, rest = cleandoc(doc).partition("\n")  # Python 3.13 takes the indentation from docstrings
    for line in (first, *indent(rest, "    ").rstrip().split("\n")):
        word = line.strip()
        if at != ">>>" and (word.startswith(">>> ") or word.split(" ")[0] in _HEADERS):
            at = word.split(" ")[0]
            parts[at] = ""
        parts[at] += line + "\n"
    return parts.pop("").rstrip(), parts, parts.pop(">>>", "").rstrip()


def _joined(text: str, blocks: dict[str, str], examples: str) -> str:
    body = "".join(blocks[h].rstrip() + "\n" for h in _HEADERS if blocks.get(h))
    return f"{text}\n\n{body}" + (f"\n{examples}\n" if examples else "") + "    "


def of_row(
    name: str, kind: str, promote: str, out: bool, doc: str, parameters: tuple[str, ...] = ("input", "other")
) -> str:
    """The docstring of a row: what it says itself, and of the blocks that it leaves out what holds of every such row.

    parameters: the names of the operands.
    """
    text, own, examples = _split(doc)
    shown = name.replace("special_", "special.")
    unary = kind == "unary"
    arguments = [] if unary else ["input: a tensor, broadcast against `other`."]
    arguments.append(_RESULTS[kind][promote])
    errors = [f"TypeError: `input` is not a tensor, as in `{shown}(0.5)`."] if unary else [
        f"RuntimeError: the shapes do not broadcast, as in `{shown}(ones(2), ones(3))`."
    ]  # fmt: skip
    for usual, own_name in zip(("input", "other"), parameters, strict=False):
        arguments, errors = (
            [re.sub(rf"^{usual}\b|(?<=`){usual}(?=`)", own_name, line) for line in lines]
            for lines in (arguments, errors)
        )
    if out:
        arguments.append("out: the tensor to write the result to.")
        if promote == "float":
            given = "ones(2)" if unary else "ones(2), ones(2)"
            errors.append(f"RuntimeError: `out` is of integers, as in `{shown}({given}, out=tensor([0, 0]))`.")
    blocks = {
        "Args:": "    Args:\n        " + "\n        ".join(arguments),
        "Shape:": "    Shape: (*) -> (*)" if unary else "    Shape: (*), (*) -> (*), broadcast",
        "Raises:": "    Raises:\n        " + "\n        ".join(errors),
    }
    return _joined(text, {**blocks, **own}, examples)


def of_inplace(name: str, kind: str, promote: str | None, differentiable: bool, doc: str) -> str:
    """The docstring of the method `name_`."""
    text = f"In-place form of `{name}`: the result is written into the tensor, which is returned."
    if kind == "binary":
        arguments = f"    Args:\n        other: as of `{name}`, and broadcasting to this tensor, whose type stays."
        return _joined(text, {"Args:": arguments, "Shape:": "    Shape: (*), other (*) -> (*)"}, "")
    if kind == "general":
        own = _written_into(_split(doc)[1])
        own.pop("Raises:", None)
        return _joined(text, own, "") if own else text
    errors = ["RuntimeError: the tensor is a leaf that requires grad, as in "
              f"`ones(2, requires_grad=True).{name}_()`."] if differentiable else []  # fmt: skip
    if promote == "float":
        errors.append(f"RuntimeError: the tensor is of integers, as in `tensor([1, 2]).{name}_()`.")
    blocks = {"Shape:": "    Shape: (*) -> (*)"}
    if errors:
        blocks["Raises:"] = "    Raises:\n        " + "\n        ".join(errors)
    head, _, shown = _split(doc)[2].partition("\n")
    call = head.strip().removeprefix(f">>> {name}(")
    is_simple = call != head.strip() and call.startswith("tensor([") and call.endswith("))") and call.count("(") == 1
    example = f"    >>> {call[:-1]}.{name}_()\n{shown}" if is_simple and ">>>" not in shown else ""
    return _joined(text, blocks, example)


def _written_into(blocks: dict[str, str]) -> dict[str, str]:
    """The blocks of a function in place: without `out`, and elementwise ones keep the shape."""
    own = dict(blocks)
    lines = [line for line in own.pop("Args:", "").rstrip().split("\n") if not line.strip().startswith("out: ")]
    shape = own.get("Shape:", "").strip()
    if shape.startswith("Shape: (*) -> (*)"):
        own["Shape:"] = "    Shape: (*) -> (*)"
    elif shape.startswith("Shape: (*), (*) -> (*)"):
        own["Shape:"] = "    Shape: (*), other (*) -> (*)"
    return {"Args:": "\n".join(lines), **own} if len(lines) > 1 else own


def like(other: Callable[..., Any], name: str, text: str, *, without: tuple[str, ...] = ()) -> str:
    """`text`, and what follows the first lines of the docstring of `other`, with its calls as calls of `name`.

    without: headers of blocks that do not hold of `name`; ">>>" for the examples.
    """
    _, blocks, examples = _split(other.__doc__ or "")
    if name.endswith("_"):
        blocks = _written_into(blocks)
    blocks = {header: block for header, block in blocks.items() if header not in without}
    body = _joined(text, blocks, "" if ">>>" in without else examples)
    for before in ("`", " ", "."):
        body = body.replace(f"{before}{other.__name__}(", f"{before}{name}(")
    return body
