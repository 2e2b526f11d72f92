"""Sharding over a mesh of two dimensions: parts along one, the same along the other."""

import pytest
from several import results_of

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.distributed import checkpoint
from rushlight.distributed.checkpoint.state_dict import get_model_state_dict
from rushlight.distributed.device_mesh import init_device_mesh
from rushlight.distributed.fsdp import fully_shard

SIZE, ROWS = 4, 6


def network(width):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3))


def batches(steps):
    """Of all processes together."""
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(SIZE * ROWS, 5, generator=generator) for _ in range(steps)]


def trained(net, steps, of=slice(None)):
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.05)
    for x in batches(steps):
        optimizer.zero_grad()
        ((net(x[of]) - 1) ** 2).mean().backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 0.3)
        optimizer.step()
    return norm


def difference(net, width, steps):
    """From the plain network that has seen all data."""
    plain = network(width)
    trained(plain, steps)
    pairs = zip(net.parameters(), plain.parameters(), strict=True)
    return max(float((p.full_tensor() - q).detach().abs().max()) for p, q in pairs)


def sharded(rank, width, shape=(2, 2), steps=4):
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("replicate", "shard"))
    net = network(width)
    for module in (net[0], net[2], net[4], net):
        fully_shard(module, mesh=mesh)
    norm = trained(net, steps, slice(rank * ROWS, (rank + 1) * ROWS))
    return net, norm.full_tensor().item()


def small(rank, size):
    net, norm = sharded(rank, 7)
    weight = net[0].weight
    return {
        "difference": difference(net, 7, 4),
        "norm": norm,
        "part": weight.detach().to_local().numpy(),
        "gradient": weight.grad.to_local().numpy(),
        "placements": str(weight.placements),
    }


def early(rank, size):
    """A unit whose large gradients are averaged while backward runs."""
    net, _ = sharded(rank, 1500, steps=2)
    return difference(net, 1500, 2)


def of_one(rank, size):
    """Whose parts are whole."""
    return difference(sharded(rank, 7, (4, 1))[0], 7, 4)


def saved(rank, size):
    folder = [None]
    if rank == 0:
        import tempfile

        folder = [tempfile.mkdtemp()]
    dist.broadcast_object_list(folder)
    net, _ = sharded(rank, 7)
    before = [p.full_tensor() for p in net.parameters()]
    checkpoint.save(get_model_state_dict(net), checkpoint_id=folder[0])
    with torch.no_grad():
        for p in net.parameters():
            p.zero_()
    state = get_model_state_dict(net)
    checkpoint.load(state, checkpoint_id=folder[0])
    net.load_state_dict(state)
    return all(bool((p.full_tensor() == q).all()) for p, q in zip(net.parameters(), before, strict=True))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return results_of([small, early, of_one, saved], SIZE, tmp_path_factory.mktemp("hybrid"))


def test_as_the_plain_network(results):
    for r in results:
        assert r["small"]["difference"] < 1e-4 and r["early"] < 1e-3 and r["of_one"] < 1e-4
        assert r["small"]["placements"] == "(Replicate(), Shard(dim=0))"
        assert r["small"]["norm"] == results[0]["small"]["norm"]


def test_replicas_have_the_same_bits(results):
    for name in ("part", "gradient"):
        a, b, c, d = (r["small"][name].tobytes() for r in results)
        assert a == c and b == d and a != b
    assert [len(r["small"]["part"]) for r in results] == [4, 3, 4, 3]


def test_checkpoints(results):
    assert [r["saved"] for r in results] == [True] * SIZE
