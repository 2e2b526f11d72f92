"""Several Externs in one program: an arena, a pointer table that changes, one thread and all."""

import numpy as np
import pytest

from rushlight.backend.onednn import library
from rushlight.compile.ir.graph import Extern, Value
from rushlight.compile.lower.llvm.program import Program
from rushlight.compile.lower.onednn import Binder, Needs, bind, kernels, serves

pytestmark = pytest.mark.skipif(not (library.available() and kernels.available()), reason="needs oneDNN and llvmlite")


def random(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def test_arena_and_moving_arguments():
    x, w, bias, hidden, out = (Value(s, "f4") for s in ((50, 300), (200, 300), (200,), (50, 200), (50, 300)))
    arena = np.zeros(1 << 16, np.float32)
    places = {x: ("table", 0), w: ("table", 1), bias: ("table", 2), hidden: ("arena", 256), out: ("table", 3)}
    program = Program(arena.ctypes.data)
    binder = Binder(program, places.__getitem__)
    for node in (
        Extern("matmul", (x.ref(), w.ref().permute((1, 0)), bias.ref()), (hidden.ref(),)),
        Extern("matmul", (hidden.ref(), w.ref()), (out.ref(),)),
    ):
        assert bind(node, binder)
    step = program.finish()
    for seed in range(3):
        arrays = (
            random(50, 300, seed=seed),
            random(200, 300, seed=seed),
            random(200, seed=seed),
            np.empty((50, 300), "f4"),
        )
        table = np.array([a.ctypes.data for a in arrays], np.int64)
        binder.rebind(table)
        step(table.ctypes.data)
        a, b, c, got = arrays
        np.testing.assert_allclose(got, (a @ b.T + c) @ b, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("onto_same_place", [True, False])
def test_accumulation_copies_unless_it_lies_on_top(onto_same_place):
    x, y, old, new = (Value(s, "f4") for s in ((6, 5), (5, 4), (6, 4), (6, 4)))
    arrays = {x: random(6, 5), y: random(5, 4), old: random(6, 4), new: np.zeros((6, 4), np.float32)}
    if onto_same_place:
        arrays[new] = arrays[old]
    before = arrays[old].copy()
    program = Program()
    binder = Binder(program, lambda v: ("address", arrays[v].ctypes.data))
    assert bind(Extern("matmul", (x.ref(), y.ref()), (new.ref(),), onto=(old,)), binder)
    assert len(program) == (1 if onto_same_place else 2)
    program.finish()()
    np.testing.assert_allclose(arrays[new], before + arrays[x] @ arrays[y], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("known", [True, False])
def test_a_matrix_used_often_is_packed_once(known):
    w = Value((600, 300), "f4")
    arrays, nodes, pairs = {w: random(600, 300)}, [], []
    for seed in range(5):
        x, out = Value((20, 300), "f4"), Value((20, 600), "f4")
        arrays[x], arrays[out] = random(20, 300, seed=seed), np.empty((20, 600), np.float32)
        nodes.append(Extern("matmul", (x.ref(), w.ref().permute((1, 0))), (out.ref(),)))
        pairs.append((arrays[x], arrays[out]))
    program = Program()
    needs = Needs(nodes if known else [])
    packs = dict.fromkeys(needs.packs, 0)
    binder = Binder(program, lambda v: ("address", arrays[v].ctypes.data), needs.uses, packs)
    assert all(bind(node, binder) for node in nodes)
    assert len(program) == (6 if known else 5)
    step = program.finish()
    for factor in (1, 3):  # packed again in every run
        arrays[w] *= factor
        step()
        for x, out in pairs:
            np.testing.assert_allclose(out, x @ arrays[w].T, rtol=1e-4, atol=1e-3)


def test_unknown_kinds_are_refused_and_leave_no_steps():
    x = Value((3, 3), "f4")
    program = Program()
    node = Extern("sorting", (x.ref(),), (Value((3, 3), "f4").ref(),))
    assert not serves(node) and not bind(node, Binder(program, lambda v: ("address", 0)))
    assert len(program) == 0
