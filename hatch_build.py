"""Hatchling's build hook: writes the stub package, for wheels and for `pip install -e .`."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class StubPackage(BuildHookInterface):
    """Adds `rushlight-stubs`; see `tools/stub_package.py`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, self.root)
        try:
            from tools import stub_package
        finally:
            sys.path.remove(self.root)
        stub_package.write(Path(self.root))
        if version != "editable":
            folder = stub_package.FOLDER
            build_data["force_include"][str(Path(self.root) / folder)] = folder
