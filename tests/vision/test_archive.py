"""Unpacking archives, sound, damaged and malicious."""

import bz2
import errno
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile

import pytest

from rushlight.vision.datasets import archive
from rushlight.vision.datasets.archive import ArchiveError, extract_archive

FILES = {"top.txt": b"top", "folder/a.bin": bytes(range(256)) * 300, "folder/deep/b": b""}


def tar_member(name, content=b"", **fields):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for key, value in fields.items():
        setattr(member, key, value)
    return member, content


def tar_bytes(*members, mode="w"):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as tar:
        for member, content in members:
            tar.addfile(member, io.BytesIO(content))
    return out.getvalue()


def zip_bytes(*members):
    """From (name or ZipInfo, content)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members:
            packed.writestr(name, content)
    return out.getvalue()


def sound_tar(mode="w"):
    return tar_bytes(*(tar_member(name, content) for name, content in FILES.items()), mode=mode)


SOUND = {
    "a.tar": sound_tar(),
    "a.tar.gz": sound_tar("w:gz"),
    "a.tgz": sound_tar("w:gz"),
    "a.tar.bz2": sound_tar("w:bz2"),
    "a.tbz2": sound_tar("w:bz2"),
    "a.tar.xz": sound_tar("w:xz"),
    "a.zip": zip_bytes(*FILES.items()),
}


def contents(folder):
    return {
        os.path.relpath(os.path.join(root, name), folder): open_bytes(os.path.join(root, name))
        for root, _, names in os.walk(folder)
        for name in names
    }


def open_bytes(path):
    with open(path, "rb") as file:
        return file.read()


@pytest.fixture
def unpack(tmp_path):
    """Unpacks an archive given as bytes into tmp_path/out and returns what is there; nothing may appear beside it."""
    archives, out = tmp_path / "archives", tmp_path / "out"
    archives.mkdir()
    out.mkdir()

    def run(name, data, **options):
        (archives / name).write_bytes(data)
        try:
            extract_archive(str(archives / name), str(out), **options)
        finally:
            assert sorted(os.listdir(tmp_path)) == ["archives", "out"]
        return contents(out)

    run.out = out
    run.archives = archives
    return run


@pytest.mark.parametrize("name", SOUND)
def test_every_kind(unpack, name):
    assert unpack(name, SOUND[name]) == FILES


@pytest.mark.parametrize(("ending", "module"), [(".gz", gzip), (".bz2", bz2), (".xz", lzma)])
def test_single_file(unpack, ending, module):
    assert unpack("data" + ending, module.compress(b"content")) == {"data": b"content"}


def test_returned_path_and_default_folder(tmp_path):
    (tmp_path / "a.zip").write_bytes(SOUND["a.zip"])
    assert extract_archive(str(tmp_path / "a.zip")) == str(tmp_path)
    assert extract_archive(tmp_path / "a.zip", tmp_path / "new") == tmp_path / "new"
    assert contents(tmp_path / "new") == FILES


def test_archive_is_removed_on_request(unpack):
    unpack("a.zip", SOUND["a.zip"], remove_finished=True)
    assert os.listdir(unpack.archives) == []


def test_files_that_are_there_are_replaced_and_others_stay(unpack):
    (unpack.out / "folder").mkdir()
    (unpack.out / "folder" / "a.bin").write_bytes(b"old")
    (unpack.out / "folder" / "mine").write_bytes(b"mine")
    assert unpack("a.tar", SOUND["a.tar"]) == {**FILES, "folder/mine": b"mine"}


def test_links_inside_and_modes(unpack):
    data = tar_bytes(
        tar_member("d/file", b"content", mode=0o4755),
        tar_member("d/up", type=tarfile.SYMTYPE, linkname="../other/file"),
        tar_member("second", type=tarfile.LNKTYPE, linkname="d/file"),
        tar_member("other/file", b"other", mode=0o600),
    )
    found = unpack("a.tar", data)
    assert found == {"d/file": b"content", "d/up": b"other", "second": b"content", "other/file": b"other"}
    assert os.readlink(unpack.out / "d" / "up") == "../other/file"
    modes = {name: stat.S_IMODE(os.stat(unpack.out / name).st_mode) for name in ("d/file", "other/file")}
    assert modes == {"d/file": 0o755, "other/file": 0o644}


GOOD = tar_member("good", b"good")


def link(name, to, kind=tarfile.SYMTYPE):
    return tar_member(name, type=kind, linkname=to)


def zip_link(name, to):
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info, to


MALICIOUS = {
    "absolute path": ("a.tar", tar_bytes(GOOD, tar_member("/tmp/evil", b"x")), "/tmp/evil.*outside"),
    "windows path": ("a.tar", tar_bytes(GOOD, tar_member("C:\\evil", b"x")), "outside"),
    "parent": ("a.tar", tar_bytes(GOOD, tar_member("../evil", b"x")), "'../evil'.*outside"),
    "parent inside": ("a.tar", tar_bytes(GOOD, tar_member("a/../../evil", b"x")), "outside"),
    "parent folder": ("a.tar", tar_bytes(GOOD, tar_member("../evil", type=tarfile.DIRTYPE)), "outside"),
    "absolute link": ("a.tar", tar_bytes(GOOD, link("l", "/etc")), "link to '/etc'"),
    "link to parent": ("a.tar", tar_bytes(GOOD, link("d/l", "../../archives")), "is a link to"),
    "link with a detour": ("a.tar", tar_bytes(GOOD, link("l", "a/../..")), "is a link to"),
    "through a link": ("a.tar", tar_bytes(GOOD, link("l", "d"), tar_member("l/evil", b"x")), "passes through a link"),
    "two links": (
        "a.tar",
        tar_bytes(GOOD, tar_member("x/y/f", b""), link("x/y/z", "../.."), link("x/y/z/l", "../../..")),
        "passes through a link",
    ),
    "over a link": ("a.tar", tar_bytes(GOOD, link("l", "d"), tar_member("l", b"x")), "comes twice"),
    "hard link outside": ("a.tar", tar_bytes(GOOD, link("l", "../archives/a.tar", tarfile.LNKTYPE)), "outside"),
    "hard link to a link": ("a.tar", tar_bytes(GOOD, link("l", "good"), link("h", "l", tarfile.LNKTYPE)), "no file"),
    "hard link to nothing": ("a.tar", tar_bytes(GOOD, link("h", "absent", tarfile.LNKTYPE)), "no file"),
    "device": ("a.tar", tar_bytes(GOOD, tar_member("null", type=tarfile.CHRTYPE)), "device or pipe"),
    "pipe": ("a.tar", tar_bytes(GOOD, tar_member("pipe", type=tarfile.FIFOTYPE)), "device or pipe"),
    "zip parent": ("a.zip", zip_bytes(("good", b"good"), ("../evil", b"x")), "outside"),
    "zip absolute": ("a.zip", zip_bytes(("good", b"good"), ("/tmp/evil", b"x")), "outside"),
    "zip backslash": ("a.zip", zip_bytes(("good", b"good"), ("..\\evil", b"x")), "outside"),
    "zip link": ("a.zip", zip_bytes(("good", b"good"), zip_link("l", "../archives")), "is a link to"),
}


@pytest.mark.parametrize("case", MALICIOUS)
def test_malicious_members_are_refused_and_nothing_is_kept(unpack, case):
    name, data, message = MALICIOUS[case]
    with pytest.raises(ArchiveError, match=message):
        unpack(name, data)
    assert os.listdir(unpack.out) == []


@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
@pytest.mark.parametrize("name", SOUND)
def test_truncated_archives_leave_nothing(unpack, name, share):
    data = SOUND[name]
    with pytest.raises(ArchiveError, match="truncated or corrupted"):
        unpack(name, data[: int(len(data) * share)])
    assert os.listdir(unpack.out) == []


@pytest.mark.parametrize("name", ["a.tar.gz", "a.tar.bz2", "a.tar.xz", "a.zip"])
def test_tampered_archives_leave_nothing(unpack, name):
    """One bit flipped in the middle of the compressed data: the checksum at the end tells."""
    data = bytearray(SOUND[name])
    data[len(data) // 3] ^= 0x10
    with pytest.raises(ArchiveError, match="truncated or corrupted"):
        unpack(name, bytes(data))
    assert os.listdir(unpack.out) == []


def test_wrong_checksum_after_the_last_member(unpack):
    data = bytearray(SOUND["a.tar.gz"])
    data[-8] ^= 1
    with pytest.raises(ArchiveError, match="CRC"):
        unpack("a.tar.gz", bytes(data))
    assert os.listdir(unpack.out) == []


def test_not_an_archive(unpack):
    for name in SOUND:
        with pytest.raises(ArchiveError, match="truncated or corrupted"):
            unpack(name, b"<html>404 Not Found</html>" * 30)
    assert os.listdir(unpack.out) == []


@pytest.mark.parametrize(
    ("name", "message"), [("archive", "has no suffixes"), ("a.rar", "Unknown compression or archive type: '.rar'")]
)
def test_unknown_endings(unpack, name, message):
    with pytest.raises(RuntimeError, match=message):
        unpack(name, b"")


def test_full_disk_leaves_nothing(unpack, monkeypatch):
    class Full(io.FileIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(archive, "open", lambda path, mode: Full(path, mode.replace("b", "")), raising=False)
    with pytest.raises(OSError, match="No space left") as caught:
        unpack("a.zip", SOUND["a.zip"])
    assert caught.value.errno == errno.ENOSPC
    assert os.listdir(unpack.out) == []
