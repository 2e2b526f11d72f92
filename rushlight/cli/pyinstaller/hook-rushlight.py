"""Modules that are loaded by name on first use, tables in files, and oneDNN's library, where applications look for it."""

from PyInstaller.utils.hooks import collect_data_files, collect_submodules  # pyright: ignore[reportMissingModuleSource]

from rushlight.backend.onednn import library

_PACKAGES = "rushlight", "rushlight_vision"  # the second also as `import torchvision`

hiddenimports = [name for package in _PACKAGES for name in collect_submodules(package)]
datas = [entry for package in _PACKAGES for entry in collect_data_files(package)]
binaries = [(library.load()._name, "lib")] if library.available() else []
