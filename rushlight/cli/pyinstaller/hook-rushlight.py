"""Modules that are loaded by name on first use, tables in files, and oneDNN's library, where applications look for it."""

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

from rushlight.backend.onednn import library

hiddenimports = collect_submodules("rushlight")
datas = collect_data_files("rushlight")
binaries = [(library.load()._name, "lib")] if library.available() else []
