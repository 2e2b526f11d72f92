"""Tensors over a mesh of two dimensions: parts, layouts, sums, training and checkpoints, against nested `chunk`s."""

import itertools
import math
import shutil
import tempfile

import pytest
from several import results_of

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.distributed import checkpoint
from rushlight.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

SIZE = 4
LAYOUTS = [list(pair) for pair in itertools.product((Replicate(), Shard(0), Shard(1)), repeat=2)]
SHAPES = [(8, 4), (7, 5), (3, 2), (1, 3), (0, 4)]


def part(whole, layout, coordinate):
    """What a process has: each dimension of the mesh cuts what the one before has left."""
    for placement, rank in zip(layout, coordinate, strict=True):
        if isinstance(placement, Shard):
            parts = whole.chunk(2, placement.dim)
            whole = parts[rank] if rank < len(parts) else whole.narrow(placement.dim, 0, 0)
    return whole


def enter(rank):
    mesh = dist.init_device_mesh("cpu", (2, 2))
    return mesh, mesh.get_coordinate()


def parts_and_layouts(rank, size):
    (mesh, at), wrong = enter(rank), []
    for shape in SHAPES:
        whole = torch.arange(1.0, 1 + math.prod(shape)).view(shape)
        for layout in LAYOUTS:
            t = distribute_tensor(whole if not rank else torch.zeros(shape), mesh, layout)
            same = distribute_tensor(whole, mesh, layout, src_data_rank=None)
            back = DTensor.from_local(t.to_local(), mesh, layout)
            mine = part(whole, layout, at)
            ok = [torch.equal(x.to_local(), mine) and x.to_local().shape == mine.shape for x in (t, same, back)]
            ok += [torch.equal(x.full_tensor(), whole) for x in (t, same, back)]
            for other in LAYOUTS:
                u = t.redistribute(placements=other)
                ok.append(u.placements == tuple(other) and torch.equal(u.to_local(), part(whole, other, at)))
            if not all(ok):
                wrong.append((shape, layout, ok))
    return wrong


def reductions(rank, size):
    (mesh, _), wrong = enter(rank), []
    whole = torch.arange(-10.0, 25.0).view(7, 5)
    for layout in LAYOUTS:
        t = distribute_tensor(whole, mesh, layout)
        sums = (
            (t * 2 + 1).sum(),
            t.mean(),
            t.norm(),
            torch.linalg.vector_norm(t, math.inf),
            torch.linalg.vector_norm(t, 3),
            torch.linalg.vector_norm(t.sum()),
            torch.stack([t.sum(), t.mean()]).norm(),
        )
        flags = [bool(x.full_tensor()) for x in ((t < 25).all(), (t < 24).all(), (t > 23).any(), (t > 24).any())]
        expected = (
            (whole * 2 + 1).sum(),
            whole.mean(),
            whole.norm(),
            whole.abs().max(),
            torch.linalg.vector_norm(whole, 3),
            whole.sum().abs(),
            torch.stack([whole.sum(), whole.mean()]).norm(),
        )
        close = [torch.isclose(a.full_tensor(), b).item() for a, b in zip(sums, expected, strict=True)]
        if not all(close) or flags != [True, False, True, False]:
            wrong.append((layout, close, flags))
    return wrong


def terms(rank, size):
    """`Partial` along the mesh's first dimension, whole along the second: two terms."""
    (mesh, at), found = enter(rank), {}
    first, second = torch.tensor([1.0, -2.0, 3.0]), torch.tensor([4.0, 5.0, -6.0])
    whole = {"sum": first + second, "avg": (first + second) / 2, "product": first * second}
    whole |= {"min": torch.minimum(first, second), "max": torch.maximum(first, second)}
    for op, expected in whole.items():
        mine = (first, second)[at[0]].clone()
        t = DTensor.from_local(mine, mesh, [Partial(op), Replicate()])
        ok = [torch.equal(t.detach().to_local(), mine)]
        for _ in range(2):
            result = t.full_tensor()
            ok.append(torch.equal(result, expected))
            result += 1  # is no part of t
        ok += [torch.equal((t + 1).full_tensor(), expected + 1), torch.equal(t.sum().full_tensor(), expected.sum())]
        ok += [torch.allclose(t.norm().full_tensor(), expected.norm())]
        ok += [bool((t.abs() < 18).all().full_tensor()) == bool((expected.abs() < 18).all())]
        spread = t.redistribute(placements=[Shard(0), Replicate()])
        ok.append(
            torch.equal(spread.to_local(), expected.chunk(2)[at[0]]) and t.placements == (Partial(op), Replicate())
        )
        mine *= 2  # the terms are other ones
        ok.append(torch.equal(t.full_tensor(), expected * (4 if op == "product" else 2)))
        t.add_(1)
        ok.append(torch.equal(t.full_tensor(), expected * (4 if op == "product" else 2) + 1))
        found[op] = ok
    return found


def trained(rank, size):
    (mesh, _), found = enter(rank), []
    whole = torch.arange(12.0).view(4, 3) - 5
    for layout in (None, *LAYOUTS):
        p = nn.Parameter(whole.clone() if layout is None else distribute_tensor(whole, mesh, layout))
        optimizer = torch.optim.AdamW([p], 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            x = p if layout is None else p.full_tensor()
            (x.square() + x).sum().backward()
            nn.utils.clip_grad_norm_([p], 1.0)
            optimizer.step()
        found.append((p if layout is None else p.full_tensor()).tolist())
    return found


def refused(rank, size):
    (mesh, _), said = enter(rank), []
    t = distribute_tensor(torch.zeros(4, 4), mesh, [Shard(0), Replicate()])
    for act in (
        lambda: distribute_tensor(torch.zeros(4, 4), mesh, [Shard(0)]),
        lambda: distribute_tensor(torch.zeros(4, 4), mesh, [Shard(2), Replicate()]),
        lambda: t.redistribute(placements=[Shard(0)]),
        lambda: t.redistribute(placements=[Partial(), Replicate()]),
        lambda: DTensor.from_local(torch.zeros(2), mesh, [Partial("all"), Replicate()]),
        lambda: DTensor.from_local(torch.zeros(2), mesh, [Partial(), Replicate()])._place(),
    ):
        try:
            act()
        except (ValueError, IndexError, RuntimeError) as error:
            said.append(type(error).__name__)
    return said


def saved(rank, size):
    """Saved in each layout, loaded into another one."""
    (mesh, _), wrong, folder = enter(rank), [], [tempfile.mkdtemp() if not rank else None]
    dist.broadcast_object_list(folder)
    whole = torch.arange(35.0).view(7, 5)
    for i, layout in enumerate(LAYOUTS):
        other, place = LAYOUTS[(2 * i + 1) % len(LAYOUTS)], f"{folder[0]}/{i}"
        checkpoint.save({"x": distribute_tensor(whole, mesh, layout)}, checkpoint_id=place)
        state = {"x": distribute_tensor(torch.zeros(7, 5), mesh, other)}
        checkpoint.load(state, checkpoint_id=place)
        if not torch.equal(state["x"].full_tensor(), whole):
            wrong.append((layout, other))
    dist.barrier()
    if not rank:
        shutil.rmtree(folder[0])
    return wrong


FUNCTIONS = [parts_and_layouts, reductions, terms, trained, refused, saved]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return results_of(FUNCTIONS, SIZE, tmp_path_factory.mktemp("meshes"))


def test_parts_and_layouts(results):
    assert [r["parts_and_layouts"] for r in results] == [[]] * SIZE


def test_reductions(results):
    assert [r["reductions"] for r in results] == [[]] * SIZE


def test_terms(results):
    assert all(ok for r in results for of_op in r["terms"].values() for ok in of_op), [r["terms"] for r in results]


def test_training_gives_what_the_whole_tensor_gives(results):
    for r in results:
        whole, *spread = r["trained"]
        for values in spread:
            torch.testing.assert_close(torch.tensor(values), torch.tensor(whole), rtol=1e-5, atol=1e-6)


def test_refused(results):
    expected = ["ValueError", "IndexError", "ValueError", "RuntimeError", "NotImplementedError", "NotImplementedError"]
    assert [r["refused"] for r in results] == [expected] * SIZE


def test_checkpoints(results):
    assert [r["saved"] for r in results] == [[]] * SIZE
