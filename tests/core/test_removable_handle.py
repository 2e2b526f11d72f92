"""Handles take their hook out of every dictionary, once, and survive pickling."""

import gc
import pickle
from collections import OrderedDict

from rushlight.core.tensor.hooks import RemovableHandle


def registered(*extras, as_list=False):
    hooks = OrderedDict()
    handle = RemovableHandle(hooks, extra_dict=list(extras) if as_list else (extras or (None,))[0])
    hooks[handle.id] = "hook"
    for extra in extras:
        extra[handle.id] = True
    return hooks, handle


def test_remove_takes_the_hook_out_of_every_dictionary_and_may_be_repeated():
    for as_list in (False, True):
        extra, other = OrderedDict(), OrderedDict({-1: True})
        hooks, handle = registered(*((extra, other) if as_list else (extra,)), as_list=as_list)
        handle.remove()
        handle.remove()
        assert not hooks
        assert not extra
        assert list(other) == [-1]


def test_a_with_block_removes_the_hook():
    hooks, handle = registered()
    with handle as same:
        assert same is handle
        assert handle.id in hooks
    assert not hooks


def test_ids_are_unique_and_ascending():
    ids = [registered()[1].id for _ in range(3)]
    assert ids == sorted(set(ids))


def test_a_handle_does_not_keep_the_dictionary_alive():
    hooks, handle = registered()
    del hooks
    gc.collect()
    assert handle.hooks_dict_ref() is None
    handle.remove()


def test_pickling_keeps_dictionary_and_handle_together():
    hooks, handle = registered(OrderedDict())
    copied_hooks, copy = pickle.loads(pickle.dumps((hooks, handle)))
    assert copy.id == handle.id
    copy.remove()
    assert not copied_hooks
    assert handle.id in hooks
    assert registered()[1].id > copy.id


def test_a_handle_pickled_after_its_dictionary_died_is_dead():
    hooks, handle = registered()
    data = (hooks, handle)
    del hooks, data
    gc.collect()
    pickle.loads(pickle.dumps(handle)).remove()
