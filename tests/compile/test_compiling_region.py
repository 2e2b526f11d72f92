"""`torch.compiler.is_compiling` and calls for which no program can be made: results stay those of torch's first call."""

import pytest

import rushlight as torch
from rushlight.compile import log


@torch.compile
def branches(x):
    return x + 1 if torch.compiler.is_compiling() else x - 1


@pytest.mark.parametrize("n", [1, 2])
def test_every_call_of_a_compiled_function_is_compiling(n):
    assert [branches(torch.zeros(n)).tolist() for _ in range(5)] == [[1.0] * n] * 5
    assert not torch.compiler.is_compiling()


def test_a_function_that_cannot_be_captured_is_compiling():
    @torch.compile
    def reads(x):
        return range(3)[int(x.sum())] + torch.compiler.is_compiling()

    with pytest.warns(UserWarning, match="runs eagerly"):
        assert [reads(torch.ones(2)) for _ in range(4)] == [3.0] * 4


def test_what_is_kept_out_is_not_compiling():
    outside = torch.compiler.disable(torch.compiler.is_compiling)
    compiled = torch.compile(lambda x: (x + 1, outside(), torch.compiler.is_compiling())[1:])
    assert compiled(torch.ones(1)) == (False, True)


def test_eager_stances_are_not_compiling():
    compiled = torch.compile(lambda x: x + 1 if torch.compiler.is_compiling() else x - 1)
    assert compiled(torch.zeros(3)).tolist() == [1, 1, 1]
    with torch.compiler.set_stance("eager_on_recompile"):
        assert compiled(torch.zeros(3)).tolist() == [1, 1, 1]
        assert compiled(torch.zeros(2)).tolist() == [-1, -1]
    with torch.compiler.set_stance("force_eager"):
        assert compiled(torch.zeros(3)).tolist() == [-1, -1, -1]


def test_modules_that_nobody_compiled_are_not_compiling():
    class Branches(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 3)

        def forward(self, x):
            y = self.layer(x).relu().sigmoid()
            return y + 100 if torch.compiler.is_compiling() else y

    model = Branches()
    x = torch.ones(2, 3)
    for _ in range(20):
        y = model(x)
        y.sum().backward()
        assert y.max() < 50
    with torch.no_grad():
        assert max(model(x).max().item() for _ in range(20)) < 50


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_nested_tensors_run_as_python(layout):
    nested = torch.nested.nested_tensor([torch.ones(2, 4), torch.zeros(3, 4)], layout=layout)
    model = torch.compile(torch.nn.Linear(4, 4))
    x = torch.ones(3, 4)
    for _ in range(4):
        torch.testing.assert_close(model(nested)[0], model(x)[:2])


def test_sparse_tensors_run_as_python():
    double = torch.compile(lambda x: 2 * x)
    for _ in range(4):
        assert double(torch.eye(2).to_sparse()).to_dense().tolist() == [[2, 0], [0, 2]]
        assert double(torch.eye(2)).tolist() == [[2, 0], [0, 2]]
    with pytest.raises(RuntimeError, match="sparse and nested tensors are not compiled"):
        torch.compile(lambda x: 2 * x, fullgraph=True)(torch.eye(2).to_sparse())


def test_logs_that_a_program_asks_for(capsys):
    from rushlight.torch import _logging

    double = torch.compile(lambda x: 2 * x)
    try:
        _logging.set_logs(recompiles=True)
        for n in (2, 2, 3, 3):
            double(torch.ones(n))
        assert "is compiled again: argument 0: float32[2]" in capsys.readouterr().err
        with pytest.warns(UserWarning, match="no log of guards"):
            _logging.set_logs(guards=True, graph=10)
        assert log._asked == {"graph"}
        with pytest.raises(TypeError, match="unexpected keyword argument 'grafs'"):
            _logging.set_logs(grafs=True)
    finally:
        _logging.set_logs()
    assert not log._asked


def test_foreach_map():
    from rushlight.torch._higher_order_ops.foreach_map import foreach_map

    xs, ys = [torch.ones(2), torch.zeros(3)], [torch.ones(2) * 2, torch.ones(3)]
    assert [t.tolist() for t in foreach_map(torch.add, xs, ys)] == [[3, 3], [1, 1, 1]]
    assert [t.tolist() for t in foreach_map(torch.add, xs, torch.tensor(2.0))] == [[3, 3], [2, 2, 2]]
    assert [t.tolist() for t in foreach_map(torch.add, xs, ys[:1])] == [[3, 3]]
    assert foreach_map(torch.sin, xs[1]).tolist() == [0, 0, 0]
    assert foreach_map(torch.sin, []) == []
