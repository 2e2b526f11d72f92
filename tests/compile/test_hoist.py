"""What varies along few axes of a loop is worked out once, before it, with the same bits."""

import numpy as np
from evaluate import Memory, run_node

import rushlight as torch
from rushlight import nn
from rushlight.compile.ir.expression import apply, const, load
from rushlight.compile.ir.graph import Graph, Loop, Reduce, Store, Value
from rushlight.compile.passes.hoist import hoist

F32 = np.dtype(np.float32)


def _scaled(rows, columns, axis):
    """x / sqrt(v + 1) over a matrix, v varying along an axis; (x, v, the expression)."""
    x, v = Value((rows, columns), F32), Value(((rows, columns)[axis],), F32)
    along = v.ref()._replace(shape=(rows, columns), strides=(0, 1) if axis else (1, 0))
    root = apply("sqrt", apply("add", load(along), const(1, F32)))
    return x, v, apply("div", load(x.ref()), root)


def _run(nodes, x, v):
    rng = np.random.default_rng(0)
    memory = Memory({x: rng.standard_normal(x.size).astype(F32), v: rng.random(v.size).astype(F32)})
    for node in nodes:
        run_node(node, memory)
    return memory


def _hoisted(node, x, v):
    graph = Graph()
    graph.inputs, graph.nodes = {x: None, v: None}, [node]
    return hoist(graph).nodes


def test_what_varies_along_the_columns_alone_is_worked_out_before():
    x, v, e = _scaled(40, 6, 1)
    out = Value((40, 6), F32)
    node = Loop((40, 6), [Store(out.ref(), e)])
    first, second = _hoisted(node, x, v)
    assert first.space == (6,) and second.space == (40, 6)
    assert {y.op for y in first.stores[0].expr.walk()} >= {"sqrt", "add"}
    assert {y.op for y in second.stores[0].expr.walk()} == {"load", "div"}
    assert np.array_equal(_run([node], x, v)[out], _run([first, second], x, v)[out])


def test_a_reduction_too():
    x, v, e = _scaled(40, 6, 1)
    out = Value((6,), F32)
    node = Reduce((40, 6), (0,), "sum", e, out)
    first, second = _hoisted(node, x, v)
    assert first.space == (6,) and isinstance(second, Reduce)
    assert np.array_equal(_run([node], x, v)[out], _run([first, second], x, v)[out])


def test_what_generated_code_shares_or_repeats_little_remains():
    for rows, columns, axis in (40, 6, 0), (4, 6, 1), (1, 600, 1):
        x, v, e = _scaled(rows, columns, axis)
        node = Loop((rows, columns), [Store(Value((rows, columns), F32).ref(), e)])
        assert _hoisted(node, x, v) == [node]


def test_the_two_zeros_are_not_one():
    x, v, root = _scaled(40, 6, 1)
    signs = [apply("copysign", apply("abs", root), const(zero, F32)) for zero in (0.0, -0.0)]
    out = [Value((40, 6), F32) for _ in signs]
    node = Loop((40, 6), [Store(value.ref(), e) for value, e in zip(out, signs, strict=True)])
    memory = _run(_hoisted(node, x, v), x, v)
    assert not np.signbit(memory[out[0]]).any() and np.signbit(memory[out[1]]).all()


def test_a_cheap_part_remains():
    x, v, _ = _scaled(40, 6, 1)
    along = v.ref()._replace(shape=(40, 6), strides=(0, 1))
    e = apply("mul", load(x.ref()), apply("add", load(along), const(1, F32)))
    node = Loop((40, 6), [Store(Value((40, 6), F32).ref(), e)])
    assert _hoisted(node, x, v) == [node]


def test_normalisation_over_channels_that_are_last():
    net = nn.Sequential(nn.Conv2d(8, 24, 1), nn.BatchNorm2d(24), nn.SiLU(), nn.Conv2d(24, 8, 1), nn.BatchNorm2d(8))
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            nn.init.uniform_(m.running_var, 0.5, 2)
            nn.init.normal_(m.running_mean)
    step = torch.compile(net.eval())
    for _ in range(4):
        x = torch.randn(3, 8, 9, 9).to(memory_format=torch.channels_last)
        with torch.no_grad():
            torch.testing.assert_close(step(x), net(x))
