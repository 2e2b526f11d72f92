"""Operators that programs register by `torch.library`, and `torch.ops`: values and messages are torch's."""

import pytest

PROGRAM = """
import torch

def says(f):
    try: print(f())
    except Exception as error: print(type(error).__name__, str(error).splitlines()[0][:90])

@torch.library.custom_op("my::scaled", mutates_args=())
def scaled(x: torch.Tensor, k: float = 2.0, *, n: int = 3) -> torch.Tensor:
    return x * k * n

x = torch.ones(2, requires_grad=True)
print(scaled, torch.ops.my.scaled, torch.ops.my.scaled.default.name(), scaled._schema)
print(scaled(x), torch.ops.my.scaled(x.detach(), k=1.0, n=1))
says(lambda: scaled(x).sum().backward())
says(lambda: scaled("a"))
says(lambda: scaled())
says(lambda: scaled(x, 1.0, 2))
says(lambda: scaled(x, q=3))
says(lambda: torch.ops.my.other)
says(lambda: torch.library.define("my::scaled", "(Tensor x) -> Tensor"))
says(lambda: torch.library.define("scaled", "(Tensor x) -> Tensor"))
says(lambda: torch.library.custom_op("my::plain", lambda x: x, mutates_args=()))
says(lambda: torch.library.Library("my", "ABC"))

torch.library.define("my::two", "(Tensor x, float eps=1e-5, int[] s=[1, 2]) -> (Tensor, Tensor)")
says(lambda: torch.ops.my.two(x))
torch.library.impl("my::two", "cpu", lambda x, eps, s: (x + len(s), x * 2))
print(torch.ops.my.two(x))
torch.library.register_autograd("my::two", lambda ctx, a, b: (a + 2 * b, None, None))
sum(t.sum() for t in torch.ops.my.two(x)).backward()
print(x.grad)

@torch.library.custom_op("my::weighted", mutates_args=())
def weighted(tensors: list[torch.Tensor], weights: list[float]) -> list[torch.Tensor]:
    return [t * w for t, w in zip(tensors, weights)]

def keep(ctx, inputs, output):
    ctx.weights = inputs[1]

weighted.register_autograd(lambda ctx, gs: ([g * w for g, w in zip(gs, ctx.weights)], None), setup_context=keep)
x.grad = None
first, second = weighted([x, x], [2.0, 3.0])
(first + second).sum().backward()
print(x.grad)

@torch.library.custom_op("my::sin_", mutates_args={"x"})
def sin_(x: torch.Tensor) -> None:
    x.sin_()

y = torch.zeros(2)
print(sin_._schema, sin_(y), y)
lib = torch.library.Library("lb", "DEF")
lib.define("times(Tensor x, int n=2) -> Tensor")
lib.impl("times", lambda x, n=2: x * n, "CompositeImplicitAutograd")
print(torch.ops.lb.times(x), torch.ops.lb.times.default(x, 5))
print(torch.ops.aten.add.Tensor(y, 1), torch.ops.aten.add.Tensor is torch.ops.aten.add.Tensor)

# kernels that come before their operators
torch.library.impl("late::shifted", ["CPU", "CUDA"], lambda x, bits: x + bits)
print(hasattr(torch.ops.late, "shifted"))
torch.library.define("late::shifted", "(Tensor x, int bits) -> Tensor")
torch.library.impl("late::shifted", "default", lambda x, bits: x - bits)
print(torch.ops.late.shifted(y, 3))
late = torch.library.Library("later", "DEF")
late.impl("doubled", lambda x: x * 2, "CPU")
late.define("doubled(Tensor x) -> Tensor")
torch.library.register_kernel("later::named", "cpu", lambda x: x + 1)
late.define("named(Tensor x) -> Tensor")
print(torch.ops.later.doubled(y + 1), torch.ops.later.named(y))
taken = torch.library.Library("taken", "DEF")
taken.impl("back", lambda x: x, "CPU")
taken._destroy()
again = torch.library.Library("taken", "DEF")
again.define("back(Tensor x) -> Tensor")
says(lambda: torch.ops.taken.back(y))
"""
PRINTED = """\
<CustomOpDef(my::scaled)> my.scaled my::scaled (Tensor x, float k=2.0, *, SymInt n=3) -> Tensor
tensor([6., 6.], grad_fn=<GeneratedBackwardFor_my_scaled_defaultBackward>) tensor([1., 1.])
RuntimeError Trying to backward through my.scaled.default but no autograd formula was registered. Pleas
RuntimeError my::scaled() Expected a value of type 'Tensor' for argument 'x' but instead found type 's
RuntimeError my::scaled() is missing value for argument 'x'. Declaration: my::scaled(Tensor x, float k
RuntimeError my::scaled() takes 2 positional argument(s) but 3 was/were given.  Declaration: my::scale
RuntimeError Unknown keyword argument 'q' for operator 'my::scaled'. Schema: my::scaled(Tensor x, floa
AttributeError '_OpNamespace' 'my' object has no attribute 'other'
RuntimeError Tried to register an operator (my::scaled(Tensor x) -> Tensor) with the same name and ove
ValueError Expected `qualname` to be of the form "namespace::name", but got scaled. The qualname pass
ValueError infer_schema(func): Parameter x must have a type annotation. Got func with signature (x))
ValueError Unsupported kind: ABC
NotImplementedError Could not run 'my::two' with arguments from the 'CPU' backend.
(tensor([3., 3.], grad_fn=<AddBackward0>), tensor([2., 2.], grad_fn=<MulBackward0>))
tensor([3., 3.])
tensor([5., 5.])
(Tensor(a0!) x) -> () None tensor([0., 0.])
tensor([2., 2.], grad_fn=<MulBackward0>) tensor([5., 5.], grad_fn=<MulBackward0>)
tensor([1., 1.]) True
False
tensor([3., 3.])
tensor([2., 2.]) tensor([1., 1.])
NotImplementedError Could not run 'taken::back' with arguments from the 'CPU' backend.
"""  # what torch 2.13 prints, but for what follows in a message


def test_registered_operators(program):
    for mine, torchs in zip(program.prints(PROGRAM).splitlines(), PRINTED.splitlines(), strict=True):
        assert mine.startswith(torchs)


def test_absent_inner_operators_are_keys_and_raise_at_the_call(program):
    text = """
import torch
table = {torch.ops.aten._sparse_mm_reduce_impl.default: 1}
print(table[torch.ops.aten._sparse_mm_reduce_impl.default], torch.ops.aten._sparse_mm_reduce_impl.default)
try: torch.ops.aten._sparse_mm_reduce_impl(torch.ones(1))
except NotImplementedError as error: print(error)
"""
    assert program.prints(text).splitlines() == [
        "1 aten._sparse_mm_reduce_impl.default",
        "Rushlight does not have torch.ops.aten._sparse_mm_reduce_impl",
    ]


@pytest.mark.parametrize(
    ("annotations", "schema"),
    [
        ("x: torch.Tensor | None = None", "(Tensor? x=None) -> Tensor"),
        ("x: torch.Tensor, d: torch.dtype = torch.float32", "(Tensor x, ScalarType d=float32) -> Tensor"),
        ('x: list[torch.Tensor], *, m: str = "sum"', '(Tensor[] x, *, str m="sum") -> Tensor'),
        (
            "x: torch.Tensor, s: Sequence[int], f: float | int | bool = 1",
            "(Tensor x, SymInt[] s, Scalar f=1) -> Tensor",
        ),
    ],
)
def test_inferred_schemas(annotations, schema):
    from collections.abc import Sequence

    import rushlight
    from rushlight.torch._schema import infer_schema, parse_schema

    scope = {"torch": rushlight, "Sequence": Sequence}
    exec(f"def f({annotations}) -> torch.Tensor: ...", scope)
    assert infer_schema(scope["f"], mutates_args=()) == schema
    assert str(parse_schema(schema, "a::b")) == f"a::b{schema}"
