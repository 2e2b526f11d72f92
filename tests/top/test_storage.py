"""Storages: the memory behind tensors."""

import pytest

import rushlight as torch


def test_of_a_tensor():
    a = torch.arange(6.0).reshape(2, 3)
    row = a[1]
    typed, raw = row.storage(), row.untyped_storage()
    assert (len(typed), typed.size(), typed.nbytes(), typed.dtype, typed[4]) == (6, 6, 24, torch.float32, 4.0)
    assert (len(raw), raw.nbytes(), raw.element_size()) == (24, 24, 1)
    assert typed.data_ptr() == raw.data_ptr() == a.data_ptr() == a.untyped_storage().data_ptr()
    typed[0] = 9.0
    assert a[0, 0] == 9 and torch.is_storage(typed) and torch.is_storage(raw) and not torch.is_storage(a)
    assert isinstance(typed, torch.FloatStorage) and not isinstance(typed, torch.LongStorage)
    assert a.storage_type() is torch.FloatStorage
    assert not typed.is_shared() and typed.share_memory_().is_shared()


def test_of_its_own():
    s = torch.FloatStorage([1, 2, 3])
    assert s.tolist() == list(s) == [1, 2, 3] and s.double().dtype is torch.float64
    assert torch.LongStorage(2).fill_(4).tolist() == [4, 4]
    assert s.clone().copy_(torch.FloatStorage([4, 5, 6]))[1:].tolist() == [5, 6]
    assert torch.UntypedStorage(4).tolist() == [0] * 4
    assert torch.TypedStorage([1, 2], dtype=torch.int32).untyped().nbytes() == 8
    assert repr(s) == " 1.0\n 2.0\n 3.0\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 3]"
    with pytest.raises(NotImplementedError, match="resize_"):
        s.resize_(0)
    with pytest.raises(RuntimeError, match="size does not match"):
        s.copy_(torch.FloatStorage(2))
    with pytest.raises(AssertionError, match="CUDA"):
        s.cuda()
