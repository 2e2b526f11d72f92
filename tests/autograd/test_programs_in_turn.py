"""In which order the programs of a class of roots are tried."""

from rushlight.autograd.repeats import repeats


def test_the_program_that_did_a_pass_is_tried_first_while_it_is_served(monkeypatch):
    first, second, gone = object(), object(), object()
    monkeypatch.setattr(repeats, "programs", {int: [first, second]})
    repeats.try_first(int, second)
    assert repeats.programs == {int: [second, first]}
    repeats.try_first(int, gone)  # its own pass has made others, which took its place
    repeats.try_first(str, gone)
    assert repeats.programs == {int: [second, first]}
