"""The figures of `python -m tools.house` are within their bounds."""

from tools import house


def test_figures_are_within_their_bounds():
    beyond = [f"{f.name}: {f.value}, the bound is {f.bound}" for f in house.figures() if not f.holds()]
    assert not beyond, "; ".join(beyond)


def test_a_figure_beyond_its_bound_does_not_hold():
    assert not house.Figure("files", 21, 20, 20).holds()
    assert not house.Figure("share, %", 19, 20, 90, at_least=True).holds()
    assert house.Figure("share, %", 20, 20, 90, at_least=True).holds()


def test_words_of_the_dialect_are_found():
    assert len(house.DIALECT.findall("Nobody asks. What stands here lies beside torch's words.")) == 5
    assert not house.DIALECT.search("rstand layer standard elapsed understand")
