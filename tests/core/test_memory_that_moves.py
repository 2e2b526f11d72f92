"""A memory that becomes longer, or is shared with other processes, moves with all that shows it, not only with views."""

import pytest

import rushlight as torch


def _set(t):
    return torch.zeros(1).set_(t)


def _set_storage(t):
    return torch.zeros(1).set_(t.untyped_storage(), 1, (3,))


ALIASES = [
    torch.Tensor.detach,
    lambda t: t.data,
    _set,
    _set_storage,
    lambda t: t.detach()[2:],
    lambda t: t.view(torch.int32),
]


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases_see_what_is_written_after_a_resize(alias):
    t = torch.arange(6.0)
    other, third = alias(t), t.detach()
    before = other.tolist()
    t.resize_(20)
    assert other.tolist() == before
    t.fill_(1.0)
    assert other.view(torch.float32).eq(1).all() and third.tolist() == [1.0] * 6
    other.zero_()
    assert t[:6].eq(0).any() and other.untyped_storage().nbytes() == t.untyped_storage().nbytes() == 80
    third.resize_(40)
    third.fill_(5.0)
    assert t.eq(5).all()


def test_storages_grow_with_their_tensor():
    t = torch.arange(6.0)
    typed, untyped = t.storage(), t.untyped_storage()
    t.resize_(20)
    typed[0] = 4.0
    assert t[0] == 4 and len(typed) == 20 and untyped.nbytes() == 80 and untyped.data_ptr() == t.data_ptr()


def test_aliases_follow_into_shared_memory():
    t = torch.arange(4.0)
    alias, view = t.detach(), t[1:]
    t.share_memory_()
    t.fill_(2.0)
    assert alias.tolist() == [2.0] * 4 and view.tolist() == [2.0] * 3 and alias.is_shared()


def test_arrays_keep_their_memory():
    t = torch.arange(6.0)
    array = t.numpy()
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        t.resize_(20)
    t.resize_(2)
    assert array.tolist() == list(range(6))


def test_other_memories_stay():
    t, other = torch.arange(6.0), torch.arange(6.0).detach()
    t.detach()
    t.resize_(20)
    t.fill_(1.0)
    assert other.tolist() == list(range(6))
