"""The mend as a diff of the program, where it can be said exactly: a change of a few lines, in the program's own names.

A rule edits the lines of one file. What it gives is shown only if the result is Python; the tests run each mended program of
their corpus and expect that the finding is gone.
"""

from __future__ import annotations

import ast
import difflib
import linecache
import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from ..idle import idle_at
from ..places import Place, enclosing_if, parsed, place_at_line, statements_at

if TYPE_CHECKING:
    from ..findings import Finding

__all__ = ["Edit", "edit_of", "mended"]

_TENSOR_METHODS = frozenset(("mean", "sum", "abs", "sqrt", "squeeze", "max", "min", "norm"))
_NAMED = r"[\w.]+(?:\[[\w\"']+\])*"  # `self.optimizers["g"]`


class Edit:
    """A change of one file. lines: its lines as they are."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines = [line.rstrip("\n") for line in linecache.getlines(file)]
        self.instead: dict[int, list[str]] = {}  # by the number of the line, from 1

    def replace(self, place: Place, *lines: str) -> Edit:
        """Other lines for a statement: none takes it away."""
        first, last = place.extent
        self.instead.update({number: [] for number in range(first, last + 1)})
        self.instead[first] = list(lines)
        return self

    def before(self, place: Place, *lines: str) -> Edit:
        """New lines in front of a statement."""
        first = place.extent[0]
        self.instead[first] = [*lines, *self.instead.get(first, [self.lines[first - 1]])]
        return self

    def after(self, place: Place, *lines: str) -> Edit:
        """New lines after a statement."""
        last = place.extent[1]
        self.instead[last] = [*self.instead.get(last, [self.lines[last - 1]]), *lines]
        return self

    @property
    def new(self) -> list[str]:
        """The lines of the file as they are to be."""
        return [new for number, line in enumerate(self.lines, 1) for new in self.instead.get(number, [line])]

    def diff(self) -> list[str]:
        """Lines with '+', '-' or ' ' in front, each change with the line before and after it; '@' between two places."""
        hunks = difflib.unified_diff(self.lines, self.new, n=1, lineterm="")
        shown = ["@" if line.startswith("@@") else line for line in list(hunks)[3:]]
        while shown and not shown[0].strip():
            del shown[0]
        while shown and not shown[-1].strip():
            del shown[-1]
        return shown


def edit_of(finding: Finding) -> Edit | None:
    """What to change; None where no rule says it, or where its result would be no Python."""
    if not finding.place.text:
        return None  # there is no source
    rule = _RULES.get(finding.check) if idle_at(finding.place) is None else _done
    edit = None if rule is None else rule(finding)
    if edit is None or edit.new == edit.lines or not _is_python("\n".join(edit.new)):
        return None
    return edit


def mended(finding: Finding) -> list[str]:
    """The lines of the diff; none where the mend cannot be said as one."""
    edit = edit_of(finding)
    return [] if edit is None else edit.diff()


@cache
def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


# ------------------------------------------------------------------------------------------------- what rules ask


def _text(place: Place) -> str:
    """A statement's lines."""
    first, last = place.extent
    return "\n".join(linecache.getline(place.code.co_filename, n).rstrip("\n") for n in range(first, last + 1))


def _indent(place: Place) -> str:
    code = _text(place)
    return code[: len(code) - len(code.lstrip())]


def _related(finding: Finding, role: str) -> Place | None:
    return next((r.place for r in finding.related if r.role.startswith(role) and r.place.text), None)


def _stepped(place: Place, called: str = "") -> str | None:
    """The name of the optimizer whose step a statement takes. called: which, where it takes several, without `self.`."""
    found = re.findall(rf"({_NAMED})\.step\(({_NAMED})?", _text(place))
    names = [given if given and "scale" in owner.lower() else owner for owner, given in found]
    return next((n for n in names if n == called or n.endswith(f".{called}")), names[0] if names else None)


def _moves_with(a: Place, b: Place) -> bool:
    """Whether two statements are in one function, file and block, as far as their indentation says it."""
    return a.code is b.code and _indent(a) == _indent(b)


def _replaced(finding: Finding, pattern: str, new: str, count: int = 1) -> Edit | None:
    """The statement with one text replaced."""
    place = finding.place
    changed, times = re.subn(pattern, new, _text(place), count=count)
    return Edit(place.code.co_filename).replace(place, *changed.split("\n")) if times else None


def _with(place: Place, node: ast.AST, new: str) -> Edit:
    """The statement with the text of an expression replaced."""
    edit = Edit(place.code.co_filename)
    first, last = node.lineno, node.end_lineno  # type: ignore[attr-defined]
    head = edit.lines[first - 1].encode()[: node.col_offset].decode()  # type: ignore[attr-defined]
    tail = edit.lines[last - 1].encode()[node.end_col_offset :].decode()  # type: ignore[attr-defined]
    edit.instead = {number: [] for number in range(first, last + 1)}
    edit.instead[first] = (head + new + tail).split("\n")
    return edit


def _source(place: Place, node: ast.AST) -> str:
    return ast.get_source_segment("\n".join(Edit(place.code.co_filename).lines), node) or ast.unparse(node)


def _calls(place: Place, *names: str) -> list[ast.Call]:
    """The calls of functions or methods of these names in a statement, none if a compound one is meant."""
    found = []
    for statement in statements_at(place)[-1:]:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and place.line <= node.lineno <= place.end_line:
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if name in names:
                    found.append(node)
    return found


# ------------------------------------------------------------------------------------------------- rules


def _done(finding: Finding) -> Edit | None:
    """A method that is only named is called; a result that is dropped is kept under the name of the value it was made of."""
    place, idle = finding.place, idle_at(finding.place)
    statement = statements_at(place)[-1]
    if idle is None or not isinstance(statement, ast.Expr) or idle.name in ("no_grad", "inference_mode"):
        return None
    source = _source(place, statement)
    if not idle.is_called:
        return _with(place, statement, f"{source}()")
    return _with(place, statement, f"{idle.owner} = {source}") if re.fullmatch(_NAMED, idle.owner) else None


def _stale(finding: Finding) -> Edit | None:
    """Clear before the backward; where the step is taken for several of them, or elsewhere, after the step."""
    step, backward = _related(finding, "the step"), finding.place
    if step is None:
        return None
    said = re.search(rf": ({_NAMED})\.zero_grad\(\)$", finding.mend)
    name = _stepped(step, said[1] if said else "")
    if name is None:
        return _stale_by_hand(step)
    clear = f"{name}.zero_grad()"
    branch = enclosing_if(step)
    closure = re.search(r"\.step\(\w", _text(step)) is not None
    if step.code is backward.code and not (branch is not None and _indent(step) != _indent(backward)) and not closure:
        return Edit(backward.code.co_filename).before(backward, _indent(backward) + clear)
    return Edit(step.code.co_filename).after(step, _indent(step) + clear)


def _stale_by_hand(step: Place) -> Edit | None:
    """`a -= lr * a.grad` and the statements next to it that do the same: clear them all after the last."""
    edit = Edit(step.code.co_filename)
    update = re.compile(
        rf"{_indent(step)}({_NAMED}?)(\.data)?(?: ?[-+]?= ?|\.(?:add|sub|copy)_\()[^;]*\b\1\.grad\b[^;]*$"
    )
    first = last = step.line
    while first > 1 and update.match(edit.lines[first - 2]):
        first -= 1
    while last < len(edit.lines) and update.match(edit.lines[last]):
        last += 1
    found = [update.match(line) for line in edit.lines[first - 1 : last]]
    names = [m[1] for m in found if m is not None and not _is_cleared(step, m[1])]
    cleared = [f"{_indent(step)}{name}.grad = None" for name in names]
    return edit.after(place_at_line(step, last), *cleared) if cleared else None


def _stale_other(finding: Finding) -> Edit | None:
    step, place = _related(finding, "the step"), finding.place
    name = None if step is None or step.code is not place.code else _stepped(step)
    return None if name is None else Edit(place.code.co_filename).before(place, f"{_indent(place)}{name}.zero_grad()")


def _moved(role: str, to: str) -> Callable[[Finding], Edit | None]:
    """Move the statement before or after the one that has a role."""

    def rule(finding: Finding) -> Edit | None:
        place, other = finding.place, _related(finding, role)
        if other is None or not _moves_with(place, other):
            return None
        edit = Edit(place.code.co_filename).replace(place)
        lines = _text(place).split("\n")
        return edit.before(other, *lines) if to == "before" else edit.after(other, *lines)

    return rule


def _zero_after_step(finding: Finding) -> Edit | None:
    place, step = finding.place, _related(finding, "the step")
    if step is None or step.code is not place.code:
        return None
    return Edit(place.code.co_filename).replace(place).after(step, _indent(step) + _text(place).strip())


def _divided(finding: Finding) -> Edit | None:
    found = re.search(r"divided by (\d+)", finding.message)
    if found is None:
        return None
    scaled = _replaced(finding, rf"\.scale\(({_NAMED})\)\.backward", rf".scale(\1 / {found[1]}).backward")
    return scaled or _replaced(finding, rf"(?<![\w.)\]])({_NAMED})\.backward\(", rf"(\1 / {found[1]}).backward(")


def _unscaled(finding: Finding) -> Edit | None:
    place = finding.place
    scaler = re.search(rf"({_NAMED})\.scale\(", _text(finding.related[0].place)) if finding.related else None
    if scaler is None:
        return None
    rest = "\n".join(Edit(place.code.co_filename).lines[place.end_line :])
    stepped = re.search(rf"{re.escape(scaler[1])}\.step\(({_NAMED})\)", rest)
    if stepped is None:
        return None
    unscale = f"{scaler[1]}.unscale_({stepped[1]})"
    if finding.message.startswith("this"):  # a limit by hand, in a loop over the tensors
        backward = finding.related[0].place
        return Edit(backward.code.co_filename).after(backward, _indent(backward) + unscale)
    return Edit(place.code.co_filename).before(place, _indent(place) + unscale)


def _uncut(finding: Finding) -> Edit | None:
    if re.search(r"\.numpy\(|requires_grad|\.item\(|Variable\(", _text(finding.place)):
        return None  # without the cut these raise, or cut again
    return _replaced(finding, r"\.detach\(\)|\.data\b", "")


def _rebound(finding: Finding) -> Edit | None:
    """`w = w - lr * w.grad` as a write into `w`, whose gradient then has to be cleared."""
    place = finding.place
    code = _text(place).partition("  #")[0].rstrip()
    found = re.fullmatch(rf"(\s*)({_NAMED}) = \2 ([-+]) (.+)", code)
    if found is None:
        return None
    indent, name, sign, rest = found.groups()
    lines = [f"{name} {sign}= {rest}"]
    if not _is_cleared(place, name):
        lines.append(f"{name}.grad = None")
    if not _is_without_grad(place):
        lines = ["with torch.no_grad():", *(f"    {line}" for line in lines)]
    return Edit(place.code.co_filename).replace(place, *(indent + line for line in lines))


def _is_cleared(place: Place, name: str) -> bool:
    """Whether the program clears the gradient of `name` by itself, by a statement after this one."""
    tree = parsed(place.code.co_filename)
    return any(
        node.lineno > place.line and ast.unparse(node) in (f"{name}.grad.zero_()", f"{name}.grad = None")
        for node in (ast.walk(tree) if tree is not None else ())
        if isinstance(node, (ast.Expr, ast.Assign))
    )


def _is_without_grad(place: Place) -> bool:
    """Whether a `with torch.no_grad():` is around a statement."""
    tree = parsed(place.code.co_filename)
    return any(
        isinstance(node, ast.With) and node.lineno < place.line <= (node.end_lineno or 0)
        and any("no_grad" in ast.unparse(item.context_expr) for item in node.items)
        for node in (ast.walk(tree) if tree is not None else ())
    )  # fmt: skip


def _without_grad(finding: Finding) -> Edit | None:
    place = finding.place
    text = _text(place)
    if '"""' in text or "'''" in text or re.match(r"\s*(return|for|while|if|elif|with)\b", text):
        return None
    inner = [f"    {line}" for line in text.split("\n")]
    return Edit(place.code.co_filename).replace(place, f"{_indent(place)}with torch.no_grad():", *inner)


def _graph_created(finding: Finding) -> Edit | None:
    for call in _calls(finding.place, "grad"):
        source = _source(finding.place, call)
        if "create_graph" in source:
            new = re.sub(r"create_graph\s*=\s*\w+", "create_graph=True", source)
        else:
            inside = source[:-1].rstrip()
            gap = source[len(inside) : -1]
            new = f"{inside}{' ' if inside.endswith(',') else ', '}create_graph=True{gap})"
        return _with(finding.place, call, new)
    return None


def _kept_detached(finding: Finding) -> Edit | None:
    """`losses.append(loss)`, `total += loss`, `total = 0.9 * total + 0.1 * loss`: the one tensor of it detached."""
    place = finding.place
    for statement in statements_at(place)[-1:]:
        target, value = "", None
        if isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call) and len(call.args) == 1:
            value = call.args[0]
        elif isinstance(statement, ast.AugAssign):
            value = statement.value
        elif isinstance(statement, ast.Assign):
            target, value = ast.unparse(statement.targets[0]), statement.value
        tensors = [] if value is None else [n for n in _operands(value) if ast.unparse(n) != target]
        if len(tensors) == 1:
            return _with(place, tensors[0], f"{_source(place, tensors[0])}.detach()")
    return None


def _operands(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, ast.BinOp):
        return _operands(value.left) + _operands(value.right)
    if isinstance(value, ast.Constant):
        return []
    method = (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _TENSOR_METHODS
    )
    return [value] if method or isinstance(value, (ast.Name, ast.Attribute)) else [value, value]  # the latter: unclear


def _frozen(finding: Finding) -> Edit | None:
    if finding.mend.startswith("the name is"):
        return _replaced(finding, rf"\.{finding.message.split()[0]}\b", ".requires_grad")
    if finding.mend.startswith("set it"):
        return _replaced(finding, r"\.requires_grad (?:==|is) (True|False)", r".requires_grad = \1")
    if finding.mend.startswith("call the method"):
        return _replaced(finding, r"\.requires_grad = (True|False)", r".requires_grad_(\1)")
    found = re.search(r"([\w.]+)\.requires_grad(?:_\(| = )False", _text(finding.place))
    place = finding.place
    return (
        None if found is None else Edit(place.code.co_filename).after(place, f"{_indent(place)}{found[1]}.grad = None")
    )


def _out_of_place(finding: Finding) -> Edit | None:
    """`x += 1` as `x = x + 1`, `x.clamp_(0)` as `x = x.clamp(0)`."""
    place = finding.place
    for statement in statements_at(place)[-1:]:
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
            operator = ast.unparse(ast.BinOp(ast.Name("a"), statement.op, ast.Name("b")))[1:-1]
            value = _source(place, statement.value)
            value = f"({value})" if isinstance(statement.value, ast.BinOp) else value
            return _with(place, statement, f"{name} = {name}{operator}{value}")
        call = statement.value if isinstance(statement, ast.Expr) else None
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
        ):
            name, method = call.func.value.id, call.func.attr
            if method.endswith("_") and not method.startswith("_"):
                rest = _source(place, call)[len(name) + len(method) + 1 :]
                return _with(place, statement, f"{name} = {name}.{method[:-1]}{rest}")
    return None


def _plain(finding: Finding, *names: str) -> Edit | None:
    """Without the call of an activation: its input as it is."""
    calls = _calls(finding.place, *names)
    if len(calls) != 1 or not isinstance(calls[0].func, ast.Attribute):
        return None
    call, owner = calls[0], _source(finding.place, calls[0].func.value)  # type: ignore[union-attr]
    inner = call.args[0] if re.fullmatch(r"F|torch|(torch\.)?(nn\.)?functional|torch\.special", owner) else None
    return _with(finding.place, call, owner if inner is None else _source(finding.place, inner))


def _activation(finding: Finding) -> Edit | None:
    if "probs=" in finding.mend:
        return _replaced(finding, r"\blogits=", "probs=")
    if "log_softmax for" in finding.mend or "log_softmax here" in finding.mend:
        return _replaced(finding, r"\bsoftmax\(", "log_softmax(")
    return _plain(finding, "sigmoid") if "as they are" in finding.mend else None


def _over_dimension(f: Finding, dim: str) -> Edit | None:
    return _replaced(f, r"dim=0", f"dim={dim}") or _replaced(f, r"softmax\((.*), 0\)", rf"softmax(\1, {dim})")


_RULES: dict[str, Callable[[Finding], Edit | None]] = {
    "stale-grad": _stale,
    "stale-grad-other-net": _stale_other,
    "zeroed-before-step": _moved("the step", "after"),
    "zero-in-window": _zero_after_step,
    "clip-after-step": _moved("the step", "before"),
    "scheduler-order": _moved("the optimizer's step", "after"),
    "unscaled-accumulation": _divided,
    "no-grad-path": _uncut,
    "leaf-rebound": _rebound,
    "clip-scaled": _unscaled,
    "missing-no-grad": _without_grad,
    "retain-graph-needless": lambda f: _replaced(f, r",?\s*retain_graph=True", ""),
    "missing-create-graph": _graph_created,
    "graph-leak": _kept_detached,
    "frozen-wrongly": _frozen,
    "inplace-modified": _out_of_place,
    "dataset-changed": _out_of_place,
    "double-softmax": lambda f: _plain(f, "softmax"),
    "wrong-activation": _activation,
    "softmax-over-batch": lambda f: _over_dimension(f, "-1" if "last dimension" in f.mend else "1"),
}
