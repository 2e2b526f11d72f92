"""The page that the results make."""

from acceptance import manifest, report

SIDE = {"status": "ok", "steps": 50, "seconds": 2.0, "cpu_s": 2.0, "peak_mb": 100, "error": "", "first_loss": 2.302585}
COMPARED = {"equal": True, "first_apart": "", "apart_at": None, "loss_digits": 6.9, "steps_compared": 20}
FAILED = {**SIDE, "status": "fails", "error": "Traceback\nAttributeError: no torch.thing", "first_loss": None}


def found(**values):
    return {"rushlight": SIDE, "torch": {**SIDE, "seconds": 4.0}, "compared": COMPARED, "deterministic": True, **values}


def test_verdicts():
    apart = {
        **COMPARED,
        "equal": False,
        "first_apart": "loss at step 3: 1 under torch, 2 under Rushlight",
        "apart_at": 3,
    }
    assert report.verdict(found()) == "equal"
    assert report.verdict(found(compared=apart)) == "differs"
    assert report.verdict(found(compared=apart, rounding=True)) == "rounding"
    assert report.verdict(found(compared=apart, deterministic=False)) == "runs"
    assert report.verdict({"rushlight": SIDE}) == "runs"
    assert report.verdict({"rushlight": FAILED}) == "fails"
    assert report.verdict(None) == "not run"


def program(name, **fields):
    values = {"wave": "1", "repository": "o/r", "commit": "a" * 40, "what": f"what {name} does", "commands": ("x.py",)}
    return manifest.Program(id=name, **{**values, **fields})


def test_the_page_has_a_row_for_each_run_and_the_cause_of_each_failure():
    programs = {"one": program("one"), "two": program("two", why="It needs a thing."), "three": program("three")}
    page = report.page(programs, {"one": found(), "two": {"rushlight": FAILED}})
    assert (
        "| one | [o/r](https://github.com/o/r/tree/"
        + "a" * 40
        + ") | what one does | equal | 20 | 2.30259 | 2.30259 | 6.9 |  | 0.50 |"
        in page
    )
    assert "- **two** fails. It needs a thing. `AttributeError: no torch.thing`" in page
    assert (
        "Of the 3 programs of waves 1, 2 and 3: 1 equal, 0 part by rounding, 0 run, 0 differ, 1 fail, 1 not run."
        in page
    )


def test_a_program_is_as_good_as_its_worst_variant():
    programs = {"one": program("one", commands=("{variant}.py",), variants=("a", "b"))}
    assert "1 fail," in report.page(programs, {"one/a": found(), "one/b": {"rushlight": FAILED}})


def test_what_the_other_runs_say_stands_beside_a_cause():
    apart = {**COMPARED, "equal": False, "first_apart": "loss at step 3", "apart_at": 3}
    double = {**COMPARED, "loss_digits": 12.34}
    entry = found(
        compared=apart,
        rounding=True,
        yardsticks=[{"apart_at": 4}, {"apart_at": None}],
        exact={"torch": 2.0, "rushlight": 1.94},
        float64=double,
    )
    page = report.page({"one": program("one", commands=("a.py --lr 1",), settings={"--lr 1": "2"})}, {"one": entry})
    assert (
        "- **one** rounding. `loss at step 3` torch diverges from itself at step 4 and never. Against the same run in double "
        "precision torch keeps 2.0 digits until then, Rushlight 1.9. In double precision every loss agrees to 12.3 digits."
    ) in page
    assert "| 6.9 | 12.3 | 0.50 |" in page
    assert "- **one** `--lr 1` (2)" in page
    failed = {"rushlight": FAILED, "torch": FAILED}
    assert "torch ends with the same message." in report.page({"one": program("one")}, {"one": failed})
    unlike = {"rushlight": FAILED, "torch": {**FAILED, "error": "other"}}
    assert "torch ends" not in report.page({"one": program("one")}, {"one": unlike})
