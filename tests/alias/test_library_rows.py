"""What libraries ask of torch besides operators: each case is the smallest program of a library that once failed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import rushlight as torch
from rushlight.core.requirements import check_numpy

PROGRAMS = {
    "patched methods": (
        """
        import torch
        def set_meta(self, other): return self
        torch.Tensor.set_meta = set_meta  # before the first subclass: it is not torch's
        class Strict(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                if not all(issubclass(cls, kind) for kind in types):
                    return NotImplemented
                return super().__torch_function__(func, types, args, kwargs or {})
        class A(Strict): pass
        class B(Strict): pass
        a, b = torch.ones(2).as_subclass(A), torch.ones(2).as_subclass(B)
        print(type(a.set_meta(b)).__name__)
        try: print(a.add(b))
        except TypeError as error: print(str(error).splitlines()[0])
        """,
        "A\nMultiple dispatch failed for 'torch.add'; all __torch_function__ handlers returned NotImplemented:",
    ),
    "video": (
        """
        try: from torchvision.io import VideoReader
        except ImportError: print("absent")
        """,
        "absent",
    ),
    "collate": (
        """
        import torch
        import torch.utils.data._utils.collate as c
        c.default_collate_fn_map.update({complex: lambda batch, *, collate_fn_map=None: "complex"})
        print(torch.utils.data.default_collate([1j, 2j]), c.collate_tensor_fn([torch.ones(1)] * 2).shape)
        """,
        "complex torch.Size([2, 1])",
    ),
    "distributed": (
        """
        import torch.distributed as dist
        from torch.distributed.constants import default_pg_timeout
        import torch.distributed._tensor.device_mesh
        print(dist.Backend.default_device_backend_map["cpu"], default_pg_timeout, len(dist.Backend.backend_list))
        """,
        "gloo 0:30:00 7",
    ),
    "constants": ("import torch; print(torch.bits8, str(torch.quint4x2))", "torch.bits8 torch.quint4x2"),
    "inner names": (
        """
        import torch, torch.utils._pytree as p
        from torch.autograd.forward_ad import _DecoratorContextManager
        class Said(_DecoratorContextManager):
            def __enter__(self): print("in")
            def __exit__(self, *error): print("out")
        Said()(lambda: print("called"))()
        import torch._tensor_str
        from torch._functorch.vmap import _add_batch_dim, _remove_batch_dim
        leaves, context = p._dict_flatten({"a": 1})
        print(p._dict_unflatten(leaves, context), p._list_flatten([1]), p._tuple_unflatten([1], None))
        print(p._list_flatten_with_keys([7])[0][0][1], torch._C._is_torch_function_mode_enabled())
        with torch._tensor_str.printoptions(precision=2): print(torch.tensor([1.23456]))
        """,
        "in\ncalled\nout\n{'a': 1} ([1], None) (1,)\n7 False\ntensor([1.23])",
    ),
    "tracing": (
        """
        import torch
        torch.jit.trace(lambda x: print(torch._C._is_tracing()) or x + 1, torch.ones(1), check_trace=False)
        print(torch._C._is_tracing())
        """,
        "True\nFalse",
    ),
    "assertions": (
        """
        import torch
        print(torch._C._are_functorch_transforms_active(), torch._assert_async(torch.tensor([1])))
        torch.func.vmap(lambda x: print(torch._C._are_functorch_transforms_active()) or x)(torch.ones(1))
        for value, *message in ((0,), (0, "not so"), ([1, 1],)):
            try: torch._assert_async(torch.tensor(value), *message)
            except RuntimeError as error: print(error)
        """,
        "False None\nTrue\nExpected Tensor with single nonzero value, but got zero\nnot so\n"
        "Boolean value of Tensor with more than one value is ambiguous",
    ),
    "triton": (
        """
        import torch
        from torch.library import triton_op, wrap_triton
        @triton_op("rows::kernel", mutates_args=())
        def f(x: torch.Tensor) -> torch.Tensor: return wrap_triton(None)[(1,)](x)
        @triton_op("rows::plain", mutates_args=())
        def g(x: torch.Tensor) -> torch.Tensor: return 2 * x
        print(g(torch.ones(1)), torch.ops.rows.plain(torch.ones(1)))
        try: f(torch.ones(1))
        except NotImplementedError as error: print(error)
        """,
        "tensor([2.]) tensor([2.])\ntorch.library.wrap_triton: there is no Triton here",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(program, name):
    text, printed = PROGRAMS[name]
    assert program.prints(dedent(text)).strip() == printed


MODULES = """
import importlib, json, sys
failed = {}
for name in open(sys.argv[1]).read().split():
    try: importlib.import_module(name)
    except Exception as error: failed[name] = f"{type(error).__name__}: {error}"
print(json.dumps(failed))
"""


def test_every_module_of_torch_can_be_imported(program):
    listed = Path(__file__).parents[1] / "golden" / "torch_modules.txt"
    failed = json.loads(program.prints(MODULES, listed))
    failed = {name: why for name, why in failed.items() if "tensorboard" not in why}  # torch's needs it as well
    scripts = [
        name for name in failed if name.endswith("__main__") or name == "torch.testing._internal.py312_intrinsics"
    ]
    assert [name for name in failed if name not in scripts] == [], failed


def test_what_a_module_lacks_refuses_at_its_use(program):
    text = """
        from torch._inductor.codegen.cpp import CppKernel
        from torch._dynamo.utils import graph_break_dup_warning_checker, is_compile_supported
        for use in (CppKernel, is_compile_supported, lambda: graph_break_dup_warning_checker["stats"]):
            try: print("worked", use())
            except NotImplementedError as error: print(error)
        """
    assert program.prints(dedent(text)).splitlines() == [
        "Rushlight does not have torch._inductor.codegen.cpp.CppKernel",
        "Rushlight does not have torch._dynamo.utils.is_compile_supported",
        "Rushlight does not have torch._dynamo.utils.graph_break_dup_warning_checker",
    ]


PYTHON_TYPES = [
    (lambda t, d: t.to(d), "to"),
    (lambda t, d: t.to(dtype=d), "to, by name"),
    (lambda t, d: t.to("cpu", d), "to, with a device"),
    (lambda t, d: t.sum(dtype=d), "sum"),
    (lambda t, d: t.cumsum(0, dtype=d), "cumsum"),
    (lambda t, d: torch.prod(t, dtype=d), "prod"),
    (lambda t, d: torch.as_tensor(t, dtype=d), "as_tensor"),
    (lambda t, d: torch.zeros_like(t, dtype=d), "zeros_like"),
    (lambda t, d: torch.ones(2, dtype=d), "ones"),
]


@pytest.mark.parametrize("call", [call for call, _ in PYTHON_TYPES], ids=[name for _, name in PYTHON_TYPES])
def test_python_types_are_dtypes(call):
    for kind, dtype in ((int, torch.int64), (float, torch.float64), (complex, torch.complex128)):
        assert call(torch.ones(2), kind).dtype is dtype


def test_python_types_elsewhere():
    t = torch.ones(2)
    assert t.softmax(0, dtype=float).dtype is t.mean(dtype=float).dtype is torch.hann_window(3, dtype=float).dtype
    assert t.view(int).tolist() == [4575657222473777152] and t.view(dtype=int).shape == (1,)
    assert torch.nn.Linear(1, 1).to(float).weight.dtype is torch.nn.Linear(1, 1).to(dtype=float).weight.dtype
    assert torch.finfo(float).bits == torch.iinfo(int).bits == 64
    assert torch.promote_types(int, float) is torch.float64 and torch.can_cast(int, float)
    with pytest.raises(TypeError, match="only floating-point types are supported"):
        torch.set_default_dtype(float)
    with pytest.raises(TypeError, match="invalid combination"):
        t.to(str)


def test_arange_up_to_an_end():
    assert torch.arange(end=3).tolist() == [0, 1, 2] and torch.arange(end=2.0).dtype is torch.float32
    assert torch.arange(1, end=3).tolist() == [1, 2]
    with pytest.raises(TypeError, match="missing 1 required"):
        torch.arange(step=2)


def test_size_of_storages():
    empty, full = torch.ones(0).untyped_storage(), torch.ones(1000).untyped_storage()
    assert sys.getsizeof(full) - sys.getsizeof(empty) == 4000


def test_saved_values_that_are_not_kept():
    y = torch.nn.Linear(3, 2)(torch.ones(1, 3))  # the input has no gradient, so the weight is not kept
    assert y.grad_fn._saved_mat2 is None and y.grad_fn._saved_mat1.shape == (1, 3)


@pytest.mark.parametrize("version", ["1.26.4", "2.2.6"])
def test_an_older_numpy_is_named(version):
    with pytest.raises(ImportError, match=f"needs numpy>=2.3, and numpy {version} is installed"):
        check_numpy(version)
    check_numpy("2.3.0"), check_numpy("3.0.0rc1")


def test_environment_says_what_loads(capsys, monkeypatch, tmp_path):
    from rushlight.torch.utils.collect_env import print_environment

    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    print_environment()
    lines = dict(
        line.split(maxsplit=1) for line in capsys.readouterr().out.replace("native code", "native").splitlines()
    )
    assert {"oneDNN", "llvmlite", "native", "instruction"} <= set(lines)
    assert "OMP_NUM_THREADS=1" in lines["threads"] and lines["torch"] != "not installed"


WITHOUT_MEMORY_FILES = """
import os
del os.memfd_create
import torch, torch.multiprocessing as mp, warnings
warnings.simplefilter("ignore")
def double(q, r): r.put(2 * q.get())
if __name__ == "__main__":
    context = mp.get_context("fork")
    q, r = context.Queue(), context.Queue()
    child = context.Process(target=double, args=(q, r)); child.start()
    q.put(torch.nn.Parameter(torch.ones(2)).data); print(r.get(timeout=60)); child.join()
    q = mp.SimpleQueue(); q.put(torch.nn.Parameter(torch.ones(1))); print(type(q.get()).__name__)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_tensors_travel_without_memory_files(program):
    assert program.prints(WITHOUT_MEMORY_FILES).splitlines() == ["tensor([2., 2.])", "Parameter"]


def test_old_constructors_stay_on_the_cpu():
    """As in torch, whatever the default device is: models compute numbers by them as they are made without memory."""
    with torch.device("meta"):
        for made in (torch.Tensor([1.0, 2.0]), torch.FloatTensor([1.0]), torch.LongTensor([1]), torch.Tensor(2)):
            assert made.device.type == "cpu"
        assert torch.Tensor([0.5]).tolist() == [0.5] and torch.tensor([0.5]).device.type == "meta"


NAMES_ASKED = """
import pickle
import torch
from rushlight.alias import suggestions
found, suggestions.nearest = [], suggestions.nearest
def nearest(*args): found.append(args); raise SystemExit("searched")
suggestions.nearest = nearest
try: torch.xpu.is_current_stream_capturing()
except Exception as error: kind = type(error).__name__
print(hasattr(torch.nn, "Linaer"), getattr(torch, "reluu", None), kind, found)
"""
NAMES_SHOWN = """
import pickle, torch
try: torch.nn.Linaer
except AttributeError as error:
    print(error, type(error).__name__, error.name, str(pickle.loads(pickle.dumps(error))) == str(error))
"""


def test_names_are_searched_only_to_be_shown(program):
    assert program.prints(NAMES_ASKED).strip() == "False None NotImplementedError []"
    shown = "module 'torch.nn' has no attribute 'Linaer' (nearest: torch.nn.Linear) AttributeError Linaer True"
    assert program.prints(NAMES_SHOWN).strip() == shown


def test_packages_that_need_the_real_torch_are_hidden(program):
    program.write("torchaudio/__init__.py", "raise SystemExit('the real one was imported')")
    text = """
        import importlib.util
        print(importlib.util.find_spec("torchaudio"))
        import torchaudio
        """
    done = program.run(program.write("script.py", dedent(text)))
    assert done.stdout.strip() == "None" and done.stderr.count("Rushlight does not have torchaudio") == 1


def test_two_numbers_are_divided():
    for mode, first, result in (("trunc", -7, -3), ("floor", -7, -4), ("floor", -7.0, -4.0)):
        made = torch.div(first, 2, rounding_mode=mode)
        assert made.item() == result and made.dtype is (torch.int64 if isinstance(first, int) else torch.float32)
    with pytest.raises(TypeError, match="invalid combination"):
        torch.pow(2, 3)


def test_how_to_reads_its_arguments():
    """Lightning's modules call it under this name."""
    from rushlight.torch import _C

    assert _C._nn._parse_to("cpu", torch.float64)[:2] == (torch.device("cpu"), torch.float64)


def test_a_file_in_the_place_of_numpy_is_named(tmp_path):
    (tmp_path / "numpy.py").write_text("x = 1\n")
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(torch.__file__).parent.parent}"}
    done = subprocess.run([sys.executable, "-c", "import rushlight"], env=environment, capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert last.startswith(f"ImportError: `import numpy` finds {tmp_path / 'numpy.py'}, which is not NumPy"), (
        done.stderr
    )
