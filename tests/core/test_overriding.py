"""`__torch_function__`, in processes of their own: once a class has it, the functions of that process ask."""

import subprocess
import sys
import textwrap

import pytest

PROGRAMS = {
    "where is the first to meet a duck type": (
        """
        class Duck:
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                return function, len(args)

        assert torch.where(torch.tensor([True]), Duck(), torch.ones(1)) == (torch.where, 3)
        """
    ),
    "operators that load late": (
        """
        asked = []

        class Told(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                asked.append(function.__name__)
                return super().__torch_function__(function, types, args, kwargs or {})

        x, window = torch.ones(32).as_subclass(Told), torch.ones(8)
        assert type(torch.stft(x, 8, window=window, return_complex=True)) is Told
        assert type(x.stft(8, window=window, return_complex=True)) is Told
        assert asked == ["stft", "stft"], asked
        """
    ),
    "a new kernel leaves the asking alone": (
        """
        class Kept(torch.Tensor):
            pass

        x = torch.ones(2).as_subclass(Kept)
        assert type(x - 1) is Kept
        with torch.profiler.profile():  # overrides the kernel of every operator, and takes that back
            torch.cat([x, x]) - 1
        assert type(x - 1) is type(torch.cat([x, x])) is type(-x) is Kept
        """
    ),
    "a subclass stays one": (
        """
        class Plain(torch.Tensor):
            pass

        x = torch.randn(3).as_subclass(Plain)
        found = [x + 1, 1 - x, torch.relu(x), x.sum(), x.view(3, 1).T, F.mse_loss(x, x), torch.stack([x, x]), x.clone()]
        assert all(type(f) is Plain for f in found), list(map(type, found))
        assert type(torch.ones(2) + 1) is torch.Tensor
        part = x[:2]
        part.add_(3)
        assert x[0] == part[0] and type(part) is Plain
        """
    ),
    "functions of linalg and fft, and those of init that do so in torch, ask themselves": (
        """
        told = []

        class Told(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                told.append((func, len(args), sorted(kwargs or {})))
                return super().__torch_function__(func, types, args, kwargs or {})

        x = (torch.eye(3) * 2).as_subclass(Told)
        for space in (torch.linalg, torch.fft):
            for name in ("norm", "vector_norm", "pinv", "inv", "solve", "cholesky", "eigvalsh", "fft", "fft2", "fftshift"):
                function = getattr(space, name, None)
                if function is not None:
                    told.clear()
                    assert type(function(x, x) if name == "solve" else function(x)) is Told, name
                    assert told == [(function, 2 if name == "solve" else 1, [])], (name, told)
        for function, given in (
            (nn.init.uniform_, ["a", "b", "generator", "tensor"]),
            (nn.init.normal_, ["generator", "mean", "std", "tensor"]),
            (nn.init.kaiming_uniform_, ["a", "generator", "mode", "nonlinearity", "tensor"]),
        ):
            told.clear()
            assert function(x) is x
            assert told == [(function, 0, given)], told
        told.clear()
        nn.init.xavier_normal_(x), nn.init.kaiming_normal_(x)
        assert [func for func, *_ in told if func.__name__ == "normal_"] == [torch.Tensor.normal_] * 2, told
        """
    ),
    "a class that is no tensor is asked of linalg": (
        """
        class Duck:
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                return function, len(args), kwargs or {}

        matrix = torch.eye(2)
        torch.add(Duck(), matrix)  # the first one to be met
        assert torch.linalg.solve(matrix, Duck()) == (torch.linalg.solve, 2, {})
        assert torch.linalg.cholesky(Duck(), upper=True) == (torch.linalg.cholesky, 1, {"upper": True})
        assert torch.linalg.eigh(Duck()) == (torch.linalg.eigh, 1, {})
        assert matrix @ Duck() == (torch.Tensor.matmul, 2, {})
        """
    ),
    "Python's operators are told under torch's names": (
        """
        names = []

        class Told(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                names.append(func)
                return super().__torch_function__(func, types, args, kwargs or {})

        T = torch.Tensor
        x = torch.full((2, 2), 4.0).as_subclass(Told)
        x @ x, x**2, x // 2, 1 / x
        x += 1
        x -= 1
        x *= 2
        x /= 2
        x //= 2
        x %= 3
        x **= 2
        written = [T.add_, T.sub_, T.mul_, T.div_, T.floor_divide_, T.remainder_, T.__ipow__]
        assert names == [T.matmul, T.__pow__, T.__floordiv__, T.__rtruediv__, *written], names
        shown = ["matmul", "pow", "__floordiv__", "__rdiv__", "add_", "sub_", "mul_", "div_"]
        assert [f.__name__ for f in names] == [*shown, "floor_divide_", "remainder_", "pow_"], names
        y = torch.tensor([6]).as_subclass(Told)
        names.clear()
        y & 3, y | 1, y ^ 1
        assert names == [T.__and__, T.__or__, T.__xor__], names
        assert [f.__name__ for f in names] == ["__and__", "__or__", "__xor__"]
        """
    ),
    "einsum is told with its operands one by one": (
        """
        told = []

        class Tells(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                told.append((func, args))
                return super().__torch_function__(func, types, args, kwargs or {})

        a, b = torch.ones(2, 3).as_subclass(Tells), torch.ones(3, 4)
        for given in (("ij,jk->ik", a, b), ("ij,jk->ik", [a, b]), ("ij,jk->ik", (a, b)), (a, [8, 9], b, [9, 10], [8, 10])):
            told.clear()
            found = torch.einsum(*given)
            (func, (equation, *operands)), *rest = told
            assert func is torch.einsum and operands[0] is a and operands[1] is b and len(operands) == 2 and not rest
            assert type(found) is Tells
            assert torch.equal(torch.einsum(equation, torch.ones(2, 3), b), torch.full((2, 4), 3.0))
        """
    ),
    "functions that torch writes in Python tell their options by keyword": (
        """
        from rushlight.torch.overrides import TorchFunctionMode

        told = []

        class Tells(TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                told.append((func, len(args), dict(kwargs or {})))
                return torch.tanh(*args) if func is F.relu else func(*args, **(kwargs or {}))

        x = torch.linspace(-1, 1, 6).view(2, 3)
        relu, norm, drop = torch.nn.ReLU(), torch.nn.LayerNorm(3), torch.nn.Dropout(0.25)
        with Tells():
            assert torch.equal(relu(x), x.tanh())
            norm(x), drop(x), F.softmax(x, -1), torch.split(x, 1, 1), torch.norm(x), torch.relu(x)
            torch.stft(torch.ones(8), 4, return_complex=True, window=torch.ones(4))
        told = {func: rest for func, *rest in told[::-1]}
        assert told[F.relu] == [1, {"inplace": False}]
        assert told[F.layer_norm] == [2, {"weight": norm.weight, "bias": norm.bias, "eps": 1e-5}]
        assert told[F.dropout] == [1, {"p": 0.25, "training": True, "inplace": False}]
        assert told[F.softmax] == [1, {"dim": -1, "_stacklevel": 3, "dtype": None}]
        assert told[torch.split] == [2, {"dim": 1}]
        assert told[torch.norm] == [1, {"p": "fro", "dim": None, "keepdim": False, "out": None, "dtype": None}]
        assert told[torch.stft][0] == 2 and len(told[torch.stft][1]) == 9
        assert not any(func.__name__ == "publish" for func in told)
        """
    ),
    "gradients go through a subclass": (
        """
        class Plain(torch.Tensor):
            pass

        x = torch.ones(3).as_subclass(Plain).requires_grad_()
        layer = nn.Linear(3, 2)
        out = layer(x)
        assert type(out) is Plain and type(out.sum()) is Plain
        out.sum().backward()
        assert type(layer.weight.grad) is torch.Tensor and x.grad.shape == (3,)
        assert type(layer.weight * 2) is torch.Tensor
        """
    ),
    "a logging subclass sees torch's names": (
        """
        names = []

        class Logging(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                names.append(func.__name__)
                return super().__torch_function__(func, types, args, kwargs or {})

        x = torch.ones(3).as_subclass(Logging)
        x * 2 + 1
        1 - x
        x[0]
        x[0] = 5.0
        F.mse_loss(x, x)
        x.add_(1)
        assert names == ["mul", "add", "__rsub__", "__getitem__", "__setitem__", "mse_loss", "add_"], names
        """
    ),
    "functions that take any object do not ask": (
        """
        class Refusing:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                raise AssertionError(func)

        class Plain(torch.Tensor):
            pass

        class Noting(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append(func.__name__)
                return func(*args, **(kwargs or {}))

        assert not torch.is_tensor(Refusing()) and not torch.is_storage(Refusing())
        for function, error in ((torch.tensor, RuntimeError), (torch.as_tensor, RuntimeError), (torch.from_numpy, TypeError)):
            try:
                function(Refusing())
            except error:
                continue
            raise AssertionError(function)
        x = torch.ones(2).as_subclass(Plain)
        assert torch.as_tensor(x) is x and type(torch.as_tensor(x, dtype=torch.float64)) is torch.Tensor
        seen = []
        with Noting():
            torch.is_tensor(x), torch.as_tensor([1.0]), torch.tensor(1)
        assert seen == ["as_tensor", "tensor"], seen
        """
    ),
    "a class that is no tensor": (
        """
        handlers = {}

        class Scalar:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return handlers[func](*args, **(kwargs or {})) if func in handlers else NotImplemented

        handlers[torch.mean] = lambda x: "mean"
        handlers[torch.add] = lambda x, y: "sum"
        handlers[torch.flatten] = lambda x, start: f"flat {start}"
        assert torch.mean(Scalar()) == "mean"
        assert torch.add(Scalar(), torch.ones(1)) == torch.add(torch.ones(1), Scalar()) == "sum"
        assert torch.flatten(Scalar(), 1) == "flat 1"
        try:
            torch.mul(Scalar(), 2)
        except TypeError as error:
            assert "Multiple dispatch failed for 'torch.mul'" in str(error), error
        else:
            raise AssertionError
        """
    ),
    "a mode sees all calls, and none inside itself": (
        """
        from rushlight.overrides import TorchFunctionMode

        class Counting(TorchFunctionMode):
            names = []

            def __torch_function__(self, func, types, args=(), kwargs=None):
                self.names.append(func.__name__)
                torch.zeros(2) + 1
                return func(*args, **(kwargs or {}))

        with Counting():
            y = torch.relu(torch.arange(3.0)) + 1
        y * 2
        assert [n for n in Counting.names if n != "arange"] == ["relu", "add"], Counting.names
        """
    ),
    "signatures and first calls survive": (
        """
        import inspect
        from rushlight.core.dispatch.torch_function import activate

        before = str(inspect.signature(F.dropout))
        activate()
        assert str(inspect.signature(F.dropout)) == before
        assert torch.logaddexp(torch.zeros(1), torch.zeros(1)).item() > 0.69  # never called before
        out = torch.empty(3)
        assert torch.exp(torch.zeros(3), out=out) is out and out.sum() == 3
        """
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    text = "import rushlight as torch\nfrom rushlight import nn\nfrom rushlight.nn import functional as F\n"
    text += textwrap.dedent(PROGRAMS[name])
    done = subprocess.run([sys.executable, "-W", "error", "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
