"""Operators' and tensors' names come from the four decorators, a table of what loads late, and class Tensor itself."""

import ast

import pytest

from rushlight.core.dispatch.op import OPS, composite
from rushlight.core.tensor.tensor import Tensor
from rushlight.torch import _lazy
from tools.layers import ROOT, files

# the decorators; methods that load late; stand-ins for what torch alone has, under `import torch`
MAY = {"core/dispatch/op.py", "torch/_lazy.py", "alias/lookup.py"}
TELLTALE = ("Tensor.", "setattr(", "OPS", "FUNCTIONAL")  # one of them is in every such line


def _names_given(tree):
    """Lines that give Tensor or the registry a name without a decorator."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets += [node.target] if isinstance(node, (ast.AnnAssign, ast.AugAssign)) else []
        for target in targets:
            for each in target.elts if isinstance(target, ast.Tuple) else [target]:
                of_tensor = isinstance(each, ast.Attribute) and ast.unparse(each.value) == "Tensor"
                of_table = isinstance(each, ast.Subscript) and ast.unparse(each.value) in ("OPS", "op.OPS")
                if of_tensor or of_table:
                    yield node.lineno
        if isinstance(node, ast.Call):
            text = ast.unparse(node.func)
            sets = text == "setattr" and ast.unparse(node.args[0]) == "Tensor"
            if sets or text in ("OPS.update", "OPS.setdefault", "FUNCTIONAL.add", "FUNCTIONAL.update"):
                yield node.lineno


def test_names_come_from_decorators():
    texts = {file: (ROOT / file).read_text() for file in files()}
    trees = {file: ast.parse(text) for file, text in texts.items() if any(word in text for word in TELLTALE)}
    found = {file: lines for file, tree in trees.items() if (lines := list(_names_given(tree)))}
    assert set(found) == MAY, found


def test_the_test_sees_each_way():
    code = """
Tensor.a = Tensor.b = f
Tensor.c, Tensor.d = f, g
setattr(Tensor, "e", f)
OPS["f"] = f
OPS |= {}
OPS.update({})
OPS["g"], OPS["h"] = f, g
FUNCTIONAL.add("i")
x.Tensor = OPS["a"]
"""
    assert sorted(set(_names_given(ast.parse(code)))) == [2, 3, 4, 5, 7, 8, 9]


def test_a_name_of_a_tensor_alone():
    @composite(name="_of_this_test", method=True, function=False, aliases=("_of_this_test_too",))
    def f(self):
        return self.sum()

    try:
        assert Tensor([1.0, 2.0])._of_this_test().item() == Tensor([1.0, 2.0])._of_this_test_too().item() == 3
        assert "_of_this_test" not in OPS
    finally:
        del Tensor._of_this_test, Tensor._of_this_test_too


def test_a_name_is_given_once():
    with pytest.raises(ValueError, match="operator 'sum' is registered twice"):
        composite(name="sum")(lambda x: x)


def test_methods_that_load_late_are_those_of_their_modules():
    for module in _lazy.METHODS:
        _lazy.load(module)
        _lazy.load(module)
    for module, names in _lazy.METHODS.items():
        for name in names.split():
            assert vars(Tensor)[name] is not _lazy._STUBS[name], f"{module} has no {name}"
