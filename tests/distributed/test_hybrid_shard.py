"""Sharding over a mesh of two dimensions: parts along one, the same along the other."""

import pytest
from several import results_of

import rushlight as torch
import rushlight.distributed as dist
from rushlight import nn
from rushlight.distributed import checkpoint
from rushlight.distributed.checkpoint.state_dict import get_model_state_dict
from rushlight.distributed.device_mesh import init_device_mesh
from rushlight.distributed.fsdp import FullyShardedDataParallel as FSDP
from rushlight.distributed.fsdp import ShardingStrategy, StateDictType, fully_shard
from rushlight.distributed.fsdp.wrap import ModuleWrapPolicy

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


def flat(rank, size):
    """`FullyShardedDataParallel`, by a mesh and by groups; the processes begin with other parameters."""
    mesh = init_device_mesh("cpu", (2, 2))
    pair = mesh.get_group(1), mesh.get_group(0)
    found = {}
    for name, options in (("mesh", {"device_mesh": mesh}), ("groups", {"process_group": pair})):
        net = network(7)
        with torch.no_grad():
            for p in net.parameters():
                p += rank
        net = FSDP(
            net,
            sharding_strategy=ShardingStrategy.HYBRID_SHARD,
            auto_wrap_policy=ModuleWrapPolicy({nn.Linear}),
            sync_module_states=True,
            **options,
        )
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.05)
        for x in batches(4):
            optimizer.zero_grad()
            ((net(x[rank * ROWS : (rank + 1) * ROWS]) - 1) ** 2).mean().backward()
            norm = net.clip_grad_norm_(0.3)
            optimizer.step()
        plain = network(7)
        expected = trained(plain, 4)
        pairs = [(net.state_dict()[key], value) for key, value in plain.state_dict().items()]
        state = [t["exp_avg"] for t in FSDP.optim_state_dict(net, optimizer)["state"].values()]
        with FSDP.state_dict_type(net, StateDictType.SHARDED_STATE_DICT):
            part = net.state_dict()["0.weight"]
        found[name] = {
            "difference": max(float((p - q).abs().max()) for p, q in pairs),
            "norm": float(norm - expected),
            "parts": [p.detach().numpy().tobytes() for p in net.parameters()],
            "states": [tuple(t.shape) for t in state],
            "placements": str(part.placements),
            "local": part.to_local().shape[0],
        }
    return found


def flat_of_one(rank, size):
    """`FullyShardedDataParallel` on a mesh whose processes all have whole parameters."""
    net = FSDP(
        network(7), sharding_strategy=ShardingStrategy.HYBRID_SHARD, device_mesh=init_device_mesh("cpu", (SIZE, 1))
    )
    trained(net, 4, slice(rank * ROWS, (rank + 1) * ROWS))
    plain = network(7)
    trained(plain, 4)
    pairs = zip(net.state_dict().values(), plain.state_dict().values(), strict=True)
    return max(float((p - q).abs().max()) for p, q in pairs)


def refused(rank, size):
    line, strategy = init_device_mesh("cpu", (4,)), ShardingStrategy.HYBRID_SHARD
    said = []
    for options in (
        {"device_mesh": line},
        {"process_group": line.get_group(0)},
        {},
        {"auto_wrap_policy": ModuleWrapPolicy({nn.ReLU})},
    ):
        with pytest.raises((ValueError, NotImplementedError)) as caught:
            FSDP(network(7), sharding_strategy=strategy, **options)
        said.append(type(caught.value).__name__)
    with pytest.raises(ValueError, match="1D or 2D"):
        fully_shard(network(7), mesh=init_device_mesh("cpu", (1, 2, 2)))
    return said


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return results_of(
        [small, early, of_one, saved, flat, flat_of_one, refused], SIZE, tmp_path_factory.mktemp("hybrid")
    )


def test_as_the_plain_network(results):
    for r in results:
        assert r["small"]["difference"] < 1e-4 and r["early"] < 1e-3 and r["of_one"] < 1e-4
        assert r["flat_of_one"] < 1e-4
        assert r["small"]["placements"] == "(Replicate(), Shard(dim=0))"
        assert r["small"]["norm"] == results[0]["small"]["norm"]


def test_replicas_have_the_same_bits(results):
    for name in ("part", "gradient"):
        a, b, c, d = (r["small"][name].tobytes() for r in results)
        assert a == c and b == d and a != b
    assert [len(r["small"]["part"]) for r in results] == [4, 3, 4, 3]


def test_checkpoints(results):
    assert [r["saved"] for r in results] == [True] * SIZE


@pytest.mark.parametrize("way, placements", [("mesh", "(Replicate(), Shard(dim=0))"), ("groups", "(Shard(dim=0),)")])
def test_flat_parameters(results, way, placements):
    found = [r["flat"][way] for r in results]
    for r in found:
        assert r["difference"] < 1e-4 and abs(r["norm"]) < 1e-5
        assert r["placements"] == placements
        assert r["states"] == [(7, 5), (7,), (7, 7), (7,), (3, 7), (3,)]
    assert found[0]["parts"] == found[2]["parts"] != found[1]["parts"] == found[3]["parts"]
    assert [r["local"] for r in found] == [4, 3, 4, 3]


def test_refusals(results):
    assert [r["refused"] for r in results] == [["ValueError", "ValueError", "ValueError", "NotImplementedError"]] * SIZE
