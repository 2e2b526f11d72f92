"""Random training steps, compiled and eager: see `random_programs.py`, which also runs many more of them."""

from __future__ import annotations

import os
import warnings

import pytest
import random_programs

from rushlight.core import poison

COUNT = int(os.environ.get("RUSHLIGHT_PROGRAMS", "120"))
BLOCK = 10  # programs of one test


@pytest.mark.parametrize("first", range(0, COUNT, BLOCK))
def test_programs(first, monkeypatch):
    """Results, gradients, state and the random stream are those of eager; what fails is printed as a script."""
    monkeypatch.setenv("RUSHLIGHT_CHECK", "1")
    monkeypatch.setattr(poison, "on", True)
    for seed in range(first, min(first + BLOCK, COUNT)):
        report = random_programs.examine(seed)
        if report is not None:
            pytest.fail(report, pytrace=False)


def test_groups_of_shuffled_seeds_have_processes_of_their_own(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["random_programs.py", "--count", "5", "--seed", "3", "--shuffle", "--group", "2"])
    commands = []
    run = random_programs.subprocess.run
    monkeypatch.setattr(random_programs.subprocess, "run", lambda c, **k: commands.append(c[3]) or run(c, **k))
    with pytest.raises(SystemExit) as end:
        random_programs.main()
    assert not end.value.code and capsys.readouterr().out.startswith("5 programs, 0 failed")
    seeds = [int(n) for text in commands for n in text.split(",")]
    assert sorted(seeds) == [3, 4, 5, 6, 7] and seeds != sorted(seeds) and len(commands) == 3


FAILED_ONCE = {
    "a flat view writes what a convolution reads": random_programs.program_of(
        706,
        {"p3": "normal(3, 8, 8, 8)", "p7": "normal()", "p28": "normal(4, 3, 2, 2)", "p29": "normal(4)"},
        """
        v8 = p7 - p3
        v8.reshape(2, -1).zero_()
        v10 = v8[:2, ::3]
        v8.clamp_(-0.8, 0.9)
        v14 = v10.clamp(min=0.1)
        v26 = torch.cat([v14, v14.narrow(0, 0, 1)], 0)
        v30 = F.conv2d(v26, p28 * 0.3, p29, stride=1, padding=0)
        v36 = p28.prod(1, keepdim=False)
        v38 = v30.min()
        """,
        "v36 v38 v30",
        "v36.detach() v38.detach()",
        random_programs.OPTIMIZERS[0],
    ),
    "a product of nan with a gradient of 0": random_programs.program_of(
        2918,
        {"a4": "normal(8)", "p12": "normal(1, 8)"},
        """
        v7 = a4 - a4
        v13 = F.linear(v7, p12 * 0.3)
        v14 = (v7.tanh() * 0.9).acos()
        v16 = v14.unbind(0)[0]
        v13.zero_()
        """,
        "v13",
        "v16 v13.detach()",
        plant=True,
    ),
    "a maximum without ties, then with": random_programs.program_of(
        9497,
        {"p5": "normal(4, 8, 8, 8)", "p15": "normal(8, 10)", "a22": "integers(10, 6)", "p31": "normal(2, 8, 2, 2)"},
        """
        v16 = p5 @ (p15 * 0.3)
        v18 = v16.atan()
        v19 = torch.maximum(v16, v18)
        v23 = v19.index_select(-1, a22)
        v19.mul_(-0.07)
        v28 = p15.t()
        v32 = F.conv2d(v23, p31 * 0.3, None, stride=1, padding=0)
        """,
        "v28 v32 v19",
        "v32.detach() v23 v28",
        random_programs.OPTIMIZERS[2],
    ),
    "a copy between views of one memory": random_programs.program_of(
        7871,
        {"a1": "normal(4, 7, 8, 8)"},
        """
        v6 = a1.chunk(2, -1)[0]
        v7 = v6.transpose(-4, -1)
        v6.copy_(v7)
        """,
        "",
        "v7.clone()",
    ),
    "operators between views of one memory": random_programs.program_of(
        7872,
        {"a1": "normal(5, 6)", "p2": "normal(5, 6)", "b3": "normal(4, 4)"},
        """
        a1[:, 1:].add_(a1[:, :-1])
        v4 = a1[:, 1:]
        v4.sub_(a1[:, :1])
        v5 = p2 * 1.5
        v5[:, :5].sub_(v5[:, 1:])
        b3[1:, :3].copy_(b3.t()[1:, :3])
        v6 = v4 + v5[:, :5]
        """,
        "v6",
        "v4.clone() v6.detach()",
        random_programs.OPTIMIZERS[0],
    ),
    "a result that is also what an argument becomes, but for a part": random_programs.program_of(
        8802,
        {"a7": "bytes(5, 4)", "a8": "normal(5, 4)"},
        """
        v9 = a7 * 2
        a7.mul_(2)
        a7[2:] = 0.18
        v10 = a8 + 1
        a8.add_(1)
        a8[:, 1:].mul_(3)
        """,
        "",
        "v9 v10",
    ),
    "an operator in place on a part without elements": random_programs.program_of(
        7281,
        {"b2": "normal(8, 1, 8, 1)", "p5": "normal(7, 1)", "a6": "integers(7, 4, 1)"},
        """
        b2[..., :-1].add_(b2.transpose(-2, 0)[..., :-1])
        v7 = F.embedding(a6, p5)
        v7[..., :-1].sub_(v7.transpose(1, 2)[..., :-1])
        """,
        "v7",
        "v7.detach()",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FAILED_ONCE)
def test_programs_that_failed_once(what, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_CHECK", "1")
    program = FAILED_ONCE[what]
    assert random_programs.works(program)
    assert random_programs.check(program) is None


def test_a_program_is_the_same_each_time():
    assert random_programs.make(11) == random_programs.make(11)


def test_a_seed_whose_program_raises_is_reported(monkeypatch):
    """So a run over many seeds goes on: once where making fails, once where eager alone does."""
    stale = random_programs.program_of(
        1, {"p1": "normal(3)", "b2": "normal(3)"}, "b2.tanh_()\nb2.add_(p1)\nv3 = b2 * p1", "v3", "v3.detach()"
    )
    assert not random_programs.works(stale)
    monkeypatch.setattr(random_programs, "make", lambda seed: stale)
    report = random_programs.examine(4, shrink=False)
    assert report is not None and report.startswith("seed 4: eager RuntimeError: ") and "b2.tanh_()" in report
    monkeypatch.setattr(random_programs, "make", lambda seed: 1 // 0)
    report = random_programs.examine(5)
    assert report is not None and report.startswith("seed 5: Traceback") and "ZeroDivisionError" in report


def test_wrong_numbers_are_found_and_shrunk(monkeypatch):
    """A compiler that rounds one operator's result is caught, and the report is one statement long."""
    from rushlight.core.dispatch.op import OPS

    def broken(program, real, compiled=False, noise=0.0, steps=random_programs.STEPS):
        out = plain(program, real, False, noise, steps)
        if compiled and any("dropout" in s.text for s in program.body):
            out[-2][0] = out[-2][0] + 1
        return out

    assert "dropout" in OPS
    plain = random_programs.runs
    monkeypatch.setattr(random_programs, "runs", broken)
    seed = next(s for s in range(200) if any("dropout" in t.text for t in random_programs.make(s).body))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = random_programs.examine(seed)
    assert report is not None and report.count("('v") <= 2
