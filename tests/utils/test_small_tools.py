"""torch.utils: hooks, weak references, dlpack, and what raises."""

import gc

import numpy as np
import pytest

import rushlight as torch


def test_weak_dictionary():
    t, other = torch.ones(2), torch.ones(2)
    d = torch.utils.weak.WeakTensorKeyDictionary({t: 1})
    d[other] = 2
    assert (d[t], d[other], len(d), t in d, 3 in d) == (1, 2, 2, True, False)
    ref = torch.utils.weak.TensorWeakRef(other)
    del other
    gc.collect()
    assert len(d) == 1 and list(d) == [t] and ref() is None
    with pytest.raises(AssertionError, match=r"expected torch\.Tensor"):
        torch.utils.weak.TensorWeakRef(3)


def test_dlpack():
    array = np.arange(3.0)
    t = torch.utils.dlpack.from_dlpack(array)
    array[0] = 5
    assert t.tolist() == [5, 1, 2]


def test_hooks():
    @torch.utils.hooks.unserializable_hook
    def hook(g):
        return g

    t = torch.ones(1, requires_grad=True)
    t.register_hook(hook)
    torch.utils.hooks.warn_if_has_hooks(t)
    t.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="will not be serialized"):
        torch.utils.hooks.warn_if_has_hooks(t)


@pytest.mark.parametrize("name", ["load", "load_inline", "CppExtension", "CUDAExtension", "BuildExtension"])
def test_extensions_are_absent(name):
    with pytest.raises(NotImplementedError, match=rf"cpp_extension\.{name}.*Python implementation"):
        getattr(torch.utils.cpp_extension, name)("name", ["file.cpp"])


def test_the_environment(capsys):
    torch.utils.collect_env.main()
    assert "rushlight" in capsys.readouterr().out


def test_what_collects_the_environment():
    """kornia's tests ask for the compiler and the processor."""
    tools = torch.utils.collect_env
    assert tools.run("echo a; exit 3") == (3, "a", "")
    assert tools.run_and_return_first_line(lambda command: (0, "a\nb", ""), "c") == "a"
    assert tools.get_gcc_version(lambda command: (0, "gcc (Debian) 12", "")) == "(Debian) 12"
    assert tools.get_gcc_version(lambda command: (127, "", "not found")) is None
    assert tools.get_cpu_info(lambda command: (1, "", "failed")) in ("failed", "None")
