"""Runs the statements of a program under either framework and describes what they gave, as JSON has it.

Neither framework is imported here: the side that runs hands its own in, under torch's name.
"""

from __future__ import annotations

import ast
import base64
import math
import pickle
import signal
import warnings
from pathlib import Path
from typing import Any

import numpy as np

STATEMENT_S = 10  # a statement that runs longer counts as raising
_MOST = 5000  # elements of a tensor that are compared


class Session:
    """The variables of one program. `save(value, name)` and `load(name)` use files in `folder`."""

    def __init__(self, torch: Any, seed: int, folder: Path) -> None:
        self.torch, self.folder = torch, folder
        torch.manual_seed(seed)
        torch.set_default_dtype(torch.float32)
        torch.set_printoptions(profile="default")
        torch.set_grad_enabled(True)
        self.space: dict[str, Any] = {
            "torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": np, "math": math, "save": self.save, "load": self.load,
        }  # fmt: skip

    def save(self, value: Any, name: str, **options: Any) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.torch.save(value, self.folder / name, **options)

    def load(self, name: str, **options: Any) -> Any:
        return self.torch.load(self.folder / name, **options)

    def run(self, statement: str) -> dict[str, Any]:
        """{"value": description} of what an assignment bound or an expression gave, or {"raised": class, "message"}."""
        signal.signal(signal.SIGALRM, _stop)
        signal.alarm(STATEMENT_S)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return {"value": self._run(ast.parse(statement))}
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:
            return {"raised": type(error).__name__, "message": str(error)[:400]}
        finally:
            signal.alarm(0)

    def _run(self, tree: ast.Module) -> Any:
        last = tree.body[-1]
        if isinstance(last, ast.Expr):
            exec(compile(ast.Module(tree.body[:-1], []), "<program>", "exec"), self.space)
            return self.describe(eval(compile(ast.Expression(last.value), "<program>", "eval"), self.space))
        exec(compile(tree, "<program>", "exec"), self.space)
        if isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
            return self.describe(self.space[last.targets[0].id])
        return None

    def describe(self, value: Any, depth: int = 0) -> Any:
        torch = self.torch
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (int, float, complex, np.generic)):
            return {"number": type(value).__name__, "is": repr(value)}
        if isinstance(value, np.ndarray):
            return {"array": str(value.dtype), "shape": list(value.shape), "data": _packed(value)}
        if isinstance(value, (torch.dtype, torch.device, torch.Size)):
            return {"shown": str(value)}
        if depth < 5 and isinstance(value, dict):
            return {"dict": [[str(k), self.describe(v, depth + 1)] for k, v in value.items()]}
        if depth < 5 and isinstance(value, (list, tuple)):
            return {"list": [self.describe(v, depth + 1) for v in value], "kind": type(value).__name__}
        if isinstance(value, torch.nn.Module):
            return {"shown": repr(value)}
        return {"object": type(value).__name__}

    def _tensor(self, t: Any) -> dict[str, Any]:
        made = {
            "tensor": str(t.dtype).removeprefix("torch."),
            "shape": list(t.shape),
            "grad": bool(t.requires_grad),
            "node": None if t.grad_fn is None else type(t.grad_fn).__name__,
        }
        if t.layout is not self.torch.strided:
            made["layout"] = str(t.layout)
            t = t.to_dense()
        else:
            made["stride"] = list(t.stride())
        if t.numel() <= _MOST:
            made["data"] = _packed(_array(self.torch, t))
        return made


def _array(torch: Any, t: Any) -> np.ndarray:
    t = t.detach().resolve_conj().resolve_neg()
    if t.dtype in (torch.bfloat16, torch.float16):
        t = t.float()
    return np.ascontiguousarray(t.numpy())


def _packed(a: np.ndarray) -> str:
    return (
        base64.b64encode(a.tobytes()).decode() if a.dtype.kind != "O" else base64.b64encode(pickle.dumps(None)).decode()
    )


def _stop(*_: Any) -> None:
    raise TimeoutError(f"more than {STATEMENT_S} s")
