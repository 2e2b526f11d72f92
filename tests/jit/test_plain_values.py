"""Scripts on numbers, texts, lists and dictionaries: the text is torch 2.13's, and files give what Python gives."""

import io

import pytest

import rushlight as torch
from rushlight import nn


def view_of_product(x: torch.Tensor) -> torch.Tensor:
    b, c = x.shape
    return x.view(b * c)


def counts(names: list[str]) -> dict[str, int]:
    d: dict[str, int] = {}
    for i, name in enumerate(names):
        d[name] = i
    return d


def words(s: str) -> str:
    parts = s.split(",")
    return ";".join(parts).replace("a", "b").lower() + str(3) + s[0] + s[1:]


def starts(s: str) -> bool:
    return s.startswith("a") or s.strip() in ["b"]


def number(x: torch.Tensor) -> float:
    a = x.sum().item()
    if a > 2:
        return float(a * 2)
    return a


def changed(v: list[int]) -> int:
    v.insert(0, 5)
    v.remove(3)
    v.sort()
    w = sorted(v)
    return v[0] * 100 + w.index(5) + v.count(2)


def sizes(a: float) -> float:
    return abs(a) + abs(-3)


def perhaps(x: torch.Tensor) -> torch.Tensor | None:
    if x.sum() > 1000:
        return x
    return None


CASES = [
    (view_of_product, torch.arange(6.0).view(2, 3), "torch.view(x, [torch.mul(b, c)])"),
    (counts, ["p", "q"], "d = annotate(Dict[str, int], {})"),
    (words, "A,b", '_0 = torch.replace(torch.join(";", parts), "a", "b")'),
    (starts, " b", "if torch.startswith(s, \"a\"):"),
    (number, torch.ones(3), "_0 = float(torch.mul(a, 2))"),
    (changed, [1, 2, 3], "  torch.insert(v, 0, 5)\n  torch.remove(v, 3)\n  torch.sort(v)\n  w = sorted(v)\n"),
    (sizes, -2.5, "return torch.add(ops.prim.abs(a), 3)"),
    (perhaps, torch.ones(2), "    _0 : Optional[Tensor] = x\n"),
]  # fmt: skip


@pytest.mark.parametrize(("f", "given", "line"), CASES, ids=[f.__name__ for f, _, _ in CASES])
def test_text_and_file(f, given, line):
    program = torch.jit.script(f)
    assert line in program.code
    loaded = torch.jit.load(io.BytesIO(program.save_to_buffer()))

    def copied():
        return list(given) if isinstance(given, list) else given

    expected, found = f(copied()), loaded(copied())
    same = torch.equal(found, expected) if isinstance(expected, torch.Tensor) else found == expected
    assert same and type(found) is type(expected)
    assert line.strip().replace("annotate(Dict[str, int], {})", "") in loaded.code


def first_above(v: list[int], k: int) -> int:
    for i, a in enumerate(v):
        if a > k:
            return i
    return -1


def pair(n: int, k: int) -> int:
    for i in range(n):
        for j in range(n):
            if i * j + i >= k:
                return i * 10 + j
    return -1


def row(x: torch.Tensor, k: int) -> torch.Tensor:
    for r in x:
        if bool(r.sum() > k):
            return r
    return x[0]


def doubled(n: int, k: int) -> int:
    i = 1
    while i < n:
        i *= 2
        if i == k:
            return -i
    return i


def sum_up_to(v: list[int], k: int) -> int:
    s = 0
    for a in v:
        if a == 2:
            continue
        if a > k:
            break
        s += a
    return s


@pytest.mark.parametrize(
    ("f", "calls"),
    [
        (first_above, [([1, 4, 9], 3), ([1, 4, 9], 20), ([], 1)]),
        (pair, [(3, 4), (3, 0), (3, 99)]),
        (row, [(torch.arange(6.0).view(3, 2), 3), (torch.arange(6.0).view(3, 2), 99)]),
        (doubled, [(100, 16), (100, 5)]),
        (sum_up_to, [([1, 2, 3, 9, 4], 5), ([2, 2], 1)]),
    ],
)
def test_loops_that_are_left(f, calls):
    loaded = torch.jit.load(io.BytesIO(torch.jit.script(f).save_to_buffer()))
    for call in calls:
        assert str(loaded(*call)) == str(f(*call))


def test_schemas_of_scripts():
    def f(x: torch.Tensor, k: int = 2, name: str = "z") -> tuple[torch.Tensor, int]:
        return x * k, k

    schema = torch.jit.script(f).schema
    assert str(schema) == 'f(Tensor x, int k=2, str name="z") -> ((Tensor, int))'
    assert [a.name for a in schema.arguments] == ["x", "k", "name"] and schema.arguments[1].default_value == 2
    forward = torch.jit.script(Marked()).forward.schema
    assert str(forward).startswith("forward(__torch__.") and str(forward).endswith("Marked self, Tensor x) -> Tensor")


class Marked(nn.Module):
    @torch.jit.unused
    def rare(self, x: torch.Tensor) -> torch.Tensor:
        return x + 100

    @torch.jit.ignore
    def python(self, x: torch.Tensor) -> torch.Tensor:
        return x + 5

    def forward(self, x):
        if x.sum() > 1000:
            return self.rare(x)
        return self.python(x)


class Unused(Marked):
    def forward(self, x):
        if x.sum() > 1000:
            return self.rare(x)
        return x


def test_what_is_ignored_stays_python_and_what_is_unused_raises_in_a_file():
    program = torch.jit.script(Marked())
    assert torch.equal(program(torch.ones(2)), torch.full((2,), 6.0))
    assert "^python()(self, x)" in program.code and "ops.prim.RaiseException(" in program.code
    with pytest.raises(RuntimeError, match="Could not export Python function call 'python'"):
        program.save_to_buffer()
    loaded = torch.jit.load(io.BytesIO(torch.jit.script(Unused()).save_to_buffer()))
    assert torch.equal(loaded(torch.ones(2)), torch.ones(2))
    with pytest.raises(RuntimeError, match="annotated to be ignored and cannot be run"):
        loaded(torch.full((2,), 1000.0))
