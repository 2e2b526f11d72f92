"""Grids of processes; what is expected is what torch 2.13 says with gloo in four processes."""

import sys
from pathlib import Path

import pytest

import rushlight as torch
import rushlight.distributed as dist
from rushlight.distributed.device_mesh import DeviceMesh, init_device_mesh
from rushlight.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).parent))
from several import results_of

sys.path.pop(0)


def grid(rank, size):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    parts = mesh["dp"], mesh["tp"]
    x = torch.tensor([float(rank)])
    dist.all_reduce(x, group=mesh.get_group("dp"))
    flat = mesh._flatten()
    return {
        "text": [repr(m) for m in (mesh, *parts, flat)],
        "ranks": [m.mesh.tolist() for m in (mesh, *parts, flat)],
        "sizes": (mesh.shape, mesh.ndim, mesh.size(), mesh.size(-1), mesh.device_type, mesh.mesh.dtype == torch.int32),
        "own": (mesh.get_rank(), mesh.get_local_rank("dp"), mesh.get_local_rank(1), parts[1].get_local_rank()),
        "places": (mesh.get_coordinate(), parts[1].get_coordinate(), flat.get_coordinate()),
        "groups": [dist.get_process_group_ranks(g) for g in mesh.get_all_groups()],
        "same": parts[1].get_group() is mesh.get_group("tp") and mesh["dp", "tp"] is mesh and mesh["dp_tp"] is flat,
        "equal": parts[0] == mesh["dp"] and hash(parts[0]) == hash(mesh["dp"]) and parts[0] != parts[1],
        "described": mesh.get_group(0).group_desc,
        "sum": x.item(),
    }


def others(rank, size):
    line, turned = init_device_mesh("cpu", (4,)), DeviceMesh("cpu", [[0, 2], [1, 3]])
    part = DeviceMesh("cpu", [2, 3])
    model = DistributedDataParallel(torch.nn.Linear(1, 1, bias=False), device_mesh=line)
    model(torch.ones(1, 1) * rank).sum().backward()
    with pytest.raises(RuntimeError, match="Only 1D device mesh"):
        DistributedDataParallel(torch.nn.Linear(1, 1), device_mesh=turned)
    if rank < 2:
        with pytest.raises(IndexError):
            part.get_group()
    return {
        "line": (repr(line), line.get_group() is dist.group.WORLD, line.get_local_rank()),
        "turned": (turned.get_coordinate(), [dist.get_process_group_ranks(g) for g in turned.get_all_groups()]),
        "part": (part.get_coordinate(), part.get_rank()),
        "of a group": repr(DeviceMesh.from_group(dist.group.WORLD, "cpu")),
        "gradient": model.module.weight.grad.item(),
    }


def wrong(rank, size):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    calls = {
        "order": (lambda: mesh["tp", "dp"], KeyError, "ascending order"),
        "name": (lambda: mesh["x"], KeyError, r"Invalid mesh_dim_names \('x',\) specified. Valid mesh_dim_names are"),
        "number": (lambda: mesh[0], TypeError, "'int' object is not iterable"),
        "none": (lambda: mesh.get_group(), RuntimeError, "Found the DeviceMesh have 2 dimensions"),
        "local": (lambda: mesh.get_local_rank(), RuntimeError, "Optional kwarg `mesh_dim` needs"),
        "unknown": (lambda: mesh.get_group("zz"), KeyError, "Mesh dimension 'zz' does not exist."),
        "large": (lambda: init_device_mesh("cpu", (3, 2)), RuntimeError, "default world size 4, but found 6 ranks!"),
        "twice": (lambda: init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "a")), RuntimeError, "must be unique"),
        "few": (lambda: init_device_mesh("cpu", (2, 2), mesh_dim_names=("a",)), RuntimeError, "have same length"),
        "index": (lambda: init_device_mesh("cuda:0", (4,)), RuntimeError, "Device type with index is not supported"),
        "unnamed": (lambda: init_device_mesh("cpu", (4,))["dp"], RuntimeError, "without mesh_dim_names"),
    }
    for call, error, words in calls.values():
        with pytest.raises(error, match=words):
            call()
    return len(calls)


def test_grids_of_four_processes(tmp_path):
    results = results_of([grid, others, wrong], 4, tmp_path)
    first = results[1]["grid"]
    assert first["text"] == [
        "DeviceMesh((dp=2, tp=2), 'cpu', stride=(2, 1))", "DeviceMesh((dp=2), 'cpu', stride=(2,))",
        "DeviceMesh((tp=2), 'cpu', stride=(1,))", "DeviceMesh((dp_tp=4), 'cpu', stride=(1,))",
    ]  # fmt: skip
    assert first["ranks"] == [[[0, 1], [2, 3]], [1, 3], [0, 1], [0, 1, 2, 3]]
    assert first["sizes"] == ((2, 2), 2, 4, 2, "cpu", True) and first["own"] == (1, 0, 1, 1)
    assert first["places"] == ((0, 1), (1,), (1,)) and first["groups"] == [[1, 3], [0, 1]]
    assert first["described"] == "mesh_dp" and all(r["grid"]["same"] and r["grid"]["equal"] for r in results)
    assert [r["grid"]["sum"] for r in results] == [2, 4, 2, 4]
    assert results[1]["others"] == {
        "line": ("DeviceMesh((4,), 'cpu', stride=(1,))", True, 1),
        "turned": ((1, 0), [[0, 1], [1, 3]]),
        "part": (None, 1),
        "of a group": "DeviceMesh((4,), 'cpu', stride=(1,))",
        "gradient": 1.5,
    }
    assert [r["others"]["part"][0] for r in results] == [None, None, (0,), (1,)]
    assert [r["wrong"] for r in results] == [11] * 4
