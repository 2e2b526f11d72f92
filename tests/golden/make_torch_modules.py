"""Writes tests/golden/torch_modules.txt: the modules below torch 2.13 as its folders have them.

Run it where torch is installed: `python tests/golden/make_torch_modules.py`.
"""

from pathlib import Path

import torch

OUT = Path(__file__).with_name("torch_modules.txt")


def main():
    root = Path(torch.__file__).parents[1]
    paths = sorted(path for path in (root / "torch").rglob("*.py") if in_packages(path, root))
    names = sorted({".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__") for path in paths})
    OUT.write_text("\n".join(names) + "\n")


def in_packages(path, root):
    """Whether every folder from the root to the file is a package."""
    return all((folder / "__init__.py").exists() for folder in path.parents if folder.is_relative_to(root / "torch"))


if __name__ == "__main__":
    assert torch.__version__.startswith("2.13.")
    main()
