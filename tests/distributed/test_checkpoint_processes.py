"""Checkpoints of several processes: written once, loaded at another number of processes, errors in all."""

import json
import os
import warnings
from itertools import chain

import pytest
from several import results_of

import rushlight as torch
import rushlight.distributed as dist
import rushlight.distributed.checkpoint as dcp
from rushlight.distributed.checkpoint.metadata import ChunkStorageMetadata, MetadataIndex, TensorProperties
from rushlight.distributed.checkpoint.planner import TensorWriteData, WriteItem, WriteItemType
from rushlight.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict
from rushlight.distributed.checkpoint.state_dict_loader import _load_state_dict_from_keys
from rushlight.distributed.optim import ZeroRedundancyOptimizer
from rushlight.nn.parallel import DistributedDataParallel

FOLDER = "RUSHLIGHT_TEST_FOLDER"


def place(name):
    return f"{os.environ[FOLDER]}/{name}"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """{number of processes: {function's name: what it returned in each}}; two starts for all tests."""
    folder, found = tmp_path_factory.mktemp("checkpoints"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, str(folder))
        for size, functions in STEPS.items():
            (folder / str(size)).mkdir()
            parts = results_of(functions, size, folder / str(size))
            found[size] = {f.__name__: [part[f.__name__] for part in parts] for f in functions}
    return folder, found


def trained(size):
    """A model and its ZeRO optimizer after three steps on the same data at every number of processes."""
    torch.manual_seed(1)
    net = DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.BatchNorm1d(7), torch.nn.Linear(7, 3))
    )
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=0.01)
    for _ in range(3):
        step(net, optimizer)
    return net, optimizer


def step(net, optimizer):
    optimizer.zero_grad()
    net(torch.linspace(-1, 1, 30).view(6, 5).cos()).square().sum().backward()
    optimizer.step()


def lists(value):
    return torch.utils._pytree.tree_map(lambda v: v.tolist() if isinstance(v, torch.Tensor) else v, value)


def save_trained(rank, size):
    net, optimizer = trained(size)
    model, state = get_state_dict(net, optimizer)
    dcp.save({"model": model, "optimizer": state}, checkpoint_id=place("trained"))
    whole = get_state_dict(net, optimizer, options=StateDictOptions(full_state_dict=True))
    return lists(whole), sorted(state["state"])


def load_trained(rank, size):
    torch.manual_seed(9 + rank)
    net = DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.BatchNorm1d(7), torch.nn.Linear(7, 3))
    )
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.Adam, lr=1.0)
    model, state = get_state_dict(net, optimizer)
    dcp.load({"model": model, "optimizer": state}, checkpoint_id=place("trained"))
    set_state_dict(net, optimizer, model_state_dict=model, optim_state_dict=state)
    whole = lists(get_state_dict(net, optimizer, options=StateDictOptions(full_state_dict=True)))
    step(net, optimizer)
    return whole, lists(get_state_dict(net, optimizer, options=StateDictOptions(full_state_dict=True)))


def alone(function):
    """What a function returns in this process, alone."""
    dist.init_process_group("gloo", store=dist.HashStore(), world_size=1, rank=0)
    try:
        return function(0, 1)
    finally:
        dist.destroy_process_group()


def test_loading_at_another_world_size_gives_the_same_bits(results, monkeypatch):
    folder, found = results
    monkeypatch.setenv(FOLDER, str(folder))
    saved = found[3]["save_trained"]
    shares = [names for _, names in saved]
    assert sorted(chain(*shares)) == ["0.bias", "0.weight", "1.bias", "1.weight", "2.bias", "2.weight"]
    assert all(names for names in shares)
    loaded = [*found[2]["load_trained"], *found[3]["load_trained"], alone(load_trained)]
    assert all(whole == saved[0][0] for whole, _ in [*saved, *loaded])
    for _, stepped in loaded:  # of the sum of one, two or three equal gradients
        torch.testing.assert_close(
            *(torch.tensor(s[0]["2.weight"]) for s in (stepped, loaded[-1][1])), rtol=1e-5, atol=1e-6
        )


REPLICATED = {f"t{i}": (i % 5 + 1) * 1000 for i in range(12)}


def save_replicated(rank, size):
    state = {name: torch.full((n,), float(n)) for name, n in REPLICATED.items()}
    content = dcp.save({**state, "step": 3, "of": {f"rank{rank}": rank}}, checkpoint_id=place("replicated"))
    return sorted(content.state_dict_metadata)


def test_what_all_have_is_written_once_and_the_shares_are_balanced(results):
    folder, names = results[0] / "replicated", results[1][3]["save_replicated"]
    assert names[0] == names[1] == names[2] == sorted([*REPLICATED, "step", "of.rank0", "of.rank1", "of.rank2"])
    entries = json.loads((folder / ".metadata").read_text())["checkpoint"]["entries"]
    bytes_of = [0, 0, 0]
    for name, n in REPLICATED.items():
        ((file, _, length, *_),) = entries[name]["at"]
        assert length == 4 * n
        bytes_of[int(file[2])] += length
    # as torch's planner: each to the one that has least, in the state's order
    assert bytes_of == [4 * 11_000, 4 * 12_000, 4 * 10_000]
    assert sum(path.stat().st_size for path in folder.glob("*.safetensors")) < sum(bytes_of) + 6000
    with pytest.warns(UserWarning, match="single process"):
        assert _load_state_dict_from_keys("of", checkpoint_id=folder) == {"of": {f"rank{r}": r for r in range(3)}}


def save_with_failures(rank, size):
    warnings.simplefilter("ignore")  # of the checkpoint that is there
    folder, told = place("failures"), []
    dcp.save({"a": torch.ones(4)}, checkpoint_id=folder)
    for state in (
        {"a": torch.ones(4 + rank)},
        {"a": torch.ones(4, dtype=torch.float64 if rank else torch.float32)},
        {"a": torch.zeros(4), "own": {f"{rank}": print if rank == 1 else 1}},
    ):
        try:
            dcp.save(state, checkpoint_id=folder)
        except dcp.CheckpointException as error:
            told.append({failed: f"{type(e).__name__}: {e}"[:90] for failed, (e, _) in error.failures.items()})
    try:
        dcp.load({"a": torch.ones(4), **({"x": 1} if rank == 1 else {})}, checkpoint_id=folder)
    except dcp.CheckpointException as error:
        told.append({failed: str(e) for failed, (e, _) in error.failures.items()})
    value = {"a": torch.zeros(4)}
    dcp.load(value, checkpoint_id=folder)
    return told, value["a"].tolist()


def test_a_failure_in_one_process_is_told_to_all_and_changes_nothing(results):
    for told, value in results[1][2]["save_with_failures"]:
        assert told[0] == {
            0: "ValueError: key:a is torch.float32 [4] of [4] in process 0 and torch.float32 [5] of [5] in"
        }
        assert told[1] == {
            0: "ValueError: key:a is torch.float32 [4] of [4] in process 0 and torch.float64 [4] of [4] in"
        }
        assert list(told[2]) == [1] and told[2][1].startswith("TypeError: own.1: a builtins.builtin_function_or_method")
        assert told[3] == {1: "Missing key in checkpoint state_dict: x."}
        assert value == [1, 1, 1, 1]


class Rows:
    """The rows of a matrix, spread over processes: what a sharded tensor tells a planner."""

    def __init__(self, whole, rank, size):
        self.whole = whole.size()
        bounds = [len(whole) * r // size for r in range(size + 1)]
        self.first, self.rows = bounds[rank], whole[bounds[rank] : bounds[rank + 1]].clone()

    def chunk(self):
        return ChunkStorageMetadata(torch.Size([self.first, 0]), self.rows.size())

    def __create_write_items__(self, fqn, _):
        data = TensorWriteData(self.chunk(), TensorProperties(self.rows.dtype), self.whole)
        return [WriteItem(MetadataIndex(fqn, self.chunk().offsets), WriteItemType.SHARD, tensor_data=data)]

    def __create_chunk_list__(self):
        return [self.chunk()]


class SavePlanner(dcp.DefaultSavePlanner):
    def lookup_object(self, index):
        value = self.state_dict[index.fqn]
        return value.rows if isinstance(value, Rows) else super().lookup_object(index)


class LoadPlanner(dcp.DefaultLoadPlanner):
    def lookup_tensor(self, index):
        value = self.state_dict[index.fqn]
        return value.rows if isinstance(value, Rows) else super().lookup_tensor(index)


def save_rows(rank, size):
    whole = torch.arange(35.0).view(7, 5)
    dcp.save({"rows": Rows(whole, rank, size)}, checkpoint_id=place("rows"), planner=SavePlanner())


def load_rows(rank, size):
    rows = Rows(torch.zeros(7, 5), rank, size)
    dcp.load({"rows": rows}, checkpoint_id=place("rows"), planner=LoadPlanner())
    return rows.rows.tolist()


def test_parts_of_a_tensor_are_cut_otherwise(results, monkeypatch):
    folder, found = results[0] / "rows", results[1]
    monkeypatch.setenv(FOLDER, str(results[0]))
    for parts in (found[3]["load_rows"], found[2]["load_rows"], [alone(load_rows)]):
        assert list(chain(*parts)) == torch.arange(35.0).view(7, 5).tolist()
    with pytest.warns(UserWarning, match="single process"):
        loaded = _load_state_dict_from_keys(checkpoint_id=folder)
    assert torch.equal(loaded["rows"], torch.arange(35.0).view(7, 5))


def save_while_training(rank, size):
    warnings.simplefilter("ignore")
    folder, total, futures = place("background"), torch.zeros(50_000), []
    for i in range(6):
        futures.append(dcp.async_save({"total": total, "i": i}, checkpoint_id=f"{folder}/{i % 2}"))
        for _ in range(10):
            part = torch.full((50_000,), float(rank + 1))
            dist.all_reduce(part)
            total += part
    for future in futures:
        future.result(60)
    found = []
    for i in (4, 5):
        state = {"total": torch.zeros(50_000), "i": -1}
        dcp.load(state, checkpoint_id=f"{folder}/{i % 2}")
        found.append((state["i"], state["total"].unique().tolist()))
    return found


def test_saves_in_the_background_beside_collectives(results):
    for found in results[1][2]["save_while_training"]:
        assert found == [(4, [4 * 10 * 3.0]), (5, [5 * 10 * 3.0])]


def save_each(rank, size):
    dcp.save({"own": torch.full((3,), float(rank))}, checkpoint_id=place("each"), use_collectives=False)
    state = {"own": torch.zeros(3)}
    dcp.load(state, checkpoint_id=place("each"))
    return state["own"].tolist()


def test_each_process_a_checkpoint_of_its_own(results):
    assert results[1][2]["save_each"] == [[0, 0, 0], [1, 1, 1]]


def from_rank_0(rank, size):
    torch.manual_seed(rank)
    net = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1 + rank, momentum=0.9)
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    model, state = get_state_dict(net, optimizer, options=options)
    assert bool(model) == bool(state) == (rank == 0)
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_state_dict(net, optimizer, model_state_dict=model, optim_state_dict=state, options=options)
    return net.weight.tolist(), optimizer.param_groups[0]["lr"]


def test_a_state_that_process_0_has(results):
    first, second = results[1][2]["from_rank_0"]
    assert first == second and first[1] == 0.1


STEPS = {
    3: [save_trained, load_trained, save_replicated, save_rows, load_rows],
    2: [load_trained, load_rows, save_with_failures, save_while_training, save_each, from_rank_0],
}
