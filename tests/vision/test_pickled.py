"""The restricted unpickler: data of every age of NumPy, and nothing but data."""

import pickle
import tracemalloc

import numpy as np
import pytest
from python2_pickle import python2_pickle
from rushlight.vision.datasets.pickled import load_pickled

DATA = {"data": np.arange(12, dtype=np.uint8).reshape(3, 4), "labels": [1, 2, 300], "names": ["a", "\xe9"], "n": 7}


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_array_equal(found[key], value)
        assert type(found[key]) is type(value)


def test_python_2_file(tmp_path):
    (tmp_path / "f").write_bytes(python2_pickle(DATA))
    assert_same(load_pickled(tmp_path / "f"), DATA)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_python_3_file(tmp_path, protocol):
    data = {**DATA, "bytes": b"\x00\xff", "scalar": np.int64(5), "tuple": (1.5, None, True)}
    (tmp_path / "f").write_bytes(pickle.dumps(data, protocol))
    assert_same(load_pickled(tmp_path / "f"), data)


class Attack:
    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (Attack(eval, "1/0"), "builtins.eval"),
        (Attack(exec, "1/0"), "builtins.exec"),
        (Attack(getattr, "x", "upper"), "builtins.getattr"),
        (Attack(np.load, "x"), "numpy.load"),
        (Attack(np.fromfile, "x"), r"numpy.*\.fromfile"),
        ({"data": Attack(open, "x", "w")}, r"_?io\.open"),
    ],
)
def test_functions_are_refused_by_name(tmp_path, data, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").write_bytes(pickle.dumps(data))
    with pytest.raises(pickle.UnpicklingError, match=rf"global '{name}' is not allowed.*could run code"):
        load_pickled(tmp_path / "f")
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_old_names_outside_numpy_stay_refused(tmp_path):
    (tmp_path / "f").write_bytes(b"cos\nsystem\n(U\x04trueR.")
    with pytest.raises(pickle.UnpicklingError, match=r"'os\.system' is not allowed"):
        load_pickled(tmp_path / "f")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.99])
def test_truncated_file(tmp_path, share):
    whole = python2_pickle(DATA)
    (tmp_path / "f").write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(pickle.UnpicklingError, match="truncated"):
        load_pickled(tmp_path / "f")


def test_no_pickle(tmp_path):
    (tmp_path / "f").write_bytes(b"<html>not found</html>")
    with pytest.raises(pickle.UnpicklingError):
        load_pickled(tmp_path / "f")


def test_numpy_is_not_asked_for_what_the_file_only_claims(tmp_path):
    """Arrays without bytes, dtypes with fields or objects, NumPy's functions on other arguments."""
    head = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR"
    array = head + b"(K\x01%scnumpy\ndtype\n(U\x02%sK\x00K\x01tR%s\x89U\x02hitb."
    claims = {
        "shape": array % (b"J\xff\xff\xff\x7f\x85", b"u1", b""),
        "objects": array % (b"K\x01\x85", b"O8", b""),
        "fields": array % (b"K\x02\x85", b"u1", b"(K\x03U\x01|NU\x01a\x85}U\x01aK\x07sK\x01K\x01K\x00tb"),
        "called": b"\x80\x02cnumpy\nndarray\nJ\xff\xff\xff\x7f\x85\x85R.",
        "reconstructed": head.replace(b"K\x00\x85", b"J\xff\xff\xff\x7f\x85") + b".",
        "bytearray": b"\x80\x05\x96" + b"\xff\xff\xff\xff\x00\x00\x00\x00" + b"x.",
        "copies": b"\x80\x02c_codecs\nencode\nq\x00X\x00\x80\x00\x00" + b"x" * 32768 + b"q\x010" + b"h\x00h\x01U\x06latin1\x86R" * 1000 + b".",
    }  # fmt: skip
    for name, data in claims.items():
        (tmp_path / "f").write_bytes(data)
        tracemalloc.start()
        try:
            with pytest.raises(pickle.UnpicklingError):
                load_pickled(tmp_path / "f")
            assert tracemalloc.get_traced_memory()[1] < 8 << 20, name
        finally:
            tracemalloc.stop()
