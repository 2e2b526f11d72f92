"""What counts as the same number, and where two runs are said to part."""

import math

import pytest

from acceptance import compare


@pytest.mark.parametrize(
    ("line", "numbers"),
    [
        ("loss: 0.25, 1e-3", ("0.25", "1e-3")),
        ("[3/50] -1.5 +2", ("3", "50", "-1.5", "+2")),
        ("step12 loss nan inf -inf", ("12", "nan", "inf", "-inf")),
        ("banana information", ()),
        ("tensor(2.3e+05)", ("2.3e+05",)),
        ("12.5 ms, 3 s, 4it/s, 00:12<00:10 after 2026-01-02 7", ("7",)),
        ("old 1\rnew 2\r", ("2",)),
    ],
)
def test_numbers_of_a_line(line, numbers):
    (found,) = compare.lines_of(line + "\n")
    assert found.numbers == numbers


def test_ignored_text_is_left_out_and_empty_lines_do_not_count():
    lines = compare.lines_of("SPS: 12\n\nloss 1\n", ignore=[r"SPS: \d+"])
    assert [(line.text, line.numbers, line.end) for line in lines] == [("loss #", ("1",), 16)]


@pytest.mark.parametrize(
    ("a", "b", "digits"),
    [(1.0, 1.0, 16), (1.0, 1.001, 3), (100.0, 100.01, 4), (0.0, 1e-9, 0), (math.nan, math.nan, 16), (math.inf, 1.0, 0)],
)
def test_digits(a, b, digits):
    assert compare.digits(a, b) == pytest.approx(digits, abs=0.01)


def test_values_below_the_floor_are_compared_at_its_size():
    assert compare.digits(1e-12, -1e-12, floor=1e-3) > 8


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("0.01", "0.02", True),
        ("0.01", "0.03", False),
        ("1.2345678", "1.2345699", True),
        ("7", "8", False),
        ("3e-4", "3e-4", True),
    ],
)
def test_one_unit_of_the_last_printed_place_is_agreement_but_not_for_whole_numbers(a, b, same):
    assert (compare.printed_digits(a, b) >= compare.DIGITS) is same


def run(losses, out="", at=None):
    at = at or [0] * len(losses)
    records = [
        {"step": i + 1, "losses": [x], "params": 2 * x, "grads": x, "out": o}
        for i, (x, o) in enumerate(zip(losses, at))
    ]
    return {"records": records, "out": out}


def test_equal_runs():
    found = compare.compare(run([3.0, 2.0], "a 1.5\n"), run([3.0, 2.0000001], "a 1.5\n"))
    assert found["equal"] and found["first_apart"] == "" and found["apart_at"] is None
    assert found["loss_digits"] == pytest.approx(7.3, abs=0.1)
    assert (found["steps_compared"], found["numbers_compared"]) == (2, 1)


@pytest.mark.parametrize(
    ("theirs", "ours", "at", "sentence"),
    [
        (run([3.0, 2.0, 1.0]), run([3.0, 2.01, 1.0]), 2, "loss at step 2: 2 under torch, 2.01 under Rushlight"),
        (
            run([1.0], "x 1\ny 2\n"),
            run([1.0], "x 1\nz 2\n"),
            1,
            "printed line 2: 'y 2' under torch, 'z 2' under Rushlight",
        ),
        (
            run([1.0], "x 1.50\n"),
            run([1.0], "x 1.70\n"),
            1,
            "printed line 1, 'x #': 1.50 under torch, 1.70 under Rushlight",
        ),
        (run([1.0], "x\n"), run([1.0], "x\ny\n"), 1, "1 printed lines under torch, 2 under Rushlight"),
        (run([1.0, 1.0]), run([1.0]), 2, "2 steps under torch, 1 under Rushlight"),
    ],
)
def test_where_two_runs_part(theirs, ours, at, sentence):
    found = compare.compare(theirs, ours)
    assert not found["equal"]
    assert found["first_apart"] == sentence
    assert found["apart_at"] == at


def test_only_the_first_steps_count():
    losses = [1.0] * 60
    assert compare.compare(run(losses), run([*losses[:55], 2.0, *losses[56:]]))["equal"]
    at = list(range(10, 610, 10))
    theirs = run(losses, "a 0001\n" * 80, at)
    assert compare.compare(theirs, run(losses, "a 0001\n" * 71 + "a 0002\n" * 9, at))["equal"]
    assert not compare.compare(theirs, run(losses, "a 0001\n" * 70 + "a 0002\n" * 10, at))["equal"]


@pytest.mark.parametrize(
    ("ours", "itself", "rounding"), [(14, [14, None], True), (13, [17, 20], True), (5, [17], False), (5, [None], False)]
)
def test_rounding_is_parting_no_sooner_than_torch_parts_from_itself(ours, itself, rounding):
    assert compare.is_rounding({"apart_at": ours}, [{"apart_at": step} for step in itself]) is rounding


@pytest.mark.parametrize(
    ("digits", "rounding"),
    [({"torch": 3.0, "rushlight": 2.4}, True), ({"torch": 3.0, "rushlight": 2.2}, False), (None, False)],
)
def test_rounding_is_being_as_near_to_double_precision_as_torch(digits, rounding):
    assert compare.is_rounding({"apart_at": 5}, [{"apart_at": None}], digits) is rounding
    assert not compare.is_rounding({"apart_at": None}, [{"apart_at": 3}], digits)


def test_digits_of_losses_up_to_a_step():
    exact, other = run([1.0, 1.0, 1.0]), run([1.001, 1.01, 1.5])
    assert compare.digits_of_losses(exact, other, 2) == pytest.approx(2.0, abs=0.01)
    assert compare.digits_of_losses(exact, run([]), 2) is None


@pytest.mark.parametrize(("lines", "apart_at"), [(3, None), (4, 4), (0, 4)])
def test_without_steps_the_first_lines_count_or_all(lines, apart_at):
    theirs, ours = run([], "1\n2\n3\n4.5\n"), run([], "1\n2\n3\n4.7\n")
    assert compare.compare(theirs, ours, lines=lines)["apart_at"] == apart_at
