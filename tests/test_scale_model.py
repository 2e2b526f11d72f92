"""The model of docs/scale.md: its formulas, its fit, and that the page shows what the recorded numbers give."""

import math
from pathlib import Path

import pytest

from benchmarks import scale_model as model
from benchmarks.scale_link_worker import SIZES, group_size

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"


def test_the_page_has_the_tables():
    assert f"<!-- tables -->\n{model.tables(model.load())}\n<!-- end -->" in PAGE.read_text()


@pytest.mark.parametrize("hosts, group", [(2, 2), (4, 2), (8, 2), (16, 4), (64, 8), (1000, 25)])
def test_groups(hosts, group):
    assert group_size(hosts) == group


def test_formulas():
    assert model.ALGORITHMS["ring"](4, 100.0) == (6, 150.0)
    assert model.ALGORITHMS["tree"](5, 100.0) == (6, 600.0)
    assert model.ALGORITHMS["hierarchical"](16, 160.0) == (12, pytest.approx(2 * 15 * 10.0))  # the ring's bytes


def test_a_fit_of_exact_times():
    measured = {
        str(n): {
            f"{name} {m}": a * 5e-5 + b * 2e-8
            for name, f in model.ALGORITHMS.items()
            for m in SIZES
            for a, b in [f(n, m)]
        }
        for n in (2, 4, 8)
    }
    alpha, beta = model.fit(measured)
    assert math.isclose(alpha, 5e-5, rel_tol=1e-2) and math.isclose(beta, 2e-8, rel_tol=1e-2)


def test_the_shortest_message_takes_longer_to_begin_than_to_send():
    """Else the recorded times say nothing of alpha, which is what is left of the others' bandwidth."""
    alpha, beta = model.fit(model.load()["measured"])
    assert alpha > min(SIZES) * beta


def test_steps():
    numbers = model.load()
    for network, about in numbers["networks"].items():
        for way in ("float32", "bf16", "PowerSGD", "averaging"):
            times = [model.step(numbers, network, n, gbit, way)[0] for n in (8, 1000) for gbit in (1, 100)]
            assert about["step_s"] < times[1] < times[0] and times[0] < times[2]
