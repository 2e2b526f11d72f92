"""Nested containers flattened and unflattened."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import rushlight as torch
from rushlight.utils import _pytree as pytree

Point = namedtuple("Point", "x y")
TREE = [
    1,
    {"b": 2, "a": (3, None)},
    OrderedDict(x=5),
    Point(1, 2),
    deque([1], maxlen=3),
    defaultdict(list, {"k": 1}),
]
SPEC = """TreeSpec(list, None, [*,
  TreeSpec(dict, ['b', 'a'], [*,
    TreeSpec(tuple, None, [*,
      *])]),
  TreeSpec(OrderedDict, ['x'], [*]),
  TreeSpec(namedtuple, <class 'test_pytree.Point'>, [*,
    *]),
  TreeSpec(deque, 3, [*]),
  TreeSpec(defaultdict, [<class 'list'>, ['k']], [*])])"""  # as torch prints it


def test_there_and_back():
    leaves, spec = pytree.tree_flatten(TREE)
    assert leaves == pytree.tree_leaves(TREE) == [1, 2, 3, None, 5, 1, 2, 1, 1]
    again = pytree.tree_unflatten(leaves, spec)
    assert again == TREE and [type(x) for x in again] == [type(x) for x in TREE] and again[4].maxlen == 3
    assert str(spec) == SPEC and (spec.num_leaves, spec.num_nodes) == (9, 16)
    assert spec == pytree.tree_structure(again) and hash(spec) == hash(pytree.tree_structure(again))
    assert spec != pytree.tree_structure([1])
    assert (
        str(pytree.tree_structure(3)) == "*" and pytree.treespec_pprint(pytree.tree_structure([1, (2,)])) == "[*, (*,)]"
    )


def test_maps():
    assert pytree.tree_map(lambda x, y: x + y[0], {"a": 1, "b": (2, 3)}, {"b": ([1], [2]), "a": [9]}) == {
        "a": 10, "b": (3, 5),
    }  # fmt: skip
    assert pytree.tree_map_only(int, lambda x: -x, [1, "a", (2.0, 3)]) == [-1, "a", (2.0, -3)]
    assert pytree.tree_map_only(torch.Tensor, torch.neg, (torch.ones(1), 2))[0].item() == -1
    result = pytree.tree_map(lambda x: x + 1, torch.tensor([[1.0, 2.0]]).max(1))
    assert type(result) is torch.return_types.max and result.indices.item() == 2
    assert type(pytree.tree_map(lambda x: x + 1, torch.Size([1, 2]))) is torch.Size
    seen = []
    assert pytree.tree_map_(seen.append, TREE) is TREE and len(seen) == 9
    assert pytree.tree_any(lambda x: x == 5, TREE) and not pytree.tree_all(lambda x: x == 5, TREE)
    assert pytree.tree_all_only(int, lambda x: x > 0, TREE)
    assert pytree.tree_leaves([1, (2, 3)], is_leaf=lambda x: isinstance(x, tuple)) == [1, (2, 3)]


def test_paths():
    paths = pytree.tree_leaves_with_path({"a": [1, Point(2, 3)]})
    assert [pytree.keystr(path) for path, _ in paths] == ["['a'][0]", "['a'][1].x", "['a'][1].y"]
    assert pytree.key_get({"a": [1, Point(2, 3)]}, paths[2][0]) == 3
    assert pytree.tree_map_with_path(lambda path, x: pytree.keystr(path), [0, {"k": 0}]) == ["[0]", {"k": "[1]['k']"}]


class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right


def test_a_class_of_ones_own():
    pytree.register_pytree_node(Pair, lambda p: ([p.left, p.right], "context"), lambda parts, context: Pair(*parts))
    try:
        pair = pytree.tree_map(lambda x: x + 1, Pair(1, [2]))
        assert (pair.left, pair.right) == (2, [3])
        with pytest.raises(ValueError, match="already registered"):
            pytree.register_pytree_node(Pair, None, None)
        with pytest.raises(ValueError, match="flatten_with_keys_fn"):
            pytree.tree_leaves_with_path(pair)
    finally:
        pytree._deregister_pytree_node(Pair)


MISTAKES = [
    (lambda: pytree.tree_unflatten([1], pytree.tree_structure([1, 2])), "`leaves` has length 1 but .* holds 2 items"),
    (lambda: pytree.tree_map(max, [1, 2], [1]), "Node arity mismatch; expected 2, but got 1"),
    (lambda: pytree.tree_map(max, {"a": 1}, {"b": 1}), r"missing key\(s\): {'a'}; extra key\(s\): {'b'}"),
    (lambda: pytree.tree_map(max, [1], (1,)), "Node type mismatch"),
]


@pytest.mark.parametrize("call, words", MISTAKES)
def test_mistakes(call, words):
    with pytest.raises(ValueError, match=words):
        call()
