"""Whether two descriptions of `execution.Session` say the same, and how they differ."""

from __future__ import annotations

import base64
import re
from typing import Any

import numpy as np

# how far results of the same formula may part by rounding, relative to the largest element
_ROUNDING = {"float64": 1e-9, "float32": 1e-4, "bfloat16": 3e-2, "float16": 4e-3, "complex128": 1e-9, "complex64": 1e-4}
_SMALLEST = 1e-5  # what is smaller may be what is left where terms cancel


def compare(expected: dict[str, Any], found: dict[str, Any], strict: bool = True) -> str:
    """'' where two outcomes are equal up to rounding; else what differs, beginning with its kind.

    strict: float64 is not computed from float32.
    """
    if ("raised" in expected) != ("raised" in found):
        if "raised" in expected:
            return f"accepts: torch raises {expected['raised']}: {expected['message'][:150]}"
        return f"raises: {found['raised']}: {found['message'][:200]}"
    if "raised" in expected:
        mine, theirs = found["raised"], expected["raised"]
        return (
            ""
            if mine == theirs
            else f"class: {mine} ({found['message'][:90]}); torch {theirs} ({expected['message'][:90]})"
        )
    rounding = _ROUNDING if strict else {**_ROUNDING, "float64": 1e-6, "complex128": 1e-6}
    return _value(expected["value"], found["value"], "", rounding)


def _value(a: Any, b: Any, path: str, rounding: dict[str, float]) -> str:
    if type(a) is not type(b):
        return f"type: {path} {_short(b)}; torch {_short(a)}"
    if not isinstance(a, dict):
        return "" if a == b or _same_text(a, b) else f"value: {path} {b!r}; torch {a!r}"
    if a.keys() - {"data"} != b.keys() - {"data"}:
        return f"type: {path} {_short(b)}; torch {_short(a)}"
    if "tensor" in a or "array" in a:
        return _arrays(a, b, path, rounding)
    if "number" in a:
        return _numbers(a, b, path)
    if "dict" in a:
        if [k for k, _ in a["dict"]] != [k for k, _ in b["dict"]]:
            return f"keys: {path} {[k for k, _ in b['dict']]}; torch {[k for k, _ in a['dict']]}"
        return _first(
            _value(v, w, f"{path}[{k!r}]", rounding) for (k, v), (_, w) in zip(a["dict"], b["dict"], strict=True)
        )
    if "list" in a:
        if a["kind"] != b["kind"] or len(a["list"]) != len(b["list"]):
            return f"type: {path} {b['kind']} of {len(b['list'])}; torch {a['kind']} of {len(a['list'])}"
        return _first(
            _value(v, w, f"{path}[{i}]", rounding) for i, (v, w) in enumerate(zip(a["list"], b["list"], strict=True))
        )
    return "" if a == b or _same_text(str(a), str(b)) else f"value: {path} {_short(b)}; torch {_short(a)}"


def _first(found: Any) -> str:
    return next((said for said in found if said), "")


def _arrays(a: dict, b: dict, path: str, rounding: dict[str, float]) -> str:
    kind = "tensor" if "tensor" in a else "array"
    if a[kind] != b[kind]:
        return f"dtype: {path} {b[kind]}; torch {a[kind]}"
    if a["shape"] != b["shape"]:
        return f"shape: {path} {b['shape']}; torch {a['shape']}"
    if a.get("grad") != b.get("grad"):
        return f"requires_grad: {path} {b['grad']}; torch {a['grad']}"
    said = _data(a, b, path, rounding, a[kind])
    if said:
        return said
    if _strides(a) != _strides(b):
        return f"stride: {path} {b['stride']}; torch {a['stride']} (shape {a['shape']})"
    if a.get("node") != b.get("node"):
        return f"node: {path} {b['node']}; torch {a['node']}"
    return ""


def _strides(a: dict) -> list[int] | None:
    """Strides where they matter."""
    if "stride" not in a or 0 in a["shape"]:
        return None
    return [s for s, n in zip(a["stride"], a["shape"], strict=True) if n > 1]


def _data(a: dict, b: dict, path: str, rounding: dict[str, float], dtype: str) -> str:
    if a.get("data") == b.get("data"):
        return ""
    if "data" not in a or "data" not in b:
        return f"value: {path} one of them has no elements"
    stored = np.dtype("float32" if dtype in ("bfloat16", "float16") else dtype)
    x, y = (np.frombuffer(base64.b64decode(d["data"]), stored) for d in (a, b))
    if stored.kind in "fc":
        if close(x, y, rounding[dtype]):
            return ""
    elif np.array_equal(x, y):
        return ""
    i = int(np.argmax(~((x == y) | ((x != x) & (y != y)))))
    return f"value: {path} {y[i]!s} at {i} of {a['shape']}; torch {x[i]!s}"


def close(x: np.ndarray, y: np.ndarray, rounding: float) -> bool:
    """Same nans and infinities, all else equal up to `rounding` of the largest element."""
    if x.dtype.kind == "c":
        return close(x.view(x.real.dtype), y.view(y.real.dtype), rounding)
    finite = np.isfinite(x)
    if not np.array_equal(finite, np.isfinite(y)) or not np.array_equal(x[~finite], y[~finite], equal_nan=True):
        return False
    x, y = x[finite].astype(np.float64), y[finite].astype(np.float64)
    if not x.size:
        return True
    return bool((np.abs(x - y) <= rounding * max(np.abs(x).max(), _SMALLEST)).all())


def _numbers(a: dict, b: dict, path: str) -> str:
    if a["number"] != b["number"]:
        return f"type: {path} {b['number']}; torch {a['number']}"
    if a["is"] != b["is"]:
        x, y = (
            np.array(
                [complex(d["is"].partition("(")[2].rstrip(")") or d["is"]) if "np." in d["is"] else complex(d["is"])]
            )
            for d in (a, b)
        )
        if a["number"] == "int" or not close(x, y, 1e-4):
            return f"value: {path} {b['is']}; torch {a['is']}"
    return ""


_NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")


def _same_text(a: Any, b: Any) -> bool:
    """Texts that differ in the last digits of printed numbers only."""
    if not isinstance(a, str) or not isinstance(b, str) or _NUMBER.sub("#", a) != _NUMBER.sub("#", b):
        return False
    pairs = zip(_NUMBER.findall(a), _NUMBER.findall(b), strict=True)
    return all(x == y or ("." in x and abs(float(x) - float(y)) <= 2e-4 * max(1.0, abs(float(x)))) for x, y in pairs)


def _short(value: Any) -> str:
    return str({k: v for k, v in value.items() if k != "data"})[:160] if isinstance(value, dict) else repr(value)[:160]
