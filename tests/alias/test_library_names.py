"""Names that libraries take from torch's inner modules, by themselves."""

import numpy as np
import pytest
from rushlight._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from rushlight._higher_order_ops import associative_scan, while_loop

import rushlight as torch
from rushlight.distributed.tensor import Partial, Replicate, Shard
from rushlight.nn.functional import grouped_mm
from rushlight.utils._foreach_utils import _group_tensors_by_device_and_dtype


@pytest.mark.parametrize("size", range(1, 12))
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(size, reverse):
    x = torch.arange(2.0 * size).reshape(2, size)
    expected = x.flip(1).cumsum(1).flip(1) if reverse else x.cumsum(1)
    assert torch.equal(associative_scan(lambda a, b: a + b, x, 1, reverse, "generic"), expected)


def test_associative_scan_of_a_recurrence():
    a, b = np.sin(np.arange(9.0)), np.cos(np.arange(9.0))

    def combine(p, q):
        return {"a": p["a"] * q["a"], "b": q["a"] * p["b"] + q["b"]}

    found = associative_scan(combine, {"a": torch.tensor(a), "b": torch.tensor(b)}, 0, combine_mode="generic")["b"]
    h = 0.0
    for i in range(9):
        h = a[i] * h + b[i]
        assert found[i].item() == pytest.approx(h)
    with pytest.raises(ValueError, match="need to be on CUDA or XPU"):
        associative_scan(combine, found, 0)


def test_a_branch_that_a_tensor_chooses():
    x = torch.ones(2, requires_grad=True)
    torch.cond(x.sum() > 1, torch.sin, torch.cos, (x,)).sum().backward()
    assert x.grad.tolist() == pytest.approx([0.5403] * 2, abs=1e-4)
    assert torch.cond(torch.tensor([False]), torch.sin, lambda t: (t, t * 2), [x.detach()])[1].tolist() == [2, 2]
    with pytest.warns(UserWarning, match="Pred is a Python constant"):
        assert torch.cond(0, torch.sin, torch.neg, (torch.ones(1),)).item() == -1
    for wrong, words in (
        ((torch.ones(2), abs, abs, (x,)), "single-element tensor"),
        ((None, abs, abs, (x,)), "bool or tensor, but got None"),
        ((True, abs, 3, (x,)), "both branches to be callable"),
        ((True, abs, abs, (x, 3)), "only consists of tensor leaves"),
    ):
        with pytest.raises(RuntimeError, match=words):
            torch.cond(*wrong)


def test_a_loop_that_a_tensor_ends():
    i, x = while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(2)))
    assert i.item() == 5 and x.tolist() == [32, 32]
    assert while_loop(lambda i: i < 5, lambda i: i + 1, (torch.tensor(0),)).item() == 5
    assert while_loop(lambda i: i < 5, lambda i: [i + 1], [torch.tensor(9)])[0].item() == 9
    with pytest.raises(RuntimeError, match="same metadata"):
        while_loop(lambda x: x.sum() < 5, lambda x: (torch.cat([x, x]),), (torch.ones(2),))


def test_index_by_mapped_places():
    table = torch.arange(12).reshape(3, 4)
    with TransformGetItemToIndex():
        rows = torch.vmap(lambda i: torch.vmap(lambda j: table[i, j])(torch.arange(4)))(torch.arange(3))
        assert table[1, torch.tensor(2)].item() == 6 and table[1]._base is not table
    assert torch.equal(rows, table)


def groups(a, b, ends):
    return [(a[s:e], b[i]) for i, (s, e) in enumerate(zip([0, *ends], ends, strict=False))]


def test_grouped_products_and_their_gradient():
    a = torch.linspace(-1, 1, 48).reshape(6, 8).requires_grad_()
    b = torch.linspace(-2, 1, 64).reshape(2, 8, 4).requires_grad_()
    ends = torch.tensor([2, 5], dtype=torch.int32)
    result = grouped_mm(a, b, offs=ends)
    expected = [x.detach().numpy() @ y.detach().numpy() for x, y in groups(a, b, [2, 5])]
    np.testing.assert_allclose(result[:5].detach().numpy(), np.concatenate(expected), rtol=1e-5)
    result.sum().backward()
    assert a.grad[5].abs().sum() == 0
    np.testing.assert_allclose(a.grad[0].numpy(), b[0].sum(1).detach().numpy(), rtol=1e-5)
    left, right = torch.ones(2, 3, 8), torch.ones(8, 6)
    assert grouped_mm(left, right, offs=torch.tensor([2, 6], dtype=torch.int32)).shape == (3, 6)
    assert grouped_mm(torch.ones(3, 8), torch.ones(8, 6), offs=torch.tensor([3, 8], dtype=torch.int32))[1, 0, 0] == 5
    assert grouped_mm(left, torch.ones(2, 8, 6)).shape == (2, 3, 6)


@pytest.mark.parametrize(
    ("shapes", "options", "message"),
    [
        (((6, 8), (2, 8, 4)), {}, "Have to provide offsets"),
        (((6, 8), (2, 8, 4)), {"offs": torch.tensor([2, 5])}, "Offsets have to be int32"),
        (((6, 8), (2, 8, 4)), {"offs": torch.tensor([2], dtype=torch.int32)}, "batch sizes have to match"),
        (((6, 8), (2, 7, 4)), {"offs": torch.tensor([2, 5], dtype=torch.int32)}, "contraction dimension"),
        (((3, 6, 8), (2, 8, 4)), {}, "batched dimension has to match"),
        (((2, 6, 8), (2, 8, 4)), {"bias": torch.ones(4)}, "Bias not supported yet"),
    ],
)
def test_grouped_products_refuse(shapes, options, message):
    with pytest.raises(RuntimeError, match=message):
        grouped_mm(*(torch.ones(shape) for shape in shapes), **options)


def test_placements_are_values():
    assert [str(p) for p in (Shard(0), Replicate(), Partial(), Partial("avg"))] == ["S(0)", "R", "P(sum)", "P(avg)"]
    assert Shard(1) == Shard(1) != Shard(0) and len({Replicate(), Replicate(), Shard(0)}) == 2
    assert Shard(1).is_shard(1) and not Shard(1).is_shard(0) and Partial("avg").is_partial("avg")
    with pytest.raises(AttributeError):
        Shard(0).dim = 3


def test_synchronised_batch_norm_is_batch_norm_in_one_process():
    model = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 1), torch.nn.BatchNorm2d(3, momentum=0.2))
    made = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
    assert type(made[1]) is torch.nn.SyncBatchNorm and made[1].weight is model[1].weight and made[1].momentum == 0.2
    x = torch.arange(16.0).reshape(2, 2, 2, 2)
    assert torch.equal(made(x), model(x))
    with pytest.raises(ValueError, match="expected at least 2D input"):
        made[1](torch.ones(3))


def test_storage_from_a_file(tmp_path):
    path = str(tmp_path / "bytes")
    np.arange(6, dtype=np.uint8).tofile(path)
    private = torch.UntypedStorage.from_file(path, False, 4)
    shared = torch.UntypedStorage.from_file(path, True, 8)
    assert (private.tolist(), private.filename, shared.filename) == ([0, 1, 2, 3], None, path)
    tensor = torch.asarray(private[2:4], dtype=torch.uint8)
    tensor[0] = 77
    shared[0] = 9
    assert private.tolist() == [0, 1, 77, 3] or private.tolist() == [9, 1, 77, 3]
    assert np.fromfile(path, np.uint8).tolist() == [9, 1, 2, 3, 4, 5, 0, 0]
    with pytest.raises(RuntimeError, match="is smaller than the required mapping size"):
        torch.UntypedStorage.from_file(path, False, 100)


def test_tensor_from_a_file(tmp_path):
    path = str(tmp_path / "numbers")
    np.arange(6, dtype=np.float32).tofile(path)
    private, shared = torch.from_file(path, size=3), torch.from_file(path, True, 8)
    assert private.tolist() == [0, 1, 2] and shared.tolist() == [0, 1, 2, 3, 4, 5, 0, 0]
    private[0], shared[1] = 9, 7
    assert np.fromfile(path, np.float32).tolist() == [0, 7, 2, 3, 4, 5, 0, 0]
    assert torch.from_file(path, size=2, dtype=torch.int16).dtype is torch.int16
    assert torch.from_file(path, size=1, requires_grad=True).requires_grad
    with pytest.raises(RuntimeError, match=r"unable to open file <.*none> in read-only mode: No such file"):
        torch.from_file(path + "none", size=1)
    with pytest.raises(RuntimeError, match="size <32> is smaller than the required mapping size <40>"):
        torch.from_file(path, size=10)
    assert torch.from_file(path + "new", True, 2).tolist() == [0, 0]
    with pytest.raises(TypeError, match=r"argument .filename. \(position 1\) must be str, not int"):
        torch.from_file(3)


def test_tensors_by_dtype():
    tensors = [torch.ones(1), torch.ones(1).double(), torch.ones(2)]
    found = _group_tensors_by_device_and_dtype([tensors, [], [None, None, None]], with_indices=True)
    parts, places = found[torch.device("cpu"), torch.float32]
    assert parts[0][1] is tensors[2] and parts[1:] == [[], [None, None]] and places == [0, 2]


def test_hints_to_a_compiler_change_nothing():
    from rushlight import _dynamo, compiler

    x = torch.ones(2, 3)
    _dynamo.mark_dynamic(x, 0, min=1)
    _dynamo.maybe_mark_dynamic(x, (0, 1))
    _dynamo.mark_static(x)
    _dynamo.mark_static_address(x)
    assert compiler.allow_in_graph(print) is print and compiler.assume_constant_result(len) is len
    with pytest.raises(IndexError):
        _dynamo.mark_dynamic(x, 2)
    with pytest.raises(TypeError, match="expects a tensor"):
        _dynamo.mark_static_address(3)
    with pytest.raises(AssertionError, match="no"):
        torch._assert(x.sum() > 7, "no")
