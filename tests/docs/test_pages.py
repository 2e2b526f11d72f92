"""The Markdown pages are true: their Python blocks run as one script, and print what the `text` block below them shows."""

import os
import re
import subprocess
import sys
from codeop import compile_command
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MARK = "-- end of block --"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def blocks(page):
    """(language, index of the opening fence, index of the closing fence) of each fenced block, in order."""
    fence = None
    for i, line in enumerate(page.read_text().splitlines()):
        if not line.startswith("```"):
            continue
        if fence is None:
            fence = line[3:].strip(), i
        else:
            yield *fence, i
            fence = None
    assert fence is None, f"{page.name}: the block at line {fence[1] + 1} is not closed"


def examples(page):
    """[line, source, printed] of each Python block; `printed` is None where no `text` block follows it."""
    lines = page.read_text().splitlines()
    found, after = [], None
    for language, start, end in blocks(page):
        inside = "\n".join(lines[start + 1 : end])
        if language == "python":
            found.append([start + 1, inside, None])
            after = end
        elif language == "text" and after is not None and not "".join(lines[after + 1 : start]).strip():
            found[-1][2] = inside
    return found


def program(page):
    """A script that runs the page's Python blocks one after the other, each as if it were the file train.py."""
    sources = [source for _, source, _ in examples(page)]
    return f"for block in {sources!r}:\n    exec(compile(block, 'train.py', 'exec'))\n    print({MARK!r})\n"


def outputs(page, folder):
    """What each Python block of the page prints under `rushlight run`, with warnings as errors."""
    path = folder / "page.py"
    path.write_text(program(page))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-m", "rushlight", "run", str(path)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    printed = [part.strip("\n") for part in done.stdout.split(MARK + "\n")[:-1]]
    if done.returncode:
        pytest.fail(f"{page.name}, block at line {examples(page)[len(printed)][0]}:\n{done.stderr}")
    return printed


# the programs of a recipe run in a copy of the tree that it was applied to (test_recipes.py)
@pytest.mark.parametrize(
    "page", [p for p in PAGES if "```python" in p.read_text() and p.parent.name != "recipes"], ids=lambda p: p.name
)
def test_python_blocks(page, tmp_path):
    for (line, _, says), prints in zip(examples(page), outputs(page, tmp_path), strict=True):
        assert says is None or prints == says, f"{page.name}, block at line {line}"


@pytest.mark.parametrize("page", [p for p in PAGES if p.parent in (ROOT, ROOT / "docs/lessons")], ids=lambda p: p.name)
def test_blocks_can_be_pasted(page):
    """Line by line into an interactive Python: before 3.13 a blank line has to end each indented block."""
    for first, source, _ in examples(page):
        pending: list[str] = []
        for line, text in enumerate([*source.splitlines(), ""], first + 1):
            pending.append(text)
            try:
                is_whole = compile_command("\n".join(pending)) is not None
            except SyntaxError as error:
                pytest.fail(f"{page.name}, line {line}: {error.msg}")
            if is_whole:
                pending.clear()
        assert not pending, f"{page.name}, block at line {first}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links(page):
    """Every relative link and picture leads to a file."""
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which does not exist"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_named_files(page):
    """Every path below `rushlight/`, `tests/`, `benchmarks/`, `examples/` or `docs/` that a page names exists."""
    for path in re.findall(r"`((?:rushlight|tests|benchmarks|examples|docs)/[\w./-]*)`", page.read_text()):
        assert (ROOT / path).exists(), f"{page.name} names {path}, which does not exist"


def _section(title):
    """The text of README's section `title`."""
    return (ROOT / "README.md").read_text().split(f"## {title}\n")[1].split("\n## ")[0]


FIND = """
import sys, torch, torchvision
from rushlight.alias.lookup import status
for name in sys.argv[1:]:
    try:
        if status(name) != "here":
            continue
        eval(name)()
    except (AttributeError, NotImplementedError):
        continue
    except Exception:
        pass
    print(name)
"""


def test_what_does_not_work_yet():
    """README's list of what is missing stays true: a name that leads somewhere by now must leave it."""
    names = re.findall(r"`((?:torch|torchvision)\.[\w.]+)`", _section("What does not work yet"))
    assert names
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "rushlight/alias/path"), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", FIND, *names], env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_doctor_section(tmp_path):
    """README's loop without zero_grad(), under the doctor, is told what README shows."""
    (shown,) = re.findall(r"```\n(.*?)```", _section("The gradient doctor"), re.S)
    loop = examples(ROOT / "README.md")[0][1]
    (tmp_path / "spirals.py").write_text(loop.replace("        optimizer.zero_grad()\n", ""))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "rushlight", "doctor", "spirals.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert " ".join(shown.split()) in " ".join(done.stderr.split())


def test_set_up_commands():
    """README's first two shell blocks are a line each, to be pasted: set up and train, set up and run the tests."""
    first, second = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[:2]
    assert first.count("\n") == second.count("\n") == 1
    assert first.endswith(" && rushlight run examples/digits.py\n")
    assert second.endswith(" && pytest\n")


def test_ci_runs_what_a_newcomer_reads():
    """The lines that .ci/run takes from README are those two."""
    (take,) = re.findall(r"< <\((.*)\)", (ROOT / ".ci" / "run").read_text())
    lines = subprocess.run(["bash", "-c", take], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert lines == "".join(re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[:2])
