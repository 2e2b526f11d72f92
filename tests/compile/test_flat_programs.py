"""Programs of elementwise operators for arrays of any shape: the kernels' results, whatever the size and the values."""

import tracemalloc

import numpy as np
import pytest
from numpy.lib import introspect

import rushlight as torch
from rushlight.compile import install
from rushlight.compile.jit import eager, flat
from rushlight.compile.jit.cache import Refused
from rushlight.compile.lower.llvm import engine
from rushlight.core import determinism
from rushlight.core.dispatch.op import FUNCTION_ROW, JIT_CANDIDATES, LARGE_ROW, NEVER, RECORDS
from rushlight.core.jit_switch import jit

pytestmark = pytest.mark.skipif(not engine.available(), reason="no compiler here")
ROWS = [r for r in JIT_CANDIDATES if r.kind != "general"]
KINDS = ["float32", "float64", "int64", "bool"]
SIZES = [1, 15, 16, 4095, 4096, 4097, 5 * 4096 + 37]
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    float("inf"),
    -float("inf"),
    float("nan"),
    1e-42,
    -1e-42,
    3e38,
    88.8,
    -104.0,
    0.5,
    -0.5,
]


@pytest.fixture(autouse=True)
def early(monkeypatch):
    install.prefer_programs()
    monkeypatch.setattr(jit, "on", True)
    monkeypatch.setattr(flat, "WARMUP", 1 << 60)
    flat._route.forget()
    yield
    flat._route.forget()


def operands(record, kind, size, seed=0):
    rng = np.random.default_rng(seed)
    arrays = []
    for _ in record.signature.arrays:
        a = rng.normal(size=size) * 3
        places = rng.permutation(size)[: len(SPECIAL)]
        if kind[0] == "f":
            a[places] = SPECIAL[: len(places)]
        arrays.append(a.astype(kind) if kind != "bool" else a > 0)
    return tuple(arrays)


def by_kernel(record, arrays):
    with np.errstate(all="ignore"):
        return record.kernel(*arrays)


USED = [
    "abs",
    "acos",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "ceil",
    "cos",
    "cosh",
    "div",
    "eq",
    "exp",
    "expm1",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "ge",
    "gt",
    "hypot",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "log",
    "log10",
    "log1p",
    "log2",
    "logaddexp",
    "logical_not",
    "lt",
    "maximum",
    "minimum",
    "mul",
    "ne",
    "neg",
    "pow.tensor",
    "reciprocal",
    "relu",
    "remainder",
    "rsqrt",
    "rsub",
    "sigmoid",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "sub",
    "tan",
    "tanh",
    "trunc",
]
LOOSE = {"silu_backward": 1e-4, "logaddexp": 1e-4, "lgamma": 1e-5, "digamma": 1e-5}  # near a zero


@pytest.mark.parametrize("record", ROWS, ids=lambda r: r.name)
def test_every_row(record):
    made = set()
    for kind in KINDS:
        example = operands(record, kind, 8)
        try:
            expected = by_kernel(record, example)
            program = flat._Program(record, example, {}, expected)
        except Exception:  # the kernel, or the compiler, refuses the type: the kernel stays
            continue
        made.add(kind)
        for size in SIZES:
            arrays = operands(record, kind, size, size)
            expected, got = by_kernel(record, arrays), program(arrays)
            assert got.dtype == expected.dtype and got.shape == expected.shape
            rtol, atol = (3e-6, 1e-37) if expected.dtype == np.float32 else (1e-12, 1e-300)
            if record.name in LOOSE:
                rtol = atol = LOOSE[record.name]
            np.testing.assert_allclose(got, expected, rtol, atol)
            if expected.dtype.kind == "f" and record.name not in LOOSE:
                assert (np.signbit(got) == np.signbit(expected))[~np.isnan(expected)].all()
    assert made or record.name not in USED


def test_one_program_serves_all_shapes_and_numbers():
    x = torch.randn(3, 1 << 17)
    assert eager.run  # loaded
    for _ in range(3):
        x.mul(0.5)
    assert len(flat._state.programs) == 1
    for shape, number in (((1 << 18, 2), 0.25), ((1 << 17,), -3.0), ((7, 3, 1 << 16), 7)):
        y = torch.randn(shape)
        result = y.mul(number)
        assert result.shape == y.shape and result.is_contiguous() and (result.numpy() == y.numpy() * number).all()
    assert len(flat._state.programs) == 1
    for _ in range(3):
        assert ((1.5 - x).numpy() == 1.5 - x.numpy()).all()
    assert len(flat._state.programs) == 2


def test_gradients_flow_through_programs():
    x = torch.randn(1 << 18, requires_grad=True)
    rows = []
    for _ in range(3):
        x.grad = None
        (x.exp() * x).sum().backward()
        rows.append(x.grad.clone())
    assert flat._state.programs
    torch.testing.assert_close(rows[0], rows[-1])


LAYOUTS = {
    "channels last": lambda x: x.contiguous(memory_format=torch.channels_last),
    "one image": lambda x: x.reshape(1, 8, 96, 512).contiguous(memory_format=torch.channels_last),
    "transposed": lambda x: x.transpose(0, 2),
    "with gaps": lambda x: torch.cat([x, x], 3)[..., 1:97],
    "in steps": lambda x: torch.cat([x, x], 3)[..., ::2],
    "expanded": lambda x: x[:, :1].expand(8, 8, 64, 96),
    "turned and with gaps": lambda x: torch.cat([x, x], 3)[..., 1:97].permute(3, 1, 0, 2),
    "as it is": lambda x: x,
}
MAPS = {
    "exp": lambda x, y: x.exp(),
    "add": lambda x, y: x + y,
    "sub": lambda x, y: y - x,
    "gt": lambda x, y: x > y,
    "where": lambda x, y: torch.where(x > 0, x, y),
    "relu": lambda x, y: x.relu(),
    "relu_": lambda x, y: x.clone().relu_(),
    "hardswish_": lambda x, y: torch.nn.functional.hardswish(x.clone(), inplace=True),
    "gelu": lambda x, y: torch.nn.functional.gelu(x),
    "silu": lambda x, y: torch.nn.functional.silu(x),
    "leaky_relu": lambda x, y: torch.nn.functional.leaky_relu(x, 0.2),
    "clamp": lambda x, y: x.clamp(-0.5, 0.7),
    "addcmul": lambda x, y: torch.addcmul(x, y, y, value=2),
    "lerp": lambda x, y: x.lerp(y, 0.3),
    "bias": lambda x, y: x + y[0, :, :1, :1] if y.shape[1] == x.shape[1] else x + y[0, 0, 0, 0],
    "power": lambda x, y: x.abs() ** 1.5,
    "tril": lambda x, y: x.tril(),
    "cumsum": lambda x, y: x.cumsum(1),
    "softmax": lambda x, y: x.softmax(1),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", MAPS)
def test_arrays_in_any_order_of_memory(name, layout, monkeypatch):
    """The kernels' results, in their memory order, of arrays that lie alike, of others mixed, and of operators that are no maps."""
    x = torch.randn(8, 8, 64, 96)
    moved = LAYOUTS[layout](x)
    alike = LAYOUTS[layout](torch.randn(8, 8, 64, 96))
    for y in (alike, alike.contiguous(), torch.randn(moved.shape[::-1]).permute(3, 2, 1, 0)):
        given = moved.clone(), y.clone()
        found = [MAPS[name](moved, y) for _ in range(3)]
        assert torch.equal(moved, given[0]) and torch.equal(y, given[1])
        monkeypatch.setattr(determinism.mode, "on", True)  # where nothing is replaced
        expected = MAPS[name](moved, y)
        monkeypatch.setattr(determinism.mode, "on", False)
        for result in found:
            assert [s for s, n in zip(result.stride(), result.shape, strict=True) if n > 1] == [
                s for s, n in zip(expected.stride(), result.shape, strict=True) if n > 1
            ]
            torch.testing.assert_close(result, expected, rtol=2e-5, atol=2e-6)


def test_what_lies_alike_in_another_order_needs_no_program_of_its_own():
    x = torch.randn(512, 600)
    for _ in range(3):
        x.exp()
    assert len(flat._state.programs) == 1
    (program,) = flat._state.programs.values()
    before = program.uses
    result = x.t().exp()
    assert len(flat._state.programs) == 1 and program.uses == before + 1 and result.stride() == x.t().stride()
    turned = x.t()
    address = turned.data_ptr()
    assert turned.exp_().data_ptr() == address


def test_threads_share_the_pieces():
    x = np.random.default_rng(0).normal(size=(4096 * 56 + 5)).astype(np.float32)
    record = torch.exp.record
    program = flat._Program(record, (x,), {}, np.exp(x))
    one = program((x,))
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3, 8):
            torch.set_num_threads(threads)
            assert (program((x,)) == one).all()
    finally:
        torch.set_num_threads(before)


NOT_ELEMENTWISE = {
    "flip": ((0,),), "roll": ((1,), (0,)), "softmax": (-1,), "cumsum": (-1,), "tril": (0,), "triu": (1,),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_ELEMENTWISE)
def test_operators_that_look_at_other_elements_are_refused(name):
    record = next(r for r in RECORDS if r.name == name and len(r.signature.metadata) >= len(NOT_ELEMENTWISE[name]))
    x = np.ones((4, 4), np.float32)
    with pytest.raises((Refused, TypeError, ValueError)):
        flat._Program(record, (x, *NOT_ELEMENTWISE[name]), {}, x)


@pytest.mark.parametrize(
    ("name", "kind", "order"), [("isnan", "int64", ()), ("isreal", "float32", ()), ("polygamma", "float32", (2,))]
)
def test_a_kernel_that_makes_arrays_like_its_operand_is_refused_at_once(name, kind, order):
    record = next(r for r in JIT_CANDIDATES if r.name == name)
    x = np.full(64, 2, kind)
    expected = record.kernel(x, *order)
    tracemalloc.start()
    try:
        with pytest.raises(Refused):
            flat._Program(record, (x, *order), {}, expected)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000  # it took 1 to 8 GB, and half a minute
    finally:
        tracemalloc.stop()


def test_nothing_is_replaced_in_the_deterministic_mode():
    x = torch.randn(1 << 18)
    torch.use_deterministic_algorithms(True)
    try:
        for _ in range(3):
            x.exp()
    finally:
        torch.use_deterministic_algorithms(False)
    assert not flat._state.programs


@pytest.mark.parametrize("name", ["fmod", "hypot", *(["sinh", "atan"] if FUNCTION_ROW else [])])
def test_what_numpy_computes_one_by_one_becomes_a_program_early(monkeypatch, name):
    monkeypatch.setattr(flat, "WARMUP", 5)
    record = next(r for r in RECORDS if r.name == name)
    x = torch.rand(5000) + 0.5
    operands = (x,) if record.kind == "unary" else (x, torch.rand(5000) + 0.5)
    key = flat.outline(record, [t.numpy() for t in operands], {})
    calls = 0
    while flat.find(key) is None and calls < 200:
        getattr(torch, name)(*operands)
        calls += 1
    result = getattr(torch, name)(*operands)
    assert 90 < calls < 110  # half a million elements
    np.testing.assert_allclose(result.numpy(), by_kernel(record, [t.numpy() for t in operands]), 3e-6)


def test_rows_without_vectors():
    loops = introspect.opt_func_info(func_name="^(sinh|arccos)$", signature="float32")
    vectors = any(not loop["current"].startswith("baseline") for found in loops.values() for loop in found.values())
    by_name = {r.name: r.jit_min_elements for r in ROWS}
    assert by_name["sinh"] == (LARGE_ROW if vectors else 4096)
    assert by_name["acos"] == (NEVER if vectors else 4096)


@pytest.mark.parametrize("name", ["erfinv", "digamma"])
def test_calls_of_few_elements_become_programs_where_each_takes_many_steps(name, monkeypatch):
    monkeypatch.setattr(flat, "WARMUP", 5)
    record = next(r for r in ROWS if r.name == name)
    a = np.linspace(0.1, 0.9, 64, dtype=np.float32)
    expected = by_kernel(record, (a,))
    for call in range(100):
        assert not flat._state.programs, f"a program after {call} calls of 64 elements: it cannot have paid"
        if call * 4096 * flat.WARMUP >= record.jit_warmup - 4096 * flat.WARMUP:
            break
        eager.run(record, (a,), {})
    for _ in range(3):
        eager.run(record, (a,), {})
    assert [key[0] for key in flat._state.programs] == [name]
    np.testing.assert_allclose(eager.run(record, (a,), {}), expected, rtol=2e-6)
