"""Modules and tables of torchvision's names, which are loaded on first use."""

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

hiddenimports = collect_submodules("rushlight_vision")
datas = collect_data_files("rushlight_vision")
