"""Devices: their names, what one has to bring (`Backend`), and what tensors hold in the place of an array in main memory:
a device's memory (`Buffer`), or elements that are worked out when they are read (`Conjugated`)."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Folder(ModuleType):
    """This folder, in which pickles written before look for the class `device`: one file had the folder's place then.

    `devices.py` was named like its class for a while. Importing it by that name does not put it in the class's place.
    """

    @property
    def device(self) -> Any:
        return import_module(f"{__name__}.devices").device

    @device.setter
    def device(self, module: ModuleType) -> None:
        pass


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(import_module(f"{__name__}.devices"), name)


sys.modules[__name__].__class__ = _Folder
