"""Models from a folder, and weights from an address."""

import hashlib
import sys

import pytest

import rushlight as torch

HUBCONF = """
dependencies = ["{needs}"]
import helper_of_hubconf

def linear(n, bias=True):
    "A layer."
    import rushlight
    return rushlight.nn.Linear(n, helper_of_hubconf.OUT, bias)

_private = print
"""


def folder(path, needs="math"):
    path.mkdir(parents=True)
    (path / "hubconf.py").write_text(HUBCONF.format(needs=needs))
    (path / "helper_of_hubconf.py").write_text("OUT = 3")
    return str(path)


def test_from_a_folder(tmp_path):
    where = folder(tmp_path / "model")
    layer = torch.hub.load(where, "linear", 2, source="local", bias=False)
    assert layer.weight.shape == (3, 2) and layer.bias is None
    with pytest.raises(RuntimeError, match="Cannot find callable nothing in hubconf"):
        torch.hub.load(where, "nothing", source="local")
    with pytest.raises(ValueError, match='Unknown source: "web"'):
        torch.hub.load(where, "linear", source="web")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        torch.hub.load(folder(tmp_path / "other", "no_such_package"), "linear", 2, source="local")


def test_from_the_cache(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert torch.hub.get_dir() == str(tmp_path / "hub")
    folder(tmp_path / "hub" / "owner_name_main")
    assert torch.hub.list("owner/name") == ["linear"]
    assert torch.hub.help("owner/name:main", "linear") == "A layer."
    assert torch.hub.load("owner/name", "linear", 2).out_features == 3
    assert "Using cache found in" in capsys.readouterr().err
    monkeypatch.setattr("builtins.input", lambda question: "n")
    with pytest.raises(Exception, match="Untrusted repository"):
        torch.hub.load("owner/name", "linear", 2, trust_repo=False)
    with pytest.raises(NotImplementedError, match=r"git clone --branch v2 https://github\.com/owner/name"):
        torch.hub.load("owner/name:v2", "linear", 2)


@pytest.mark.parametrize(("terminal", "progress"), [(True, True), (True, False), (False, True)])
def test_the_bar_of_a_download(tmp_path, monkeypatch, capsys, terminal, progress):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    (tmp_path / "a").write_bytes(b"abc" * 1000)
    torch.hub.download_url_to_file((tmp_path / "a").as_uri(), str(tmp_path / "b"), progress=progress)
    assert (tmp_path / "b").read_bytes() == b"abc" * 1000
    assert ("100%" in capsys.readouterr().err) == (terminal and progress)


def test_weights(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path / "cache"))
    torch.save({"w": torch.arange(3)}, tmp_path / "w.pth")
    digits = hashlib.sha256((tmp_path / "w.pth").read_bytes()).hexdigest()[:8]
    (tmp_path / "w.pth").rename(tmp_path / f"w-{digits}.pth")
    url = (tmp_path / f"w-{digits}.pth").as_uri()
    for _ in range(2):  # from the address, then from the cache
        assert torch.hub.load_state_dict_from_url(url, progress=False, check_hash=True)["w"].tolist() == [0, 1, 2]
    assert capsys.readouterr().out.count("Downloading") == 1
    with pytest.raises(RuntimeError, match="invalid hash value"):
        torch.hub.download_url_to_file(url, str(tmp_path / "again"), hash_prefix="00000000", progress=False)
    assert not (tmp_path / "again").exists()
    torch.hub.set_dir(tmp_path / "elsewhere")
    assert torch.utils.model_zoo.load_url(url, progress=False)["w"].tolist() == [0, 1, 2]
