"""The code, its messages and the pages use the words of the field, and name modules by the names that they have.

Each finding says the file, the line and what to write instead. A use that has to stay is in `ALLOWED`, with the reason.
"""

import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

from rushlight.torch._moved import MOVED

ROOT = Path(__file__).parents[2]
# pattern: what to write instead
PHRASES = {
    r"torch's words": "torch's message",
    r"anew": "again; reset, recompute, re-initialise",
    r"in rows": "C-contiguous",
    r"parts? from torch": "diverges from torch",
    r"nobody": "nothing, no one else, no other reference",
    r"who(ever)? asks": "the caller",
    r"somebody": "name the part: the caller, a hook, another process; or say it in the passive",
    r"has not got": "does not have",
    r"whoever listens": "the tracer, the listener",
    r"what stands for": "stand-in for",
    r"stands?(?!-in)": "is, represents, replaces, means, refers to",
    r"l(ie|ies|ay)": "is, is stored, is laid out, overlaps",
    r"shall": "should, must, may",
    r"apart": "separate, at a distance of; flattened",
    r"beside": "next to, with, against, besides",
    r"leaf of nobody": "a detached leaf",
    r"(first|second|third) sight": "the first, second, third time",
    r"specialised by text": "generated source",
    r"by falling time": "in reverse order of creation",
    r"used for a (text|decision)": "name the construct: an f-string, a comparison",
    r"a replay (would|could|cannot)": "the compiled program would, could, cannot",
}
IDENTIFIERS = {
    "IN_PASSES": "JIT_CANDIDATES",
    "program_from": "jit_min_elements",
    "program_after": "jit_warmup",
    "_DEAR": "cost",
    "askers": "overloaded_args",
    "may_look": "may_branch_on_data",
    "carry_out": "run_job",
}
# (file, text in the line): why it stays
ALLOWED = {
    ("rushlight/ops/index/scatter.py", "apart from dimension"): "torch's message",
    ("rushlight/compile/passes/layout.py", "to lay out again"): "the verb of `layout`",
    ("tools/house.py", ""): "the patterns that the figure counts",
    ("docs/decisions/", ""): "records of how things were, in the words of the day",
    ("docs/programs.md", "became `"): "files of third-party programs",
    ("docs/programs.md", "_source/"): "files of third-party programs",
    ("README.md", "Save this as `spirals.py`"): "a file that the reader makes",
    ("rushlight/torch/hub.py", "`hubconf.py`"): "a file of the hub's repositories",
}
PROSE = (
    "rushlight/**/*.py", "rushlight_vision/**/*.py", "acceptance/*.py", "benchmarks/*.py", "examples/*.py", "tools/*.py",
    "*.md", "docs/**/*.md",
)  # fmt: skip
CODE = (*PROSE, "tests/**/*.py")
HERE = Path(__file__).relative_to(ROOT).as_posix()


def paths(patterns):
    found = {p for pattern in patterns for p in ROOT.glob(pattern)}
    return sorted(p for p in found if "golden" not in p.parts and p.relative_to(ROOT).as_posix() != HERE)


@cache
def lines(path):
    return path.read_text().split("\n")


def prose(path):
    """(line number, text) of a page, or of the docstrings, comments and other strings of a Python file."""
    if path.suffix != ".py":
        yield from enumerate(lines(path), 1)
        return
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines(path))).readline):
        if token.type in kinds:
            yield from enumerate(token.string.split("\n"), token.start[0])


def is_allowed(name, line):
    return any(name.startswith(file) and text in line for file, text in ALLOWED)


def findings(table, patterns, texts):
    any_of_them = re.compile(rf"\b({'|'.join(table)})\b", re.IGNORECASE)
    for path in paths(patterns):
        name = path.relative_to(ROOT).as_posix()
        for number, text in texts(path):
            match = any_of_them.search(text)
            if match and not is_allowed(name, lines(path)[number - 1]):
                instead = next(say for p, say in table.items() if re.fullmatch(p, match[0], re.IGNORECASE))
                yield f"{name}:{number}: {match[0]!r}, write: {instead}"


def test_phrases():
    assert list(findings(PHRASES, PROSE, prose)) == []


def test_identifiers():
    assert list(findings(IDENTIFIERS, CODE, lambda path: enumerate(lines(path), 1))) == []


def test_modules_that_were_renamed():
    def is_there(old):
        path = ROOT / "rushlight" / old.replace(".", "/")
        return path.is_dir() or path.with_suffix(".py").exists()

    renamed = {old: new for old, new in MOVED.items() if "." in old and not is_there(old)}
    table = {f"rushlight.{old}": f"rushlight.{new}" for old, new in renamed.items()}
    table |= {f"{old.replace('.', '/')}.py": f"{new.replace('.', '/')}.py" for old, new in renamed.items()}
    found = []
    for path in paths(CODE):
        name = path.relative_to(ROOT).as_posix()
        for number, line in enumerate(lines(path), 1):
            for word in re.findall(r"[\w/]+\.py\b|\brushlight[\w.]+", line):
                if (instead := table.get(word.removeprefix("rushlight/"))) and not is_allowed(name, line):
                    found.append(f"{name}:{number}: {word} was renamed, write: {instead}")
    assert found == []


def test_files_that_are_named_exist():
    folders = ("rushlight", "rushlight_vision", "acceptance", "benchmarks", "examples", "tests", "tools")
    files = [p.relative_to(ROOT).parts for folder in folders for p in (ROOT / folder).rglob("*.py")]
    existing = {"/".join(parts[i:]) for parts in files for i in range(len(parts))}
    found = []
    for path in paths(("rushlight/**/*.py", "docs/*.md", "*.md")):
        name = path.relative_to(ROOT).as_posix()
        for number, text in prose(path):
            for named in re.findall(r"`([\w/]+\.py)`", text):
                if named not in existing and not is_allowed(name, text):
                    found.append(f"{name}:{number}: there is no {named}")
    assert found == []


@pytest.mark.parametrize(("file", "text"), ALLOWED)
def test_what_is_allowed_is_there(file, text):
    names = {p.relative_to(ROOT).as_posix(): p for p in paths(PROSE)}
    assert any(text in line for name, path in names.items() if name.startswith(file) for line in lines(path))


@pytest.mark.parametrize("text", ["Nobody reads it.", "raises with torch's words", "made anew", "where it lies"])
def test_a_phrase_is_found(text):
    assert any(re.search(rf"\b({pattern})\b", text, re.IGNORECASE) for pattern in PHRASES)


@pytest.mark.parametrize("text", ["a stand-in", "the layer understands", "besides", "particularly", "underlies"])
def test_a_plain_word_is_not(text):
    assert not any(re.search(rf"\b({pattern})\b", text, re.IGNORECASE) for pattern in PHRASES)
