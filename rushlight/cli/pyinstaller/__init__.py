"""PyInstaller's hooks: what an application that imports Rushlight, frozen into a folder or one file, takes along."""

from os.path import dirname


def folders() -> list[str]:
    """Where PyInstaller finds the hooks; it asks for this by the entry point `pyinstaller40`."""
    return [dirname(__file__)]
