"""`torch.jit.script` of lists and dictionaries, and of what it refuses."""

import builtins

import pytest

import rushlight as torch


def test_list():
    made = torch.jit.script([1, 2])
    assert type(made) is torch.ScriptList and repr(made) == "[1, 2]" and made != [1, 2] and made == made
    made.append(5)
    made.insert(0, 9)
    assert (list(made), made[-1], len(made), 2 in made, made.count(9), made.pop()) == ([9, 1, 2, 5], 5, 4, True, 1, 5)
    assert type(made[1:]) is torch.ScriptList and list(made[1:]) == [1, 2]
    with pytest.raises(TypeError, match="cannot hold 'x', a str"):
        made.append("x")
    with pytest.raises(torch.jit.Error, match=r"must have consistent element type\. Found int and str"):
        torch.jit.script([1, "a"])
    assert repr(torch.jit.script([1.5, None])) == "[1.5, None]" and not len(torch.jit.script([]))


def test_dictionary():
    made = torch.jit.script({"a": 1, "b": 2})
    assert type(made) is torch.ScriptDict and repr(made) == "{a: 1, b: 2}" and made["a"] == 1 and "a" in made
    made["c"] = 4
    assert list(made.items()) == [("a", 1), ("b", 2), ("c", 4)]
    with pytest.raises(TypeError, match="cannot hold 'x'"):
        made["a"] = "x"
    with pytest.raises(TypeError, match="the keys of a ScriptDict of a str cannot hold 3"):
        made[3] = 3
    nested = torch.jit.script({"a": [1]})
    assert type(nested["a"]) is torch.ScriptList and repr(nested) == "{a: [1]}"


def test_a_script_shares_it():
    @torch.jit.script
    def fill(values: builtins.list[int], counts: builtins.dict[str, int]) -> int:
        values.append(7)
        counts["x"] = 8
        return len(values)

    values, counts, plain = torch.jit.script([1]), torch.jit.script({"a": 1}), [1]
    assert fill(values, counts) == 2 and list(values) == [1, 7] and counts["x"] == 8
    assert fill(plain, {}) == 2 and plain == [1]


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (int, RuntimeError, "TorchScript classes must be new-style classes"),
        (torch.nn.Linear, RuntimeError, "inherits from nn.Module, pass an instance instead"),
        (len, TypeError, "'builtin_function_or_method'> is a built-in class"),
        ((1, 2), TypeError, "<class 'tuple'> is a built-in class"),
    ],
)
def test_what_has_no_script(value, error, words):
    with pytest.raises(error, match=words):
        torch.jit.script(value)
