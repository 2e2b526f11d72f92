"""Unpacking: tar and zip archives into a folder, all of an archive or nothing, and nothing outside the folder.

Members go to a staging folder next to their destination and move into place when the whole archive has been read and
its checksums agree. Absolute names, `..`, links that lead outside, members that pass through a link, and devices are
refused, whatever the Python version.

So are bombs, short files that unpack without end: more than `MAX_RATIO` times the archive's size (a first megabyte is
free), `MAX_BYTES` in all, or `MAX_MEMBERS` members. Nothing of them is kept.
"""

import os
import posixpath
import re
from typing import IO, Literal, cast

from rushlight.utils.archives import Clamped

COPY_BYTES = 1 << 20
MAX_RATIO = 1000
MAX_BYTES = 64 << 30
MAX_MEMBERS = 1_000_000
_FREE_BYTES = 1 << 20
_MAX_NOTE = 1 << 20  # bytes of a long name, or of the other notes before a member of a tar
_MAX_LINK = 4096
_XZ_MEMORY = 128 << 20

_ALIASES = {".tbz": (".tar", ".bz2"), ".tbz2": (".tar", ".bz2"), ".tgz": (".tar", ".gz"), ".txz": (".tar", ".xz")}
_ARCHIVES = (".tar", ".zip")
_COMPRESSIONS = (".bz2", ".gz", ".xz")


class ArchiveError(RuntimeError):
    """An archive is broken, or has a member that may not be unpacked; nothing of it was kept."""


def extract_archive(from_path, to_path=None, remove_finished=False):
    """Unpack `from_path` into the folder `to_path` (its own folder where none is given); returns where it went.

    The name's ending says what it is: .tar, .tar.gz, .tgz, .tar.bz2, .tbz, .tbz2, .tar.xz, .txz, .zip, or a single
    compressed file .gz, .bz2, .xz. `remove_finished` deletes the archive afterwards.

    Raises RuntimeError for an unknown ending, and ArchiveError (a RuntimeError) for a truncated or tampered archive, a
    member that would leave the folder, or an archive that unpacks to too much; the folder is then as it was.
    """
    to_path = os.path.dirname(from_path) if to_path is None else to_path
    suffix, archive, compression = _file_type(from_path)
    if archive is None:
        result = os.path.join(to_path, os.path.basename(from_path).removesuffix(suffix))
    else:
        result = os.fspath(to_path)
    with _Staging(from_path, to_path or ".") as staging:
        if archive == ".tar":
            _unpack_tar(from_path, compression, staging)
        elif archive == ".zip":
            _unpack_zip(from_path, staging)
        else:
            with _opened(from_path, compression) as stream:
                staging.file(os.path.basename(result), stream)
    if remove_finished:
        os.remove(from_path)
    return result if isinstance(from_path, str) else type(from_path)(result)


def _file_type(path):
    """(ending, kind of archive or None, compression or None)."""
    stem, last = os.path.splitext(os.fspath(path))
    if not last:
        raise RuntimeError(
            f"File '{path}' has no suffixes that could be used to detect the archive type and compression."
        )
    if last in _ALIASES:
        return (last, *_ALIASES[last])
    if last in _ARCHIVES:
        return last, last, None
    if last in _COMPRESSIONS:
        inner = os.path.splitext(stem)[1]
        return (inner + last, inner, last) if inner == ".tar" else (last, None, last)
    valid = sorted({*_ALIASES, *_ARCHIVES, *_COMPRESSIONS})
    raise RuntimeError(f"Unknown compression or archive type: '{last}'.\nKnown suffixes are: '{valid}'.")


def _opened(path, compression):
    import bz2
    import gzip

    return {".bz2": bz2.open, ".gz": gzip.open, ".xz": _Xz, None: open}[compression](path, "rb")


class _Xz:
    """A .xz file for reading, by a decoder that takes no more memory than `xz -9` needs; the file may claim 4 GiB."""

    def __init__(self, path, mode: Literal["rb"]):
        self._file: IO[bytes] = open(path, mode)  # noqa: SIM115 (closed by `close`)
        self._decoder = self._new()

    def _new(self):
        import lzma

        return lzma.LZMADecompressor(lzma.FORMAT_AUTO, memlimit=_XZ_MEMORY)

    def read(self, size):
        """Up to `size` bytes; b"" at the end."""
        while True:
            if self._decoder.eof:  # another stream may follow, after padding
                rest = self._decoder.unused_data.lstrip(b"\0")
                while not rest:
                    rest = self._file.read(COPY_BYTES)
                    if not rest:
                        return b""
                    rest = rest.lstrip(b"\0")
                self._decoder = self._new()
            elif self._decoder.needs_input:
                rest = self._file.read(COPY_BYTES)
                if not rest:
                    raise EOFError("Compressed file ended before the end-of-stream marker was reached")
            else:
                rest = b""
            data = self._decoder.decompress(rest, size)
            if data or not size:
                return data

    def close(self):
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self.close()


class Measured:
    """A stream that raises ArchiveError when more has been read from it than its file may hold.

    `compressed_bytes` is the size in the file.
    """

    def __init__(self, stream, source, compressed_bytes):
        self._stream, self._source, self._read = stream, source, 0
        self._compressed = compressed_bytes

    def read(self, size=-1):
        """As a file's; no more than the limit is ever asked of the stream."""
        left = allowed_bytes(self._compressed) - self._read + 1
        data = self._stream.read(min(size, left) if size >= 0 else left)
        self._read += len(data)
        check_size(self._source, self._read, self._compressed)
        return data

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        self._stream.close()


def allowed_bytes(compressed_bytes):
    """To how much a file of a size may unpack."""
    return min(MAX_BYTES, max(_FREE_BYTES, MAX_RATIO * compressed_bytes))


def check_size(source, size_bytes, compressed_bytes):
    """Raise ArchiveError where `size_bytes` are too many for a file of `compressed_bytes`."""
    if size_bytes > allowed_bytes(compressed_bytes):
        raise ArchiveError(
            f"{source} has {compressed_bytes} bytes and unpacks to more than {allowed_bytes(compressed_bytes)}: at most "
            f"{MAX_RATIO} times its size and {MAX_BYTES >> 30} GiB in all are unpacked. Nothing of it was kept; do not trust it."
        )


def _unpack_tar(path, compression, staging):
    """Members in the order in which they come, then the rest of the stream, so that its checksum is read too."""
    import tarfile

    class Member(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, buf, encoding, errors):
            member = super().frombuf(buf, encoding, errors)
            if not member.isreg() and member.size > _MAX_NOTE:  # tarfile takes such notes into memory
                raise ArchiveError(f"{path}: a note of {member.size} bytes about a member; do not trust this archive")
            return member

    with Measured(_opened(path, compression), path, os.path.getsize(path)) as stream:
        # in mode "r|" tarfile only calls `read`
        with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|", tarinfo=Member) as tar:
            for member in tar:
                vars(tar)["members"].clear()  # else it keeps all of them
                if member.isdir():
                    staging.folder(member.name)
                elif member.isreg():
                    staging.check(member.size)
                    staging.file(member.name, tar.extractfile(member), member.size, executable=member.mode & 0o100)
                elif member.issym():
                    staging.symlink(member.name, member.linkname)
                elif member.islnk():
                    staging.hardlink(member.name, member.linkname)
                else:
                    raise ArchiveError(f"{path}: member '{member.name}' is a device or pipe, which is never unpacked")
        while stream.read(COPY_BYTES):
            pass


def _unpack_zip(path, staging):
    import stat
    import zipfile

    with open(path, "rb") as file, zipfile.ZipFile(Clamped(file)) as archive:
        members = archive.infolist()
        staging.check(sum(member.file_size for member in members), len(members))
        for member in members:
            if not member.filename:
                raise ArchiveError(f"{path}: a member has no name")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2):
                raise ArchiveError(
                    f"{path}: member '{member.filename}' is compressed by method {member.compress_type}; only stored, deflated "
                    "and bzip2 members are unpacked (LZMA lets a short file claim gigabytes of memory)"
                )
            mode = member.external_attr >> 16
            if member.is_dir():
                staging.folder(member.filename)
            elif stat.S_ISLNK(mode):
                if member.file_size > _MAX_LINK:
                    raise ArchiveError(f"{path}: member '{member.filename}' is a link of {member.file_size} bytes")
                staging.symlink(member.filename, archive.read(member).decode())
            elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                raise ArchiveError(f"{path}: member '{member.filename}' is a device or pipe, which is never unpacked")
            else:
                with archive.open(member) as stream:
                    staging.file(member.filename, stream, member.file_size, executable=mode & 0o100)


class _Staging:
    """A folder next to the destination that takes the members; leaving it without an error moves them into place."""

    def __init__(self, source, target):
        self.source = source
        self.target = os.path.abspath(target)
        self._compressed = os.path.getsize(source)
        self._written = self._members = 0

    def check(self, more_bytes, more_members=0):
        """Raise ArchiveError where so much more would be too much."""
        check_size(self.source, self._written + more_bytes, self._compressed)
        if self._members + more_members > MAX_MEMBERS:
            raise ArchiveError(f"{self.source} has more than {MAX_MEMBERS} members. Nothing of it was unpacked.")

    def __enter__(self):
        import tempfile

        os.makedirs(self.target, exist_ok=True)
        self.root = tempfile.mkdtemp(prefix=".unpacking-", dir=self.target)
        return self

    def __exit__(self, kind, error, traceback):
        import shutil

        try:
            if error is None:
                _merge(self.root, self.target)
            elif _is_damage(error):
                raise ArchiveError(
                    f"{self.source} is truncated or corrupted ({error}). Nothing of it was unpacked. Delete it and "
                    "fetch it again."
                ) from error
        finally:
            shutil.rmtree(self.root, ignore_errors=True)

    def folder(self, name):
        path = self._path(name)
        if path != self.root:
            os.makedirs(path, exist_ok=True)

    def file(self, name, stream, size_bytes=None, executable=False):
        path = self._fresh(name)
        with open(path, "xb") as out:
            while chunk := stream.read(COPY_BYTES):
                self.check(len(chunk))
                self._written += len(chunk)
                out.write(chunk)
            if size_bytes is not None and out.tell() != size_bytes:
                raise EOFError(f"'{name}' has {out.tell()} of its {size_bytes} bytes")
        os.chmod(path, 0o755 if executable else 0o644)

    def symlink(self, name, to):
        """A link may climb (`..`) first and then descend, and must stay inside.

        Together with the rule that no member passes through a link, that keeps every chain of links inside too.
        """
        path = self._fresh(name)
        steps = to.split("/")
        descended = [step for step in steps if step not in ("", ".")]
        while descended and descended[0] == "..":
            del descended[0]
        landing = posixpath.normpath(posixpath.join(posixpath.dirname(_normal(name)), to))
        if _absolute(to) or ".." in descended or landing.split("/")[0] == "..":
            self._refuse(name, f"is a link to '{to}', outside the archive's own folder")
        os.symlink(to, path)

    def hardlink(self, name, to):
        """A second name for a member that came before, as a copy."""
        source = self._path(to)
        if os.path.islink(source) or not os.path.isfile(source):
            self._refuse(name, f"is a link to '{to}', which is no file that came before it")
        with open(source, "rb") as stream:
            self.file(name, stream, executable=os.access(source, os.X_OK))

    def _fresh(self, name):
        """The path for a member that is no folder: not there yet, its folder made."""
        path = self._path(name)
        if os.path.lexists(path):
            self._refuse(name, "comes twice")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def _path(self, name):
        self.check(0, 1)
        self._members += 1
        normal = _normal(name)
        if _absolute(name) or "\0" in name or ".." in re.split(r"[/\\]", name):
            self._refuse(name, "has a path outside the folder it is unpacked into")
        path = os.path.join(self.root, *([] if normal == "." else normal.split("/")))
        folder = os.path.dirname(path)
        while len(folder) > len(self.root):
            if os.path.islink(folder):
                self._refuse(name, "passes through a link")
            folder = os.path.dirname(folder)
        return path

    def _refuse(self, name, why):
        raise ArchiveError(f"{self.source}: member '{name}' {why}. Nothing was unpacked; do not trust this archive.")


def _absolute(name):
    return name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name) is not None


def _normal(name):
    return posixpath.normpath(name.replace("\\", "/"))


def _is_damage(error):
    """Whether the standard library says with this error that an archive is damaged; each layer has its own way."""
    import gzip
    import lzma
    import tarfile
    import zipfile
    import zlib

    if isinstance(
        error, (EOFError, gzip.BadGzipFile, lzma.LZMAError, tarfile.TarError, zlib.error, UnicodeDecodeError)
    ):
        return True
    # bz2 raises a bare OSError, which the system's own errors are not
    return isinstance(error, zipfile.BadZipFile) or (isinstance(error, OSError) and error.errno is None)


def _merge(source, target):
    """Move what is in `source` into `target`: folders are joined, files replace files."""
    for entry in os.scandir(source):
        destination = os.path.join(target, entry.name)
        if entry.is_dir(follow_symlinks=False) and os.path.isdir(destination):
            _merge(entry.path, destination)
        else:
            os.replace(entry.path, destination)
