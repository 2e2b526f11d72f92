"""Methods and functions that programs seldom call: DLPack, element by element, places in memory, swapping, old names."""

import weakref

import numpy as np
import pytest

import rushlight as torch
from rushlight.utils import dlpack, set_module, swap_tensors


def test_dlpack_shares_memory_both_ways():
    t, array = torch.arange(6.0), np.arange(4)
    seen = np.from_dlpack(t)
    seen[0] = 9
    shared = torch.from_dlpack(array)
    shared[1] = 7
    assert t[0].item() == 9 and array[1] == 7
    again = dlpack.from_dlpack(dlpack.to_dlpack(t))
    assert again.data_ptr() == t.data_ptr() == torch.from_dlpack(t).data_ptr()
    again[2] = 5
    assert t[2].item() == 5
    assert torch.from_dlpack(t, copy=True).data_ptr() != t.data_ptr()
    assert t.__dlpack_device__() == (dlpack.DLDeviceType.kDLCPU, 0)


def test_dlpack_refuses():
    with pytest.raises(BufferError, match="require gradient"):
        torch.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(TypeError, match="stream must be"):
        torch.ones(2).__dlpack__(stream="x")


def test_element_by_element():
    x = torch.arange(6.0).reshape(2, 3)
    assert x.clone().apply_(lambda v: v * 2).tolist() == [[0, 2, 4], [6, 8, 10]]
    assert torch.arange(3).apply_(lambda v: v + 0.5).tolist() == [0, 1, 2]
    assert x.clone().map_(torch.ones(3), lambda a, b: a + b).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert x.clone().map2_(x, x, lambda a, b, c: a + b - c).tolist() == x.tolist()
    assert (x > 1).apply_(lambda v: not v).tolist() == [[True, True, False], [False] * 3]
    for call, kind, words in (
        (lambda: x.clone().requires_grad_().apply_(abs), RuntimeError, "on Variable that requires grad"),
        (lambda: x.map_(torch.ones(3).long(), max), TypeError, "expected torch.FloatTensor .*got torch.LongTensor"),
        (lambda: x.apply_(lambda v: "a"), TypeError, "must be real number, not str"),
        (lambda: x.apply_(3), TypeError, "not callable"),
    ):
        with pytest.raises(kind, match=words):
            call()


def test_places_in_memory():
    x = torch.zeros(2, 3, 4, 5)
    assert x.dim_order() == (0, 1, 2, 3) and x.permute(0, 2, 3, 1).dim_order() == (0, 3, 1, 2)
    assert x.contiguous(memory_format=torch.channels_last).dim_order() == (0, 2, 3, 1)
    assert x[0, 0].T.dim_order() == (1, 0)
    with pytest.raises(TypeError, match="must be a bool or a list of memory formats"):
        x.dim_order(ambiguity_check="all")
    with pytest.raises(RuntimeError, match="does not have unique dim order"):
        torch.zeros(3, 1).dim_order(ambiguity_check=True)
    assert x.is_set_to(x.view(2, 3, 4, 5)) and not x.is_set_to(x[0]) and not x.is_set_to(x.clone())
    assert torch.ones(1).new_empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    assert reversed(torch.tensor([[1, 2], [3, 4]])).tolist() == [[3, 4], [1, 2]]


def test_old_names_of_reshaping_warn():
    x = torch.arange(6.0).reshape(2, 3)
    with pytest.warns(UserWarning, match="non-inplace resize is deprecated"):
        assert x.resize(3, 2).tolist() == [[0, 1], [2, 3], [4, 5]]
    with (
        pytest.warns(UserWarning, match="non-inplace resize_as"),
        pytest.raises(RuntimeError, match="requested resize"),
    ):
        x.resize_as(torch.ones(4))


def test_set_takes_a_storage():
    x = torch.arange(6.0)
    y = torch.empty(0).set_(x.untyped_storage(), 1, (2, 2), (2, 1))
    assert y.tolist() == [[1, 2], [3, 4]]
    y[0, 0] = 9
    assert x[1].item() == 9 and torch.empty(0).set_(x.untyped_storage()).tolist() == x.tolist()


def test_nonzero_static():
    x = torch.tensor([[0, 1], [2, 0]])
    assert torch.nonzero_static(x, size=3).tolist() == [[0, 1], [1, 0], [-1, -1]]
    assert x.nonzero_static(size=1, fill_value=5).tolist() == [[0, 1]]


INPLACE = [
    ("clamp_", (0.0, 1.0)), ("clip_", (0.0, 1.0)), ("clamp_min_", (0.0,)), ("clamp_max_", (0.0,)), ("round_", ()),
    ("nan_to_num_", ()), ("xlogy_", (torch.tensor(2.0),)), ("ldexp_", (torch.tensor(2),)), ("logit_", (0.1,)),
    ("addmv_", (torch.ones(3, 2), torch.ones(2))), ("conj_physical_", ()),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args"), INPLACE, ids=[name for name, _ in INPLACE])
def test_functions_in_place(name, args):
    x = torch.tensor([-0.6, 0.3, 1.7])
    want = getattr(x.clone(), name)(*args)
    assert getattr(torch, name)(x, *args) is x
    assert torch.equal(x.nan_to_num(), want.nan_to_num())


def test_more_functions_in_place():
    assert torch.gcd_(torch.tensor([12, 9]), torch.tensor(6)).tolist() == [6, 3]
    assert torch.lcm_(torch.tensor([4, 9]), torch.tensor(6)).tolist() == [12, 18]
    x = torch.ones(1000)
    torch.manual_seed(0)
    torch.dropout_(x, 0.5, True)
    torch.manual_seed(0)
    assert torch.equal(x, torch.dropout(torch.ones(1000), 0.5, True))
    rows = torch.ones(3, 4)
    torch.embedding_renorm_(rows, torch.tensor([0, 2]), 1.0, 2.0)
    assert rows[:, 0].tolist() == pytest.approx([0.5, 1, 0.5])


def test_swapping():
    a, b = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.zeros(3))
    a.note, ids = "a", (id(a), id(b))
    swap_tensors(a, b)
    assert (id(a), id(b)) == ids and a.shape == (3,) and b.note == "a" and not hasattr(a, "note")
    (a.sum() + 2 * b.sum()).backward()
    assert a.grad.tolist() == [1, 1, 1] and b.grad.tolist() == [2, 2]
    view = b[:1]
    with pytest.raises(RuntimeError, match="Expected use_count of t2"):
        swap_tensors(a, b)
    assert view.shape == (1,) and weakref.ref(a)() is a

    class Thing:
        pass

    set_module(Thing, "elsewhere")
    assert Thing.__module__ == "elsewhere"
    with pytest.raises(TypeError, match="should be a string"):
        set_module(Thing, 1)


@pytest.mark.parametrize("name", ["eig", "lstsq", "matrix_rank", "solve", "symeig"])
def test_what_torch_has_removed(name):
    with pytest.raises(RuntimeError, match=r"deprecated since version 1\.9 and is now removed"):
        getattr(torch, name)(*[torch.eye(2)] * (2 if name in ("lstsq", "solve") else 1))


def test_numbers_under_symbolic_names():
    assert (torch.sym_int(-3.7), torch.sym_int(3.7), torch.sym_max(1, 2.0), torch.sym_min(1, 2.0)) == (-3, 3, 2.0, 1.0)
    assert (torch.sym_not(1), torch.sym_ite(True, 1, 2), torch.sym_sum([1, 2])) == (False, 1, 3)
    assert torch.sym_sqrt(4) == 2.0 and type(torch.sym_min(1, 2.0)) is float


def test_norm_except_dim():
    v = torch.arange(6.0).reshape(2, 3)
    np.testing.assert_allclose(torch.norm_except_dim(v, 2, 0).numpy(), [[5**0.5], [50**0.5]], rtol=1e-6)
    np.testing.assert_allclose(torch.norm_except_dim(v, 1, 1).numpy(), [[3, 5, 7]])
    assert torch.norm_except_dim(v, 2, -1).item() == pytest.approx(55**0.5)
    assert torch.norm_except_dim(torch.tensor([0.0, 2.0]), 0).tolist() == [0.0, 1.0]  # how many are not 0
    with pytest.raises(TypeError, match="must be int, not float"):
        torch.norm_except_dim(v, 0.5)


def test_settings():
    assert torch.get_device_module("cpu") is torch.cpu and torch.get_num_interop_threads() >= 1
    with pytest.raises(RuntimeError, match="Expected positive"):
        torch.set_num_interop_threads(0)
    stream = torch.cpu.Stream()
    with torch.cpu.stream(stream):
        assert torch.cpu.current_stream() is stream
    assert torch.cpu.current_stream() is not stream and torch.cpu.Event().query()


def test_cdata_tells_tensors_apart():
    """Pyro asks whether a parameter was replaced."""
    t = torch.nn.Parameter(torch.ones(2))
    assert t._cdata == t._cdata and t._cdata != t.data._cdata
