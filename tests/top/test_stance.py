"""torch.compiler.set_stance: what compiled functions do for which there is no program."""

import functools

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.compile.jit.stance import DEFAULT, active

set_stance = torch.compiler.set_stance


@pytest.fixture(autouse=True)
def default_stance():
    yield
    active.stance = DEFAULT


@pytest.fixture
def runs():
    return []


@pytest.fixture
def double(runs):
    """A function that has a program for two elements, and from then on notes when it runs as Python."""

    @torch.compile
    def double(x):
        return 2 * x

    for _ in range(4):
        double(torch.ones(2))
    assert double.has_program((torch.ones(2),), {})
    function = double.function

    @functools.wraps(function)
    def noted(x):
        runs.append(tuple(x.shape))
        return function(x)

    noted.__code__ = noted.__code__.replace(co_firstlineno=function.__code__.co_firstlineno, co_name="double")
    double.function = noted
    return double


def test_force_eager_uses_no_program(double, runs):
    with set_stance("force_eager"):
        assert double(torch.ones(2)).tolist() == [2, 2]
    double(torch.ones(2))
    assert runs == [(2,)]


def test_eager_on_recompile_uses_programs_and_makes_none(double, runs):
    with set_stance("eager_on_recompile"):
        for _ in range(5):
            double(torch.ones(2))
            assert double(torch.ones(3)).tolist() == [2, 2, 2]
    assert runs == [(3,)] * 5 and not double.has_program((torch.ones(3),), {})


def test_fail_on_recompile_names_the_place_and_the_guard(double, runs):
    with set_stance("fail_on_recompile"):
        double(torch.ones(2))
        with pytest.raises(RuntimeError) as raised:
            double(torch.ones(4))
    line = double.function.__code__.co_firstlineno
    assert str(raised.value).startswith(
        "Detected recompile when torch.compile stance is 'fail_on_recompile'. "
        f"filename: '{__file__}', function name: 'double', line number: {line}\n    triggered by the following guard failure(s):\n    - argument 0: "
    )
    assert not runs


def test_fail_on_recompile_after_one_call():
    """Calls like the first one finish the program that torch would have by now."""

    @torch.compile
    def square(x):
        return x * x

    with (
        set_stance("fail_on_recompile"),
        pytest.raises(RuntimeError, match=r"function name: 'square', line number: \d+$"),
    ):
        square(torch.ones(2))
    square(torch.ones(2))
    with set_stance("fail_on_recompile"):
        with pytest.raises(RuntimeError, match="guard failure"):
            square(torch.ones(3))
        for _ in range(4):
            square(torch.ones(2))
        with pytest.raises(RuntimeError, match="guard failure"):
            square(torch.ones(3))
    assert square.has_program((torch.ones(2),), {})


@pytest.mark.parametrize("stance", ["eager_then_compile", "aot_eager_then_compile", "default"])
def test_stances_that_compile(stance):
    half = torch.compile(lambda x: x / 2)
    with set_stance(stance):
        for _ in range(4):
            assert half(torch.ones(2)).tolist() == [0.5, 0.5]
    assert half.has_program((torch.ones(2),), {})


def test_modules():
    layer = torch.nn.Linear(2, 2)
    compiled = torch.compile(layer)
    with set_stance("fail_on_recompile"), pytest.raises(RuntimeError, match="function name: 'forward'"):
        compiled(torch.ones(1, 2))
    with set_stance("force_eager"):
        assert torch.equal(compiled(torch.ones(1, 2)), layer(torch.ones(1, 2)))


def test_as_function_context_and_decorator(double, runs):
    set_stance("force_eager")
    double(torch.ones(2))
    with set_stance("default"):
        double(torch.ones(2))
    assert active.stance.stance == "force_eager"
    set_stance("default")

    @set_stance("force_eager")
    def plain(x):
        return double(x)

    assert active.stance == DEFAULT and plain.__name__ == "plain"
    plain(torch.ones(2))
    with pytest.raises(TypeError):
        plain()
    double(torch.ones(2))
    assert runs == [(2,)] * 2 and active.stance == DEFAULT


def test_force_backend(double, runs):
    with set_stance(force_backend="eager"):
        double(torch.ones(2))
    with set_stance(force_backend="inductor"):
        double(torch.ones(2))
    assert runs == [(2,)]
    with pytest.raises(RuntimeError, match="Invalid backend: 'nonsense'"):
        set_stance(force_backend="nonsense")
    with pytest.raises(RuntimeError, match="non-default stance cannot have force_backend set"):
        set_stance("force_eager", force_backend="eager")
    assert active.stance == DEFAULT


def test_force_backend_gives_all_graphs_to_a_function(double, runs):
    nodes, own = [], []

    def backend(graph, inputs):
        nodes.append(len(graph.graph.nodes))
        return graph

    def another(graph, inputs):
        own.append(graph)
        return graph

    mine = torch.compile(lambda x: x.sin() + 1, backend=another)
    mine(torch.ones(2))
    with set_stance(force_backend=backend):
        for _ in range(2):
            assert double(torch.ones(2)).tolist() == [2, 2]
            assert mine(torch.zeros(2)).tolist() == [1, 1]
            assert torch.compile(nn.ReLU())(torch.tensor([-1.0, 1])).tolist() == [0, 1]
    assert nodes == [3, 4, 3, 3] and len(own) == 1 and runs == [(2,)] * 2
    double(torch.ones(2))
    assert len(runs) == 2


def test_unknown_stances_raise_at_the_call(double):
    set_stance("foo", skip_guard_eval_unsafe=True)
    message = r"invalid torch.compile stance 'DynamoStance\(stance='foo', skip_guard_eval_unsafe=True, backend=None\)'"
    with pytest.raises(RuntimeError, match=message):
        double(torch.ones(2))


def test_inside_a_compiled_function():
    @torch.compile
    def changes(x):
        with set_stance("force_eager"):
            return x + 1

    with pytest.raises(RuntimeError, match=r"attempted to set_stance in a torch.compile region"):
        changes(torch.ones(2))
