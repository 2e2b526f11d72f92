"""The list of programs: reads and checks `programs/*.toml`."""

from __future__ import annotations

import shlex
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "programs"
WAVES = ("1", "2", "3", "spare")
SHIMS = ("IPython", "gym", "requests", "sentencepiece", "tensorflow", "tiktoken", "wandb")


@dataclass(frozen=True)
class Program:
    """One program of a public repository and how it is run small. `variants` fill `{variant}` in its commands."""

    id: str
    wave: str
    repository: str  # owner/name
    commit: str
    what: str  # what it does, one line
    commands: tuple[str, ...]  # one after another in `cwd`: `script.py arguments`, `-m module arguments` or `-c code`
    copy: tuple[str, ...] = ()  # parts of the repository that the program needs; all of it if empty
    cwd: str = "."
    variants: tuple[str, ...] = ()
    data: tuple[dict[str, Any], ...] = ()  # {maker, to, ...options}; `to` is relative to cwd
    steps: int = 50  # optimizer steps; 0: to the program's end
    lines: int = 50  # where no step is seen: printed lines that are compared; 0: all
    backwards: int = 0  # for programs without an optimizer: backward calls; 0: no limit
    seed: int | None = 0  # given to random, numpy and torch before the program starts
    environment: dict[str, str] = field(default_factory=dict)  # {root} in a value is the copy's folder
    paths: tuple[str, ...] = ()  # put on PYTHONPATH, relative to the copy of the repository
    patches: tuple[str, ...] = ()  # of the environment, in both runs
    shims: tuple[str, ...] = ()  # stand-ins for libraries, in both runs
    edits: tuple[
        dict[str, Any], ...
    ] = ()  # sizes lowered in the copy: {file, old, new}, and times where it is not once
    settings: dict[str, str] = field(
        default_factory=dict
    )  # options of its commands that change its numbers: {option: the default}
    undetermined: tuple[str, ...] = ()  # variants whose numbers differ from run to run with one seed
    ignore: tuple[str, ...] = ()  # regular expressions of printed text that may differ (times, paths)
    timeout_s: int = 180
    shows: tuple[str, ...] = ()  # for programs that print no number: expressions printed after the last command
    why: str = ""  # the known cause where it fails, differs or is not deterministic

    def runs(self):
        """A `Run` for every variant."""
        if not self.variants:
            return [Run(self, self.id, self.commands, deterministic=True)]
        return [
            Run(
                self,
                f"{self.id}/{variant or 'default'}",
                tuple(command.replace("{variant}", variant) for command in self.commands),
                variant not in self.undetermined,
            )
            for variant in self.variants
        ]


@dataclass(frozen=True)
class Run:
    """One variant of a program: what is run, compared and listed under its own name."""

    program: Program
    name: str
    commands: tuple[str, ...]
    deterministic: bool  # whether one seed always gives the same numbers


_TUPLES = (
    *("commands", "copy", "variants", "data", "paths", "patches", "shims", "edits", "undetermined"),
    *("ignore", "shows"),
)


def load(folder=FOLDER):
    """Every program by its id, in the files' order. Raises ValueError for an entry that is not well formed."""
    programs = {}
    for wave in WAVES:
        path = Path(folder) / f"wave_{wave}.toml"
        if not path.exists():
            continue
        with path.open("rb") as file:
            entries = tomllib.load(file)
        for name, entry in entries.items():
            if name in programs:
                raise ValueError(f"{path.name}: {name} is listed twice")
            programs[name] = _program(name, wave, entry, path.name)
    return programs


def left_out(folder=FOLDER):
    """The tutorials that are no programs of wave 3: their files by what they need."""
    with (Path(folder) / "left_out.toml").open("rb") as file:
        return {need: entry["files"] for need, entry in tomllib.load(file).items()}


def _program(name, wave, entry, where):
    values: dict[str, Any] = {key: tuple(value) if key in _TUPLES else value for key, value in entry.items()}
    try:
        program = Program(id=name, wave=wave, **values)
    except TypeError as error:
        raise ValueError(f"{where}: {name}: {error}") from None
    for problem in problems(program):
        raise ValueError(f"{where}: {name}: {problem}")
    return program


def problems(program):
    """What is wrong with an entry, as sentences."""
    from acceptance.data import MAKERS
    from acceptance.patches import ENVIRONMENT

    if program.repository.count("/") != 1:
        yield f"repository {program.repository!r} is not owner/name"
    if len(program.commit) != 40 or set(program.commit) - set("0123456789abcdef"):
        yield "commit must be 40 hexadecimal digits"
    if not program.commands:
        yield "no commands"
    for command in program.commands:
        if not shlex.split(command):
            yield "an empty command"
    if any("{variant}" in command for command in program.commands) != bool(program.variants):
        yield "variants are listed exactly where a command contains {variant}"
    for name in (*program.copy, *program.paths, program.cwd):
        if name.startswith("/") or ".." in Path(name).parts:
            yield f"{name!r} leaves the program's folder"
    for item in program.data:
        if item.get("maker") not in MAKERS:
            yield f"no data maker {item.get('maker')!r}; there are {', '.join(sorted(MAKERS))}"
        if "to" not in item:
            yield f"data of maker {item.get('maker')!r} without a place (`to`)"
    yield from (f"unknown patch {name!r}" for name in program.patches if name not in ENVIRONMENT)
    yield from (f"unknown shim {name!r}" for name in program.shims if name not in SHIMS)
    for edit in program.edits:
        if set(edit) - {"times"} != {"file", "old", "new"}:
            yield "an edit has file, old and new, and times where old occurs more than once"
    for option in program.settings:
        if not any(option in command for command in program.commands):
            yield f"setting {option!r} is in no command"
    yield from (f"undetermined {name!r} is no variant" for name in program.undetermined if name not in program.variants)
    if program.undetermined and not program.why:
        yield "not deterministic, without a reason (`why`)"


def select(programs, names=(), waves=()):
    """The runs named by program or by program/variant (all where none is named) in the given waves (all where none is given).

    Raises KeyError for a name that is neither.
    """
    runs = [run for program in programs.values() if not waves or program.wave in waves for run in program.runs()]
    known = {name for program in programs.values() for name in (program.id, *(run.name for run in program.runs()))}
    for name in names:
        if name not in known:
            raise KeyError(_unknown(programs, name))
    chosen = [run for run in runs if not names or run.program.id in names or run.name in names]
    if not chosen:
        raise KeyError(f"none of {', '.join(names) or 'the programs'} is in wave {', '.join(waves)}")
    return chosen


def _unknown(programs, name):
    program = programs.get(name.partition("/")[0])
    if program is None:
        return f"no program {name!r} in the manifest"
    if not program.variants:
        return f"no program {name!r} in the manifest: {program.id} has no variants"
    return f"no program {name!r} in the manifest; there are {', '.join(run.name for run in program.runs())}"
