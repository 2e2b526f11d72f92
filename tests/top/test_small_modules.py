"""torch._C, _utils, _tensor, functional, return_types, types, futures."""

import typing

import pytest

import rushlight as torch
from rushlight import _C, _tensor, _utils, functional, futures, return_types, types
from rushlight.nn import common_types


def test_names():
    assert torch.linalg.LinAlgError is _C._LinAlgError and _tensor.Tensor is torch.Tensor
    with pytest.raises(_C._LinAlgError):
        torch.linalg.cholesky(-torch.eye(2))
    assert functional.einsum is torch.einsum and "einsum" in functional.__all__
    assert type(torch.ones(1, 1).max(1)) is return_types.max
    assert isinstance(1.5, types._Number) and types.Device is not None
    for module in (_C, functional, return_types, _utils):
        with pytest.raises(AttributeError, match="no attribute 'nothing'"):
            _ = module.nothing


def test_flat_tensors():
    parts = [torch.ones(2, 2), torch.arange(3.0)]
    flat = _utils._flatten_dense_tensors(parts)
    assert [t.tolist() for t in _utils._unflatten_dense_tensors(flat, parts)] == [t.tolist() for t in parts]
    groups = _utils._take_tensors([*parts, torch.ones(1, dtype=torch.int64)], 20)
    assert [[t.numel() for t in group] for group in groups] == [[4], [3], [1]]


def test_device_index():
    assert _utils._get_device_index("cuda:1") == 1 and _utils._get_device_index("cpu", allow_cpu=True) == -1
    with pytest.raises(ValueError, match="non cpu device"):
        _utils._get_device_index("cpu")
    with pytest.raises(ValueError, match="specified index"):
        _utils._get_device_index(None)


def test_types_of_sizes():
    """Libraries write them into annotations of their own layers, as `Union[str, _size_1_t]`, and into TorchScript."""
    assert common_types._size_2_t == int | tuple[int, int] and common_types._ratio_any_t == float | tuple[float, ...]
    assert typing.Union[str, common_types._size_1_t] == str | int | tuple[int]
    assert common_types._maybe_indices_t == torch.Tensor | tuple[torch.Tensor, torch.Tensor]


def test_class_of_futures():
    """What is derived from a future is of the class in C++, of which that of `torch.futures` is one."""
    future = futures.Future()
    assert type(future.then(len)) is type(futures.collect_all([future])) is torch.Future is not futures.Future
    assert isinstance(future, torch.Future) and not hasattr(torch.Future, "set_exception")


def test_futures():
    first, second = futures.Future(), futures.Future()
    after = first.then(lambda f: f.value() + 1).then(lambda f: 10 / (f.value() - 2))
    everything = futures.collect_all([first, second])
    first.set_result(1)
    assert not everything.done()
    second.set_exception(KeyError("k"))
    assert everything.done() and first.wait() == 1
    for call in (after.wait, after.value):  # as in torch, whose text this is
        with pytest.raises(
            RuntimeError, match=r"^Got the following error when running the callback: ZeroDivisionError: div"
        ):
            call()
    with pytest.raises(KeyError):
        futures.wait_all([first, second])
    with pytest.raises(RuntimeError, match="only be marked completed once"):
        first.set_result(2)
    with pytest.raises(RuntimeError, match="after the future has completed"):
        futures.Future().value()
