"""Every row of the table of scalar operators: an emitter, NumPy's values for each type, and how a row is added."""

import math

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("llvmlite")

from native import map_native

import rushlight as torch
from rushlight.compile.ir import scalar_ops
from rushlight.compile.ir.expression import apply
from rushlight.compile.ir.scalar_ops import SCALAR_OPS, ScalarOp
from rushlight.compile.lower.llvm import emitters
from rushlight.compile.lower.llvm.arithmetic import register
from rushlight.compile.lower.llvm.ir import number
from rushlight.compile.runtime.native import optimise
from rushlight.core.dispatch.op import OPS, RECORDS, unary

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
TYPES = {
    "f": [np.dtype(t) for t in (np.float32, np.float64, np.float16)] + [BFLOAT16],
    "i": [np.dtype(t) for t in (np.int8, np.int16, np.int32, np.int64)],
    "u": [np.dtype(np.uint8)],
    "b": [np.dtype(np.bool_)],
}
CASES = [(name, d) for name, row in SCALAR_OPS.items() for kind in row.kinds for d in TYPES[kind]]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -3.0, 7.25, 30.0, -30.0, 1e3, 1e-3, math.inf, -math.inf, math.nan]
WHOLE = [0, 1, 2, 3, 7, -1, -2, -3, 100, -100]
ULPS = {"erfc": 4, "logaddexp": 4, "pow": 3, "hypot": 3, "atan2": 3}  # of the others: 2


def operands(row, dtype):
    """All pairs, or triples, of special values."""
    if dtype.kind == "b":
        values = np.array([False, True])
    elif dtype in TYPES["f"]:
        values = np.array([*SPECIAL, np.finfo(np.float64 if dtype == np.float64 else np.float32).tiny])
    else:
        info = np.iinfo(dtype)
        values = np.array([v for v in WHOLE if v >= info.min] + [info.min, info.max])
    with np.errstate(all="ignore"):
        values = values.astype(dtype)
    rows = [a.ravel() for a in np.meshgrid(*[values] * row.arity)]
    if row.name == "where":
        rows[0] = rows[0].astype(bool)
    return rows


def reference(row, arrays, dtype):
    """NumPy's result; of 16-bit floats computed in float32."""
    short = dtype in TYPES["f"] and dtype.itemsize == 2
    with np.errstate(all="ignore"):
        arrays = [a.astype(np.float32) if short and a.dtype == dtype else a for a in arrays]
        result = row.numpy(*arrays)
        return result.astype(dtype) if short and result.dtype != bool else result


@pytest.mark.parametrize(("name", "dtype"), CASES, ids=lambda x: str(x))
def test_each_row_agrees_with_numpy(name, dtype):
    row = SCALAR_OPS[name]
    arrays = operands(row, dtype)
    if name in ("pow", "shl", "shr") and dtype.kind in "iu":
        # NumPy raises for negative powers, and leaves shifts by more than the width open
        arrays[1] = np.abs(arrays[1]) % dtype.type(7)
    (got,) = map_native([lambda *e: apply(name, *e)], *arrays)
    want = reference(row, arrays, dtype)
    assert got.dtype == (np.bool_ if row.gives_bool else dtype)
    if dtype not in TYPES["f"] or row.gives_bool:
        np.testing.assert_array_equal(got, want.astype(got.dtype))
        return
    wide_got, wide_want = got.astype(np.float64), want.astype(np.float64)
    same = (wide_got == wide_want) | (np.isnan(wide_got) & np.isnan(wide_want))
    with np.errstate(all="ignore"):
        step = np.abs(np.spacing(want.astype(dtype)).astype(np.float64))
        near = np.abs(wide_got - wide_want) <= (0 if row.exact else ULPS.get(name, 2)) * step
    wrong = np.flatnonzero(~(same | near))
    assert not wrong.size, [(tuple(a[i] for a in arrays), got[i], want[i]) for i in wrong[:5]]


@pytest.mark.parametrize("row", SCALAR_OPS.values(), ids=lambda r: r.name)
def test_each_row_has_an_emitter_for_its_types(row):
    for kind, types in TYPES.items():
        for dtype in types:
            found = emitters.emitter(row.name, register(dtype))
            assert found is not None or kind not in row.kinds, dtype
    assert row.arity == getattr(row.numpy, "nin", row.arity)
    assert row.cost > 0 and row.on_bool in ("", *SCALAR_OPS)


def test_costs_of_what_is_no_operator():
    assert scalar_ops.cost("const") == 0 < scalar_ops.cost("load") < scalar_ops.cost("gather")
    with pytest.raises(KeyError):
        scalar_ops.cost("nothing")


def test_mistakes_in_rows_and_emitters():
    with pytest.raises(ValueError, match="'exp' is registered twice"):
        scalar_ops.register(ScalarOp("exp", np.exp))
    for name, kind in (("nothing", "float"), ("exp", "complex")):
        with pytest.raises(ValueError, match="no scalar operator"):
            emitters.emits(name, kind)(lambda b, x: x)
    with pytest.raises(ValueError, match="two emitters"):
        emitters.emits("exp", "float")(lambda b, x: x)


@pytest.fixture
def tables():
    """Takes out again what a test adds."""
    before = [(t, set(t)) for t in (SCALAR_OPS, scalar_ops.BY_UFUNC, emitters._emitters, OPS)]
    records = len(RECORDS)
    yield
    del RECORDS[records:]
    for table, keys in before:
        for key in set(table) - keys:
            del table[key]


@pytest.mark.parametrize("by", ["emitter", "libm"])
def test_a_scalar_function_is_a_row_and_an_emitter(by, tables):
    """As CONTRIBUTING.md says: a training step with it has no call of a kernel left."""
    scalar_ops.register(ScalarOp("cbrt", np.cbrt, cost=60, libm="cbrt" if by == "libm" else ""))
    if by == "emitter":

        @emitters.emits("cbrt")
        def _(b, x):
            size = b.intrinsic("fabs", x)
            root = emitters.emitter("pow", x.elem)(b, size, b.splat(number(1 / 3, x.elem), x.lanes))
            return b.intrinsic("copysign", root, x)

    cbrt = unary("test_cbrt_" + by, np.cbrt, lambda g, out: g / (3 * out * out), "The cube root of each element.")
    torch.manual_seed(0)
    w, x = torch.randn(5, 7, requires_grad=True), torch.randn(5, 7)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def step():
        optimizer.zero_grad()
        loss = ((cbrt(w * 1.5) - x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    start, rows = w.detach().clone(), []
    for run in (step, torch.compile(step, fullgraph=True)):
        with torch.no_grad():
            w.copy_(start)
        rows.append([run().item() for _ in range(6)])
    np.testing.assert_allclose(rows[1], rows[0], 1e-5)
    (graph,) = torch.compile.explain(torch.compile(lambda: cbrt(x).sum()))().graphs
    assert [type(node).__name__ for node in optimise(graph).nodes] == ["Nest"]
