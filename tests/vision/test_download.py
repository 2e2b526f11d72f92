"""Fetching from a server that breaks, lies and moves."""

import errno
import hashlib
import io
import os
import sys

import pytest
from rushlight.vision.datasets import download
from rushlight.vision.datasets.download import DownloadError, check_integrity, download_from_mirrors, download_url

CONTENT = bytes(range(256)) * 1000
MD5 = hashlib.md5(CONTENT).hexdigest()


@pytest.fixture
def file(site):
    site.files["data.bin"] = CONTENT
    return site.url("data.bin")


def fetched(folder, name="data.bin"):
    """The file's content, after a look that nothing else was left in the folder."""
    assert os.listdir(folder) == [name]
    return (folder / name).read_bytes()


def test_file_arrives_with_a_progress_bar_in_a_terminal(site, file, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    download_url(file, tmp_path, md5=MD5)
    assert fetched(tmp_path) == CONTENT
    assert "100%" in capsys.readouterr().err
    assert check_integrity(tmp_path / "data.bin", MD5)


@pytest.mark.parametrize("terminal", [True, False])
def test_no_bar_elsewhere_or_without_tqdm(site, file, tmp_path, capsys, monkeypatch, terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    if terminal:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    download_url(file, tmp_path, md5=MD5)
    assert fetched(tmp_path) == CONTENT and capsys.readouterr().err == ""


def test_other_name_and_new_folder(file, tmp_path):
    download_url(file, tmp_path / "a" / "b", filename="c")
    assert fetched(tmp_path / "a" / "b", "c") == CONTENT


def test_file_that_is_there_is_kept(site, file, tmp_path):
    (tmp_path / "data.bin").write_bytes(CONTENT)
    download_url(file, tmp_path, md5=MD5)
    assert site.requests == []


def test_file_with_the_wrong_md5_is_replaced(file, tmp_path):
    (tmp_path / "data.bin").write_bytes(b"old")
    download_url(file, tmp_path, md5=MD5)
    assert fetched(tmp_path) == CONTENT


@pytest.mark.parametrize("md5", [MD5, None])
def test_broken_connections_are_continued(site, file, tmp_path, md5):
    site.breaks = [100_000, 0, 50_000]
    download_url(file, tmp_path, md5=md5)
    assert fetched(tmp_path) == CONTENT
    assert [wanted for _, wanted in site.requests] == [None, "bytes=100000-", "bytes=100000-", "bytes=150000-"]


def test_progress_starts_the_count_of_attempts_anew(site, file, tmp_path):
    site.breaks = [10_000] * (3 * download.ATTEMPTS)
    download_url(file, tmp_path, md5=MD5)
    assert fetched(tmp_path) == CONTENT


def test_server_that_ignores_ranges_starts_over(site, file, tmp_path):
    site.ranges = False
    site.breaks = [100_000, 200_000]
    download_url(file, tmp_path, md5=MD5)
    assert fetched(tmp_path) == CONTENT


def test_server_that_continues_elsewhere_starts_over(site, file, tmp_path):
    site.shift = 7
    site.breaks = [100_000]
    download_url(file, tmp_path, md5=MD5)
    assert fetched(tmp_path) == CONTENT


def test_file_that_changes_during_the_download_is_fetched_anew(site, tmp_path):
    class Changing(dict):
        def __getitem__(self, key):
            content = super().__getitem__(key)
            self[key] = CONTENT
            return content

    site.files = Changing({"data.bin": b"x" * len(CONTENT)})
    site.breaks = [100_000]
    download_url(site.url("data.bin"), tmp_path)
    assert fetched(tmp_path) == CONTENT


def test_earlier_part_is_continued(site, file, tmp_path):
    (tmp_path / "data.bin.part").write_bytes(CONTENT[:1000])
    download_url(file, tmp_path, md5=MD5)
    assert fetched(tmp_path) == CONTENT
    assert site.requests == [("data.bin", "bytes=1000-")]


@pytest.mark.parametrize("part", [b"of another file", CONTENT + b"more"])
def test_earlier_part_of_something_else_is_dropped(file, tmp_path, part):
    (tmp_path / "data.bin.part").write_bytes(part)
    download_url(file, tmp_path, md5=MD5)
    assert fetched(tmp_path) == CONTENT


def test_earlier_part_is_dropped_where_no_md5_could_judge_it(site, file, tmp_path):
    (tmp_path / "data.bin.part").write_bytes(b"of another file")
    download_url(file, tmp_path)
    assert fetched(tmp_path) == CONTENT


def test_wrong_md5(file, tmp_path):
    with pytest.raises(DownloadError, match=f"File not found or corrupted.*{file}.*{MD5}.*{'0' * 32}"):
        download_url(file, tmp_path, md5="0" * 32)
    assert os.listdir(tmp_path) == []


def test_missing_file_is_not_tried_again(site, tmp_path):
    with pytest.raises(DownloadError, match=r"absent.*404"):
        download_url(site.url("absent"), tmp_path)
    assert len(site.requests) == 1
    assert os.listdir(tmp_path) == []


def test_busy_server_is_tried_again(site, file, tmp_path):
    site.statuses = [503, 429, 500]
    download_url(file, tmp_path, md5=MD5)
    assert fetched(tmp_path) == CONTENT


def test_server_that_stays_busy(site, file, tmp_path):
    site.statuses = [503] * 100
    with pytest.raises(DownloadError, match=rf"{file}.*503.*put it at .*data\.bin"):
        download_url(file, tmp_path)
    assert len(site.requests) == download.ATTEMPTS


def test_connection_that_always_breaks_leaves_a_part_to_continue(site, file, tmp_path):
    site.breaks = [100_000] + [0] * 100
    with pytest.raises(DownloadError, match="100000 of 256000 bytes"):
        download_url(file, tmp_path, md5=MD5)
    assert os.listdir(tmp_path) == ["data.bin.part"]
    site.breaks = []
    download_url(file, tmp_path, md5=MD5)
    assert fetched(tmp_path) == CONTENT


def test_no_server(site, tmp_path):
    with pytest.raises(DownloadError, match=r"http://127.0.0.1:1/x: the server cannot be reached"):
        download_url("http://127.0.0.1:1/x", tmp_path)


def test_redirects(site, file, tmp_path):
    site.redirects = {"1": "2", "2": "3", "3": "data.bin"}
    download_url(site.url("1"), tmp_path, filename="data.bin", md5=MD5)
    assert fetched(tmp_path) == CONTENT
    with pytest.raises(RecursionError, match=r"/1 exceeded 2 redirects. The last redirect points to .*data.bin"):
        download_url(site.url("1"), tmp_path, filename="other", max_redirect_hops=2)


def test_full_disk(file, tmp_path, monkeypatch):
    class Full(io.FileIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download, "open", lambda path, mode: Full(path, mode.replace("b", "")), raising=False)
    with pytest.raises(OSError, match="No space left") as caught:
        download_url(file, tmp_path)
    assert caught.value.errno == errno.ENOSPC
    assert not (tmp_path / "data.bin").exists()


def test_mirrors(site, file, tmp_path):
    site.files["bad"] = b"not the file"
    urls = [site.url("absent"), site.url("bad"), file]
    download_from_mirrors(urls, tmp_path, "data.bin", MD5)
    assert fetched(tmp_path) == CONTENT
    with pytest.raises(DownloadError, match=r"(?s)Error downloading x:\nTried .*absent.*404.*Tried .*bad.*corrupted"):
        download_from_mirrors(urls[:2], tmp_path, "x", MD5)
