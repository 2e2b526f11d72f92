"""Devices, each in a folder of its own, and faster kernels for the CPU."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from ..core.device import devices
from ..core.dispatch.extension_points import one_lstm_in_bfloat16
from . import gpus as gpus
from . import isa as isa


def _open(kind: str, index: int | None) -> Any:
    return getattr(import_module(f"{__name__}.{kind}"), f"open_{kind}")(index)


devices.register("meta", partial(_open, "meta"))
devices.register("cuda", partial(_open, "cuda"), gpus.count)
one_lstm_in_bfloat16.register(isa.has_avx512)
