"""torch.export: programs that run as the module did, for the sizes that may change, and survive a file."""

import io

import pytest

import rushlight as torch
from rushlight import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 2)
        self.register_buffer("b", torch.ones(2))

    def forward(self, x, y=None, *, scale=1):
        return {"out": self.l(x) * scale + self.b, "y": y}


def exported(model, **options):
    x, y = torch.ones(4, 3), torch.ones(1)
    shapes = {"x": {0: torch.export.Dim("batch", max=100)}}
    return torch.export.export(model, (x,), {"y": y, "scale": 2}, dynamic_shapes=shapes, **options)


def test_it_does_what_the_module_does():
    model = Model()
    module = exported(model).module()
    x, y = torch.randn(7, 3), torch.ones(1)
    found, expected = module(x, y=y, scale=2), model(x, y=y, scale=2)
    assert torch.equal(found["out"], expected["out"]) and torch.equal(found["y"], y)
    assert torch.equal(module(x, scale=2, y=y)["out"], expected["out"])


def test_it_shares_the_parameters():
    model = Model()
    program = exported(model)
    assert sorted(program.state_dict) == ["b", "l.bias", "l.weight"]
    assert [n for n, _ in program.named_parameters()] == ["l.weight", "l.bias"] and len(list(program.buffers())) == 1
    module = program.module()
    assert [n for n, _ in module.named_parameters()] == ["l.weight", "l.bias"]
    module(torch.ones(2, 3), y=torch.ones(1), scale=2)["out"].sum().backward()
    assert model.l.weight.grad.tolist() == [[4.0] * 3] * 2


def test_other_arguments_are_refused():
    module = exported(Model()).module()
    y = torch.ones(1)
    with pytest.raises(AssertionError, match=r"Guard failed: y.size\(\)\[0\] == 1"):
        module(torch.ones(4, 3), y=torch.ones(2), scale=2)
    with pytest.raises(AssertionError, match="Guard failed"):
        module(torch.ones(4, 3), y=y, scale=3)
    with pytest.raises(ValueError, match="exported input tree spec"):
        module(torch.ones(4, 3), y, scale=2)
    with pytest.raises(AssertionError, match="dimensions"):
        module(torch.ones(3), y=y, scale=2)
    for mode in (module.train, module.eval):
        with pytest.raises(NotImplementedError, match="not supported yet"):
            mode()
    with pytest.raises(RuntimeError, match=r"exported_program.module\(\)"):
        exported(Model())(torch.ones(4, 3))


@pytest.mark.parametrize("where", ["memory", "file"])
def test_files(where, tmp_path):
    model = Model()
    program, place = exported(model), io.BytesIO() if where == "memory" else tmp_path / "p.pt2"
    torch.export.save(program, place, extra_files={"note": "hello"})
    if where == "memory":
        place.seek(0)
    extra = {"note": ""}
    again = torch.export.load(place, extra_files=extra)
    x, y = torch.randn(6, 3), torch.ones(1)
    assert torch.equal(again.module()(x, y=y, scale=2)["out"], model(x, scale=2)["out"]) and extra == {"note": "hello"}
    assert again.range_constraints == program.range_constraints == {"s77": (0, 100)}
    assert sorted(again.state_dict) == sorted(program.state_dict)
    assert str(again.graph).count("aten.linear") == str(program.graph).count("aten.linear") == 1
    with pytest.raises(AssertionError, match="Guard failed"):
        again.module()(x, y=torch.ones(2), scale=2)


def test_other_files_are_refused(tmp_path):
    torch.save({"a": 1}, tmp_path / "weights")
    (tmp_path / "text").write_text("no archive")
    for name in ("weights", "text"):
        with pytest.raises(RuntimeError, match="not written by Rushlight"):
            torch.export.load(tmp_path / name)
    with pytest.raises(TypeError, match="must be an instance of 'ExportedProgram'"):
        torch.export.save(Model(), tmp_path / "x")


def test_wrong_calls():
    with pytest.raises(ValueError, match="tuple of example positional inputs"):
        torch.export.export(Model(), torch.ones(4, 3))
    with pytest.raises(ValueError, match=r"instance of `torch.nn.Module`"):
        torch.export.export(lambda x: x, (torch.ones(1),))
    with pytest.raises(AssertionError, match="valid identifier"):
        torch.export.Dim("a b")
    assert [d.__name__ for d in torch.export.dims("a", "b", max=3)] == ["a", "b"]


def test_modes_stay_as_they_are():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    model[1].eval()
    torch.export.export(model, (torch.ones(3, 2),))
    assert model.training and not model[1].training


def test_sizes_that_are_joined_are_computed_again():
    traced = torch.jit.trace(lambda x: x.view(x.shape[:-1] + (2, 2)), torch.ones(2, 3, 4), check_trace=False)
    assert traced(torch.ones(5, 7, 4)).shape == (5, 7, 2, 2)
    traced = torch.jit.trace(lambda x: x.view((1,) + x.shape), torch.ones(2, 3), check_trace=False)
    assert traced(torch.ones(5, 7)).shape == (1, 5, 7)
    assert type((1,) + torch.Size([2])) is torch.Size
    with pytest.raises(TypeError, match="can only concatenate tuple"):
        torch.Size([2]) + [3]
    with pytest.raises(TypeError, match=r"item 1 is 'float'"):
        torch.Size([2]) + (2.0,)


def test_checks_of_sizes():
    class Checked(nn.Module):
        def __init__(self, of_data=False):
            super().__init__()
            self.of_data = of_data

        def forward(self, x):
            torch._check(x.shape[0] >= 2)
            torch._check(x.sum() > 0 if self.of_data else x.size(1) == 3, lambda: "three columns")
            return x * 2

    shapes = {"x": {0: torch.export.Dim("batch", min=2)}}
    program = torch.export.export(Checked(), (torch.ones(4, 3),), dynamic_shapes=shapes).module()
    assert program(torch.ones(5, 3)).shape == (5, 3)
    with pytest.raises(RuntimeError, match="three columns"):
        torch.export.export(Checked(), (torch.ones(4, 2),))
    with pytest.raises(TypeError, match="cond must be a bool"):
        torch.export.export(Checked(of_data=True), (torch.ones(4, 3),))


class Asks(nn.Module):
    """Gives what `torch.compiler` tells the code that runs."""

    def forward(self, x):
        c = torch.compiler
        factor = 2 if c.is_exporting() and c.is_compiling() and not c.is_dynamo_compiling() else 3
        return x * factor


def test_code_that_asks_whether_it_is_exported():
    model, x = Asks(), torch.ones(3, 2)
    for shapes in (None, {"x": {0: torch.export.Dim("n")}}):
        assert torch.export.export(model, (x,), dynamic_shapes=shapes).module()(x).tolist() == [[2.0] * 2] * 3
    assert model(x).tolist() == [[3.0] * 2] * 3 and not torch.compiler.is_exporting()


def test_an_export_that_fails_is_over():
    class Fails(nn.Module):
        def forward(self, x):
            raise KeyError("here")

    with pytest.raises(KeyError, match="here"):
        torch.export.export(Fails(), (torch.ones(1),))
    assert not torch.compiler.is_exporting() and not torch.compiler.is_compiling()


class Sum(nn.Module):
    def forward(self, x, y):
        return x + y


class Weights(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 2)

    def forward(self, x):
        return self.l(x)


class Fixed(nn.Module):
    def forward(self, x):
        return x.reshape(3, 2) * 2


D = torch.export.Dim
PAIR, SQUARES = (torch.ones(3, 2), torch.ones(3, 2)), (torch.ones(3, 3), torch.ones(3, 3))
BOTH = {0: D.AUTO, 1: D.AUTO}
ONE_AND_MORE = (torch.ones(1, 2), torch.ones(3, 2))
HINTS = {  # recorded from torch 2.13: the model, its arguments, the hints, the bounds by symbol, the sizes of x
    "sizes that must be equal": (Sum(), PAIR, ({0: D.AUTO}, {0: D.AUTO}), {"s17": (2, None)}, "s17, 2"),
    "two pairs": (Sum(), SQUARES, (BOTH, {0: D.DYNAMIC, 1: D.AUTO}), {"s17": (2, None), "s27": (2, None)}, "s17, s27"),
    "a size that is given": (Sum(), PAIR, ({0: D.AUTO}, None), {}, "3, 2"),
    "a size of 1": (Sum(), ONE_AND_MORE, ({0: D.AUTO}, {0: D.AUTO}), {"s17": (2, None)}, "1, 2"),
    "sizes in Python": (Fixed(), PAIR[:1], ({0: D.AUTO},), {}, "3, 2"),
    "weights": (Weights(), (torch.ones(3, 4),), (BOTH,), {"s77": (2, None)}, "s77, 4"),
    "bounds": (Weights(), (torch.ones(3, 4),), ((D.AUTO(min=1, max=5), D.STATIC),), {"s77": (2, 5)}, "s77, 4"),
}


@pytest.mark.parametrize("name", HINTS)
def test_sizes_that_the_module_decides_on(name):
    model, args, shapes, bounds, sizes = HINTS[name]
    program = torch.export.export(model, args, dynamic_shapes=shapes)
    assert program.range_constraints == {s: (low, high or 2**63 - 1) for s, (low, high) in bounds.items()}
    assert f'x: "f32[{sizes}]"' in str(program).partition("def forward")[2].partition("\n")[0]


@pytest.mark.parametrize(
    "example, error",
    [(torch.ones(3, 2), "specialized it to be a constant"), (torch.ones(1, 6), "export 0/1 specialized")],
)
def test_a_size_that_must_change_and_cannot(example, error):
    with pytest.raises((RuntimeError, ValueError), match=error):
        torch.export.export(Fixed(), (example,), dynamic_shapes=({0: D.DYNAMIC},))


def test_hints_of_sizes():
    assert repr(D.AUTO) == "DimHint(AUTO)" and repr(D.DYNAMIC(max=4)) == "DimHint(DYNAMIC, max=4)"
    assert (
        repr(D.STATIC(min=2)) == "DimHint(STATIC, min=2)" and repr(D.DYNAMIC(1, 1)) == "DimHint(DYNAMIC, min=1, max=1)"
    )
    for bounds, error in (
        ((-1,), "min must be non-negative, got -1"),
        ((3, 2), "min must be <= max, got min=3, max=2"),
    ):
        with pytest.raises(AssertionError, match=error):
            D.AUTO(*bounds)
    with pytest.raises(TypeError, match="not callable"):
        D.AUTO(2)(max=3)


def test_a_module_that_is_exported_is_not_told_that_it_is_traced():
    seen = []

    class Asks(nn.Module):
        def forward(self, x):
            state = torch._C._get_tracing_state()
            seen.append((torch.jit.is_tracing(), torch._C._is_tracing(), state is None, torch.compiler.is_exporting()))
            return x + 1

    torch.export.export(Asks(), (torch.ones(2),))
    torch.jit.trace(Asks(), torch.ones(2), check_trace=False)
    assert seen == [(False, False, True, True), (True, True, False, False)]


@pytest.mark.parametrize(
    ("shapes", "named", "said"),
    [
        (((1, 3), (1, 3)), ("b", "b"), ["b"]),
        (((4, 3), (1, 3)), ("b", "h"), ["h"]),
        (((1, 3), (0, 3)), ("b", "h"), ["b", "h"]),
    ],
)
def test_a_named_size_of_zero_or_one_is_refused(shapes, named, said):
    class Sums(nn.Module):
        def forward(self, x, y):
            return x.sum(1), y.sum(1)

    dims = {name: torch.export.Dim(name) for name in named}
    given = {place: {0: dims[name]} for place, name in zip("xy", named, strict=True)}
    with pytest.raises(torch._dynamo.exc.UserError) as raised:
        torch.export.export(Sums(), tuple(torch.ones(*s) for s in shapes), dynamic_shapes=given)
    text = str(raised.value)
    assert text.startswith(f"Constraints violated ({', '.join(said)})!")
    assert "specialized it to be a constant (1)" in text
    assert text.split("Suggested fixes:\n")[1].split("\n") == [
        f"  {name} = {dict(zip(named, shapes, strict=True))[name][0]}" for name in said
    ]


def test_a_dimension_shows_its_bounds():
    assert [repr(torch.export.Dim("b")), repr(torch.export.Dim("b", min=1, max=8))] == [
        "Dim('b', min=0)", "Dim('b', min=1, max=8)",
    ]  # fmt: skip


class OfBuiltins(torch.nn.Module):
    def forward(self, input, dict, *, sum):
        return input * dict + sum


@pytest.mark.parametrize("decomposed", [False, True])
def test_inputs_keep_the_names_of_builtins(decomposed):
    """Their nodes too, of which the graph's print shows the names."""
    exported = torch.export.export(OfBuiltins(), (torch.ones(2), torch.ones(2)), {"sum": torch.ones(2)})
    if decomposed:
        exported = exported.run_decompositions()
    names = [node.name for node in exported.graph.nodes]
    assert names[:3] == ["input", "dict", "sum"] and "sum_1" not in names
    assert "%input : [num_users=1] = placeholder[target=input]" in str(exported.graph)
    assert exported.module()(torch.ones(2), torch.ones(2), sum=torch.ones(2)).tolist() == [2, 2]
