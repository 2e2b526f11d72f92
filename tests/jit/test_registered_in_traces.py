"""Operators that a program registers (`torch.library`) are one step of a trace; texts recorded from torch 2.13."""

import io
import re

import pytest

import rushlight as torch
from rushlight import Tensor, ones

GRAPH = """\
graph(%x : Float(2, strides=[1], requires_grad=0, device=cpu)):
  %1 : int = prim::Constant[value=2]()
  %2 : Float(2, strides=[1], requires_grad=0, device=cpu) = traced::by_numpy(%x, %1)
  %3 : float = prim::Constant[value=0.5]()
  %4 : Float(2, strides=[1], requires_grad=0, device=cpu), %c : Float(2, strides=[1], requires_grad=0, device=cpu) = traced::two(%2, %x, %3)
  %6 : Tensor[] = prim::ListConstruct(%2, %4)
  %7 : int = prim::Constant[value=1]()
  %8 : int = prim::Constant[value=2]()
  %9 : int[] = prim::ListConstruct(%7, %8)
  %10 : Tensor[] = traced::many(%6, %9)
  %11 : Float(2, strides=[1], requires_grad=0, device=cpu), %12 : Float(2, strides=[1], requires_grad=0, device=cpu) = prim::ListUnpack(%10)
  %13 : int = prim::Constant[value=1]()
  %14 : Float(2, strides=[1], requires_grad=0, device=cpu) = aten::add(%11, %12, %13)
  %15 : float = prim::Constant[value=2.]()
   = traced::scaled_in_place(%14, %15)
  %16 : int = prim::Constant[value=3]()
  %17 : Float(2, strides=[1], requires_grad=0, device=cpu) = traced::composite(%14, %16)
  %18 : int = prim::Constant[value=1]()
  %19 : Float(2, strides=[1], requires_grad=0, device=cpu) = aten::add(%17, %c, %18)
  return (%19)
"""
CODE = """\
def f(x: Tensor) -> Tensor:
  _0 = ops.traced.by_numpy(x, 2)
  _1, c = ops.traced.two(_0, x)
  _2, _3, = ops.traced.many([_0, _1], [1, 2])
  _4 = torch.add(_2, _3)
  ops.traced.scaled_in_place(_4, 2.)
  _5 = torch.add(ops.traced.composite(_4, k=3), c)
  return _5
"""


@torch.library.custom_op("traced::by_numpy", mutates_args=())
def by_numpy(x: Tensor, k: int) -> Tensor:
    return torch.from_numpy(x.detach().numpy() * int(k))


@torch.library.custom_op("traced::two", mutates_args=())
def two(x: Tensor, y: Tensor, s: float = 0.5) -> tuple[Tensor, Tensor]:
    return x * s, y + s


@torch.library.custom_op("traced::many", mutates_args=())
def many(x: list[Tensor], k: list[int]) -> list[Tensor]:
    return [t * i for t, i in zip(x, k, strict=True)]


@torch.library.custom_op("traced::scaled_in_place", mutates_args=("x",))
def scaled_in_place(x: Tensor, k: float) -> None:
    x.mul_(k)


LIBRARY = torch.library.Library("traced", "FRAGMENT")
for schema, kernel in (
    ("composite(Tensor x, *, int k=2) -> Tensor", lambda x, *, k=2: x * k + 1),
    ("number(Tensor x) -> int", lambda x: 3),
):
    LIBRARY.impl(LIBRARY.define(schema), kernel, "CompositeImplicitAutograd")
composite, number = (torch.library._operator(f"traced::{name}") for name in ("composite", "number"))


def f(x):
    a = by_numpy(x, 2)
    b, c = two(a, x)
    d = many([a, b], [1, 2])
    e = d[0] + d[1]
    scaled_in_place(e, 2.0)
    return composite(e, k=3) + c


def test_the_graph_has_one_step_for_each():
    program = torch.jit.trace(f, (ones(2),))
    assert re.sub(r" #.*", "", str(program.graph)) == GRAPH
    assert program.code.strip() == CODE.strip()
    assert torch.equal(program(ones(3) * 2), f(ones(3) * 2))


def test_sizes_are_computed_again():
    program = torch.jit.trace(lambda x: by_numpy(x, x.shape[0]), (ones(2),))
    assert program(ones(5)).tolist() == [5.0] * 5


def test_a_file_of_the_program():
    file = io.BytesIO()
    torch.jit.save(torch.jit.trace(f, (ones(2),)), file)
    file.seek(0)
    assert torch.equal(torch.jit.load(file)(ones(3) * 2), f(ones(3) * 2))


def test_an_exported_program_calls_it_again():
    class Module(torch.nn.Module):
        def forward(self, x):
            return by_numpy(x, 3) + 1

    program = torch.export.export(Module(), (ones(2),))
    assert program.module()(ones(2) * 5).tolist() == [16.0, 16.0]


def test_results_that_are_no_tensors():
    with pytest.raises(RuntimeError, match="unsupported output type: int, from operator: traced::number"):
        torch.jit.trace(lambda x: x * number(x), (ones(2),))
