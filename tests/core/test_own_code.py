"""Rushlight's own files are known by their names, also where its code was compiled in another place."""

from pathlib import Path

import numpy as np

from rushlight.core import own_code


def test_code_compiled_in_another_place_is_known():
    """As in frozen programs: the code's names of files are relative, the modules' are not."""
    source = Path(own_code.__file__).read_text()
    scope = {"__file__": "/opt/app/rushlight/core/own_code.pyc", "__name__": "own_code"}
    exec(compile(source, "built/rushlight/core/own_code.py", "exec"), scope)
    assert scope["PACKAGE"] == ("/opt/app/rushlight/", "built/rushlight/")
    known = scope["is_own_file"]
    for name in (
        "built/rushlight/doctor/places.py",
        "/opt/app/rushlight/nn/modules/linear.py",
        "built/rushlight_vision/io.py",
    ):
        assert known(name), name
    for name in ("built/rushlight.py", "train.py", "/opt/app/train.py", "rushlight/train.py"):
        assert not known(name), name
    assert scope["in_package"]("torch/jit") == ("/opt/app/rushlight/torch/jit/", "built/rushlight/torch/jit/")


def test_numpy_is_known_by_the_names_of_its_code():
    assert np.errstate.__init__.__code__.co_filename.startswith(own_code.NUMPY)
    assert np.__file__.startswith(own_code.NUMPY)
