"""Random training steps, compiled and eager: up to 30 operators, views, writes, mixed types, backward, an optimizer.

A program is made by running it: each statement that `program_grammar.Grammar` proposes is tried on real tensors and kept
if it works. It is then run eagerly in float32, eagerly in float64 (what its errors are measured against) and compiled;
results, gradients, parameters, buffers, optimizer state, written arguments and the random stream have to agree
(`equality.py` says how far). What fails is shrunk and printed as a script.

    python tests/compile/random_programs.py --count 10000 --seed 0

What one program leaves behind may be what another one wrongly reads. With `--group 50` every 50 seeds have a process of
their own, with `--shuffle` they are dealt out at random first; under `RUSHLIGHT_CHECK=1` memory that a run may not read is
filled before it (`core/poison.py`), and the bounds of what generated code and libraries write are checked:

    RUSHLIGHT_CHECK=1 python tests/compile/random_programs.py --count 10000 --seed 9100000 --shuffle --group 50
"""

from __future__ import annotations

import argparse
import gc
import random
import re
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from equality import differences, snapshot
from program_grammar import Grammar

import rushlight as torch
import rushlight.nn.functional as F

_SINGLE = 2.0**-23  # what is float64 in a program was computed from float32
STEPS = 7  # the first plain, two captured, three replayed, and the last one plain again
PLANTED = 5  # the step in which some arguments hold nan and infinity
CALM = 3  # steps, the plain and the captured ones, whose arguments are positive and whose masks are false in a calm program
OPTIMIZERS = [  # a gradient that is nothing but rounding would become a whole step with Adam's own eps
    "torch.optim.SGD(parameters, lr=0.05, momentum=0.9)",
    "torch.optim.SGD(parameters, lr=0.05)",
    "torch.optim.Adam(parameters, lr=0.01, eps=1e-3)",
    "torch.optim.AdamW(parameters, lr=0.01, eps=1e-3)",
]
_NAME = re.compile(r"\b([apbv]\d+)\b")


class Statement(NamedTuple):
    """`target = text`, or with an empty target `text` alone."""

    target: str
    text: str

    def line(self) -> str:
        return f"{self.target} = {self.text}" if self.target else self.text

    def uses(self) -> list[str]:
        return _NAME.findall(self.text)


class Program(NamedTuple):
    """A training step. leaves: name -> text that makes it; a... are arguments, p... parameters, b... buffers."""

    seed: int
    leaves: dict[str, str]
    body: list[Statement]
    losses: list[str]
    results: list[str]
    optimizer: str
    plant: bool = False
    calm: bool = False

    def source(self) -> str:
        """The step as a function."""
        used = {n for s in self.body for n in (*s.uses(), s.target)} | set(self.losses)
        arguments = [n for n in self.leaves if n.startswith("a") and n in used]
        lines = [f"def step({', '.join(arguments)}):", *(f"    {s.line()}" for s in self.body)]
        if self.losses:
            lines.append(f"    loss = {' + '.join(f'{n}.to(real).mean()' for n in self.losses)}")
            lines += ["    loss.backward()", "    optimizer.step()", "    optimizer.zero_grad()"]
        results = [*(["loss.detach()"] if self.losses else []), *self.results]
        return "\n".join([*lines, f"    return [{', '.join(results)}]"])

    def script(self) -> str:
        """A script that runs the check on this program."""
        body = "".join(f"    {tuple(s)!r},\n" for s in self.body)
        step = "\n".join(f"# {line}" for line in self.source().splitlines())
        return (
            "# run in tests/compile\nfrom random_programs import Program, Statement, check\n\n"
            f"{step}\nbody = [\n{body}]\nprogram = Program(\n    {self.seed},\n    {self.leaves!r},\n"
            f"    [Statement(*s) for s in body],\n    {self.losses!r},\n    {self.results!r},\n    {self.optimizer!r},\n"
            f"    {self.plant!r},\n    {self.calm!r},\n)\nprint(check(program) or 'compiled equals eager')\n"
        )


# ------------------------------------------------------------------------------------------------ running


class World:
    """What a program runs in: its leaves in one type, and its optimizer. noise: relative change of the leaves."""

    def __init__(self, program: Program, real: Any, noise: float = 0.0):
        self.program, self.real, self.noise = program, real, noise
        self.low = torch.float64 if real is torch.float64 else torch.bfloat16
        self.scope: dict[str, Any] = {"torch": torch, "F": F, "real": real, "low": self.low}
        for name in program.leaves:
            if not name.startswith("a"):
                self.scope[name] = self.leaf(name)
        parameters = [t for n, t in self.scope.items() if n.startswith("p") and n[1:].isdigit()]
        self.scope["parameters"] = parameters
        if parameters:
            self.scope["optimizer"] = eval(program.optimizer, self.scope)
        exec(program.source(), self.scope)
        self.step = self.scope["step"]
        self.arguments = [
            n for n in program.leaves if n in self.step.__code__.co_varnames[: self.step.__code__.co_argcount]
        ]

    def leaf(self, name: str, step: int = 0) -> Any:
        """A leaf's tensor (an argument: that of a step)."""
        kind, _, shape = self.program.leaves[name].partition("(")
        numbers = [int(n) for n in shape.rstrip(")").split(",") if n.strip()]
        rng = np.random.default_rng([self.program.seed, int(name[1:]), step])
        if kind == "integers":
            return torch.from_numpy(rng.integers(0, numbers[0], numbers[1:]))
        is_calm = self.program.calm and step < CALM and name.startswith("a")
        if kind == "mask":
            return torch.from_numpy(np.asarray(rng.random(numbers) < (0.0 if is_calm else 0.6)))
        if kind == "bytes":
            return torch.from_numpy(np.asarray(rng.integers(0, 7, numbers)).astype(np.uint8))
        a = rng.normal(size=numbers) if kind != "uniform" else rng.uniform(0.1, 0.9, numbers)
        a = np.asarray(np.abs(a) * 0.5 + 0.25 if is_calm else a).astype(np.float32).astype(np.float64)
        if self.noise:
            a = np.asarray(a * (1 + self.noise * np.random.default_rng(step).choice([-1.0, 1.0], a.shape)))
        if self.program.plant and step == PLANTED and name.startswith("a") and a.size > 2 and name[-1] in "02468":
            a.reshape(-1)[0], a.reshape(-1)[-1] = np.nan, np.inf
        t = torch.from_numpy(a).to({"double": torch.float64, "half": self.low}.get(kind, self.real))
        return t.requires_grad_() if name.startswith("p") else t

    def run(self, step: Any, k: int) -> list:
        """What step `k` returns and leaves in its arguments."""
        arguments = [self.leaf(n, k) for n in self.arguments]
        results = step(*arguments)
        return snapshot([results, [t.detach() for t in arguments]])

    def state(self) -> list:
        """Parameters, gradients, buffers, optimizer state, the random stream."""
        tensors = [self.scope[n] for n in self.program.leaves if not n.startswith("a")]
        state = self.scope["optimizer"].state if "optimizer" in self.scope else {}
        held = [list(state.get(t, {}).values()) for t in tensors]
        stream = torch.get_rng_state().numpy().tobytes()
        return snapshot([tensors, [t.grad for t in self.scope["parameters"]], held, stream])


def runs(program: Program, real: Any, compiled: bool = False, noise: float = 0.0, steps: int = STEPS) -> list[list]:
    """The snapshots of all steps, and of the state after them."""
    torch.manual_seed(program.seed)
    world = World(program, real, noise)
    step = torch.compile(world.step) if compiled else world.step
    out = [world.run(step if k < STEPS - 1 else world.step, k) for k in range(steps)]
    return [*out, world.state()]


def check(program: Program) -> str | None:
    """What is wrong with the compiled program; None if nothing is."""
    try:
        eager = runs(program, torch.float32)
        exact = runs(program, torch.float64)
    except Exception as error:
        return f"eager {type(error).__name__}: {error}"
    try:
        compiled = runs(program, torch.float32, compiled=True)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    floor = _floor(program)
    wrong = _compared(eager, compiled, exact, floor)
    if wrong is None:
        return None
    # A sum that cancels loses digits by chance: what a change of the leaves in the last place does is forgiven as well,
    # and what is small compared with the largest number of the program.
    for sign in (1, -1):
        near = runs(program, torch.float32, noise=sign * 6e-8)
        exact = [_farther(e, r, n) for e, r, n in zip(eager, exact, near, strict=True)]
    arrays = [a for step in eager for a in step if isinstance(a, np.ndarray) and a.dtype == np.float32]
    largest = max((float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) for a in arrays), default=0.0)
    return _compared(eager, compiled, exact, floor, largest / 100)


def _floor(program: Program) -> float:
    """Units in the last place that are forgiven: bfloat16 rounds results of float32 to either side."""
    low = any("low" in s.text for s in program.body) or any(t.startswith("half") for t in program.leaves.values())
    return 2.0**19 if low else 64


def _farther(eager: list, exact: list, near: list) -> list:
    """For each array the one of two that differs more from the eager one."""

    def distance(e: Any, a: Any) -> float:
        if (
            not isinstance(a, np.ndarray)
            or not isinstance(e, np.ndarray)
            or a.shape != e.shape
            or e.dtype.kind not in "fV"
        ):
            return -1.0
        with np.errstate(invalid="ignore"):
            d = np.abs(a.astype(np.float64) - e.astype(np.float64))
        return float(d[np.isfinite(d)].max(initial=0.0))

    return [n if distance(e, n) > distance(e, r) else r for e, r, n in zip(eager, exact, near, strict=True)]


def _compared(eager: list, compiled: list, exact: list, floor: float, magnitude: float = 0.0) -> str | None:
    for k, (e, c, r) in enumerate(zip(eager, compiled, exact, strict=True)):
        wrong = differences(e, c, r, floor, magnitude, _SINGLE)
        if wrong:
            return f"differs: step {k + 1}: {'; '.join(wrong[:3])}"
    return None


# ------------------------------------------------------------------------------------------------ making


class Generator:
    """Makes the program of a seed."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.seed = seed
        self.leaves: dict[str, str] = {}
        self.body: list[Statement] = []
        self.grammar = Grammar(self.rng, self.new_leaf)
        self.count = 0
        self.empty = Program(seed, self.leaves, [], [], [], "None")
        self.world = World(self.empty, torch.float32)
        self.scope = {"torch": torch, "F": F, "real": torch.float32, "low": torch.bfloat16}

    def new_leaf(self, kind: str, text: str) -> str:
        """A new argument, parameter or buffer."""
        if text.startswith("integers") and kind != "arg":
            kind = "arg"
        name = f"{kind[0]}{self.count}"
        self.count += 1
        self.leaves[name] = text
        self.grammar.env[name] = self.world.leaf(name)
        if kind != "buffer":
            self.grammar.exact.add(name)
        if text.startswith("integers"):
            self.grammar.fixed.add(name)
        return name

    def program(self) -> Program | None:
        """The program, or None where what was made cannot be run as a whole."""
        g = self.grammar
        for kind in ["param", "arg", "buffer", *(["param", "arg"][i % 2] for i in range(self.rng.integers(0, 4)))]:
            self.new_leaf(kind, f"normal({', '.join(map(str, g.shape()))})")
        for text in ("mask", "bytes", "double", "half"):
            if g.chance(0.3):
                self.new_leaf("arg", f"{text}({', '.join(map(str, g.shape(2)))})")
        wanted = int(self.rng.integers(3, 31))
        for _ in range(wanted * 6):
            if len(self.body) >= wanted:
                break
            self.extend()
        return self.finished()

    def extend(self) -> None:
        """Try one statement."""
        g = self.grammar
        before = dict(self.leaves)
        text = None
        try:
            text = g.propose()
            if text is not None and self.tried(text):
                return
        except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, ZeroDivisionError, OverflowError):
            pass
        for name in [n for n in self.leaves if n not in before]:
            del self.leaves[name], g.env[name]
            g.exact.discard(name)
            g.fixed.discard(name)

    def tried(self, text: str) -> bool:
        """Run a statement on the variables; whether it is kept."""
        g = self.grammar
        scope = self.scope | g.env
        if text.startswith("!"):
            text = text[1:]
            exec(text, scope)
            name = _NAME.findall(text)[0]
            shared = [n for n, t in g.env.items() if np.may_share_memory(t._array, g.env[name]._array)]
            history = any(g.env[n].requires_grad for n in shared if n[0] in "ab")
            if history or any(_wild(g.env[n]) for n in shared):
                self.replay()
                return False
            g.exact.difference_update(shared)
            self.body.append(Statement("", text))
            return True
        t = eval(text, scope)
        if t.numel() > 6000 or _wild(t):
            return False
        name = f"v{self.count}"
        self.count += 1
        g.env[name] = t
        sources = _NAME.findall(text)
        discrete = t.dtype not in (torch.float32, torch.float64, torch.bfloat16)
        if discrete or (_PURE.fullmatch(text) and all(n in g.exact for n in sources)):
            g.exact.add(name)
        self.body.append(Statement(name, text))
        return True

    def replay(self) -> None:
        """Make all variables again: a statement that is not kept has changed some."""
        env = self.grammar.env
        env.update((n, self.world.leaf(n)) for n in self.leaves)
        for s in self.body:
            scope = self.scope | env
            exec(s.line(), scope)
            if s.target:
                env[s.target] = scope[s.target]

    def finished(self) -> Program | None:
        """With losses and results; statements that break the backward are dropped."""
        env = self.grammar.env
        made = [s.target for s in self.body if s.target]
        wanting = [n for n in made if env[n].requires_grad and env[n].numel()]
        losses = [*wanting[-2:], *([self.grammar.pick(wanting[:-2])] if len(wanting) > 2 else [])]
        some = [n for n in made if self.rng.random() < 0.3][-6:]
        results = [n if self.rng.random() < 0.2 else f"{n}.detach()" for n in dict.fromkeys([*made[-2:], *some])]
        program = Program(
            self.seed,
            dict(self.leaves),
            self.body,
            losses,
            results,
            self.grammar.pick(OPTIMIZERS),
            self.rng.random() < 0.15,
            self.rng.random() < 0.5,
        )
        while not works(program):
            writes = [i for i, s in enumerate(program.body) if not s.target]
            if not writes:
                return None
            program = without(program, writes[-1])
        return program


_PURE = re.compile(
    r"v?.*\.(transpose|permute|reshape|flatten|unsqueeze|select|narrow|squeeze|expand|diagonal|movedim|t|flip|roll|abs|neg"
    r"|relu|clone|index_select|gather|to)\([^()]*\)|\w+\[.*\]|\w+\.mT"
)


def _wild(t: Any) -> bool:
    """Whether an element is not finite or too large to compare."""
    if not t.is_floating_point() or not t.numel():
        return False
    return not bool(t.detach().abs().max() < 300)


def works(program: Program) -> bool:
    """Whether a program runs eagerly, and with numbers that can be compared."""
    try:
        out = runs(program._replace(plant=False, calm=False), torch.float32, steps=4)
        runs(program, torch.float64, steps=1)
    except Exception:
        return False
    floats = [
        a for a in (x for step in out for x in step) if isinstance(a, np.ndarray) and a.dtype.kind in "fV" and a.size
    ]
    return all(bool(np.isfinite(a.astype(np.float64)).all()) for a in floats)


def make(seed: int) -> Program:
    """The program of a seed."""
    for attempt in range(20):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = Generator(seed + attempt * 10_000_019).program()
        if program is not None:
            return program
    raise RuntimeError(f"no program for seed {seed}")


# ------------------------------------------------------------------------------------------------ shrinking


def without(program: Program, i: int) -> Program:
    """A program without a statement: its variable replaced by one that it is made from, else with all that needs it."""
    gone = program.body[i]
    body = [s for j, s in enumerate(program.body) if j != i]
    if gone.target:
        sources = [n for n in gone.uses() if n != gone.target]
        for source in dict.fromkeys(sources):
            renamed = [s._replace(text=re.sub(rf"\b{gone.target}\b", source, s.text)) for s in body]
            swap = lambda names, source=source: list(  # noqa: E731
                dict.fromkeys(re.sub(rf"\b{gone.target}\b", source, n) for n in names)
            )
            candidate = program._replace(body=renamed, losses=swap(program.losses), results=swap(program.results))
            if works(candidate):
                return candidate
        dead = {gone.target}
        kept = []
        for s in body:
            if dead & set(s.uses()):
                dead |= {s.target} - {""}
            else:
                kept.append(s)
        body = kept
        losses = [n for n in program.losses if n not in dead]
        results = [n for n in program.results if n.split(".")[0] not in dead]
        program = program._replace(losses=losses, results=results)
    return program._replace(body=body)


def shrunk(program: Program, failure: str) -> Program:
    """The smallest program found by dropping parts that fails in the same way."""
    kind = failure.split(":")[0]

    def fails(p: Program) -> bool:
        if not works(p):
            return False
        text = check(p)
        return text is not None and text.split(":")[0] == kind

    changed = True
    while changed:
        changed = False
        candidates = [lambda p, n=n: p._replace(results=[r for r in p.results if r != n]) for n in program.results]
        candidates += [lambda p, n=n: p._replace(losses=[r for r in p.losses if r != n]) for n in program.losses]
        candidates += [lambda p, s=s: without(p, p.body.index(s)) if s in p.body else p for s in reversed(program.body)]
        candidates += [
            lambda p: p._replace(plant=False),
            lambda p: p._replace(calm=False),
            lambda p: p._replace(optimizer=OPTIMIZERS[1]),
        ]
        for candidate in candidates:
            smaller = candidate(program)
            if smaller != program and fails(smaller):
                program, changed = smaller, True
    used = {n for s in program.body for n in (*s.uses(), s.target)} | set(program.losses)
    leaner = program._replace(leaves={n: t for n, t in program.leaves.items() if n in used})
    return leaner if fails(leaner) else program


def examine(seed: int, shrink: bool = True) -> str | None:
    """None, or a report of how the program of a seed fails, with the script of a shrunk one."""
    try:
        program = make(seed)
        failure = check(program)
        if failure is None:
            return None
        if shrink:
            program = shrunk(program, failure)
            failure = check(program) or failure
    except Exception:  # what is wrong is the generator
        return f"seed {seed}: {traceback.format_exc()}"
    return f"seed {seed}: {failure}\n\n{program.script()}"


def program_of(
    seed: int,
    leaves: dict[str, str],
    body: str,
    losses: str,
    results: str,
    optimizer: str = OPTIMIZERS[1],
    plant: bool = False,
) -> Program:
    """A program that is written out: `body` has a statement in each line, `losses` and `results` are names."""
    statements = []
    for line in filter(None, map(str.strip, body.splitlines())):
        target, _, text = line.partition(" = ")
        statements.append(Statement(target, text) if target.isalnum() else Statement("", line))
    return Program(seed, leaves, statements, losses.split(), results.split(), optimizer, plant)


def in_groups(args: argparse.Namespace, seeds: list[int]) -> tuple[int, int]:
    """Run every `args.group` seeds in a process of their own. (programs, failures)."""
    done, failed = 0, 0
    for i in range(0, len(seeds), args.group):
        group = seeds[i : i + args.group]
        command = [sys.executable, __file__, "--seeds", ",".join(map(str, group)), *(["--plain"] if args.plain else [])]
        child = subprocess.run(command, capture_output=True, text=True, check=False)
        done += len(group)
        if child.returncode:
            failed += max(1, child.stdout.count("\nseed ") + child.stdout.startswith("seed "))
            print(f"{child.stdout}{child.stderr}\nin one process, in this order: --seeds {command[3]}", flush=True)
        if failed >= args.most:
            break
    return done, failed


def in_this_process(args: argparse.Namespace, seeds: list[int]) -> tuple[int, int]:
    """(programs, failures)."""
    failed = 0
    for i, seed in enumerate(seeds):
        if i % 500 == 1:  # each capture looks through all objects: a third of the time
            gc.collect()
            gc.freeze()
        report = examine(seed, not args.plain)
        if report is not None:
            failed += 1
            print(report, flush=True)
        if failed >= args.most:
            return i + 1, failed
    return len(seeds), failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=10, help="failures after which to stop")
    parser.add_argument("--plain", action="store_true", help="do not shrink")
    parser.add_argument("--shuffle", action="store_true", help="the seeds in random order (always the same one)")
    parser.add_argument(
        "--group", type=int, default=0, help="so many seeds in a process of their own; 0: all in this one"
    )
    parser.add_argument("--seeds", help="these, in this order, instead of --count from --seed on")
    args = parser.parse_args()
    warnings.simplefilter("error")
    start = time.perf_counter()
    seeds = [*map(int, args.seeds.split(","))] if args.seeds else [*range(args.seed, args.seed + args.count)]
    if args.shuffle:
        random.Random(args.seed).shuffle(seeds)
    done, failed = (in_groups if args.group else in_this_process)(args, seeds)
    print(f"{done} programs, {failed} failed, {time.perf_counter() - start:.0f} s")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
