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
    """Unpacks an archive given as bytes into tmp_path/out and returns what is there; nothing may appear next to it."""
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


# ---------------------------------------------------------------- bombs

SIZE = 8 << 20


def sparse_tar():
    """A member of GNU's sparse kind: a header claims 2**40 bytes of which the archive holds none."""
    header = bytearray(tarfile.TarInfo("big").tobuf(tarfile.GNU_FORMAT))
    header[156:157] = b"S"
    header[386:482] = bytes(96)
    header[483:495] = b"\x80" + (1 << 40).to_bytes(11, "big")
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + bytes(1024)


def note_tar():
    """A long name of 64 MiB, which tarfile would take into memory."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 64 << 20
    return lzma.compress(info.tobuf(tarfile.GNU_FORMAT) + b"x" * (64 << 20))


ZEROS = bytes(SIZE)
BOMBS = {
    "a.gz": lambda: gzip.compress(ZEROS),
    "a.bz2": lambda: bz2.compress(ZEROS),
    "a.xz": lambda: lzma.compress(ZEROS),
    "a.zip": lambda: zip_bytes(("zeros", ZEROS)),
    "b.zip": lambda: zip_bytes(*((f"zeros{i}", ZEROS[: SIZE // 8]) for i in range(8))),
    "a.tar.gz": lambda: gzip.compress(tar_bytes(tar_member("zeros", ZEROS))),
    "a.tar.xz": lambda: lzma.compress(tar_bytes(tar_member("zeros", ZEROS))),
    "a.tbz2": lambda: bz2.compress(tar_bytes(tar_member("zeros", ZEROS))),
    "trailing.tar.xz": lambda: lzma.compress(tar_bytes(tar_member("a", b"x")) + ZEROS),
    "sparse.tar": sparse_tar,
    "note.tar.xz": note_tar,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_leaves_nothing(unpack, name, monkeypatch):
    monkeypatch.setattr(archive, "MAX_RATIO", 500)  # gzip's best is 1030, and the files here are small
    with pytest.raises(ArchiveError, match=r"unpacks to more than|is truncated|a note of") as raised:
        unpack(name, BOMBS[name]())
    assert name == "sparse.tar" or "truncated" not in str(raised.value)
    assert os.listdir(unpack.out) == []


def test_the_limits_as_they_are(unpack):
    data = bz2.compress(bytes(1 << 24))
    assert len(data) * archive.MAX_RATIO < 1 << 24
    with pytest.raises(ArchiveError, match="at most 1000 times its size and 64 GiB"):
        unpack("a.bz2", data)
    assert len(unpack("b.bz2", bz2.compress(bytes(1 << 20)))["b"]) == 1 << 20  # the first megabyte is free


def test_too_many_members(unpack, monkeypatch):
    monkeypatch.setattr(archive, "MAX_MEMBERS", 3)
    members = [(f"f{i}", b"x") for i in range(4)]
    assert len(unpack("a.zip", zip_bytes(*members[:3]))) == 3
    for name, data in (
        ("b.zip", zip_bytes(*members)),
        ("b.tar", tar_bytes(*(tar_member(name + "n", content) for name, content in members))),
    ):
        with pytest.raises(ArchiveError, match="more than 3 members"):
            unpack(name, data)
    assert len(os.listdir(unpack.out)) == 3


def test_copies_by_hard_links_count(unpack, monkeypatch):
    monkeypatch.setattr(archive, "_FREE_BYTES", 0)
    monkeypatch.setattr(archive, "MAX_RATIO", 2)
    links = [tar_member(f"l{i}", type=tarfile.LNKTYPE, linkname="a") for i in range(50)]
    with pytest.raises(ArchiveError, match="unpacks to more than"):
        unpack("a.tar", tar_bytes(tar_member("a", b"x" * 10_000), *links))
