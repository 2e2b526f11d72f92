"""Placeholder for `torch` until the alias is installed, which then takes this module's place."""

import importlib
import sys
from pathlib import Path

try:
    from rushlight.alias import install
except ModuleNotFoundError:  # a child of a process that ran from a source folder
    sys.path.append(str(Path(__file__).parents[3]))
    from rushlight.alias import install

del sys.modules["torch"]
install()
importlib.import_module("torch")
