"""The archive that torch saves: an uncompressed zip whose records begin at multiples of 64 bytes.

The source inside an archive of a program is compressed. The writer lays every byte as torch 2.13 does (padding in an 'FB' extra field, sizes in a descriptor after the data,
zip64 end records always), because torch computes where records are instead of looking. The reader trusts nothing: it
takes the central directory, and checks each record's place, header, size and checksum.
"""

import os
import struct
import zlib

import numpy as np

from rushlight.utils.archives import Clamped

__all__ = ["ZipReader", "ZipWriter", "archive_name_of", "is_zip", "read_into"]

ALIGNMENT = 64
_LIMIT_32 = 0xFFFFFFFF
_FLAG_DESCRIPTOR, _FLAG_UTF8, _FLAG_ENCRYPTED = 0x8, 0x800, 0x1
_DEFLATED, _MOST_INFLATED = 8, 1032  # zip's number of the method, and the most that a byte of it can become
_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END_64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR_64 = struct.Struct("<4sIQI")
_END = struct.Struct("<4s4H2IH")


def is_zip(file):
    """Whether the file, at its current position, begins as a zip does. The position is kept."""
    start = file.tell()
    magic = file.read(4)
    file.seek(start)
    return magic == b"PK\x03\x04"


def archive_name_of(path):
    """The folder inside the archive: the file's name without its last extension, as torch chooses it."""
    name = os.path.basename(os.fsdecode(path)).rpartition("\\")[2]
    stem = name.rpartition(".")[0] if "." in name else name
    return stem if stem and stem.isascii() else "archive"


def read_into(file, data):
    """Fill a flat uint8 array from the file. False when the file ends too early."""
    rest = memoryview(data)
    while rest:
        if hasattr(file, "readinto"):
            count = file.readinto(rest)
        else:
            chunk = file.read(min(len(rest), 1 << 24))
            rest[: len(chunk)] = chunk
            count = len(chunk)
        if not count:
            return False
        rest = rest[count:]
    return True


class ZipWriter:
    """Writes one archive to `file`, of which only `write` is used, record by record."""

    def __init__(self, file, archive_name="archive"):
        self._file = file
        self._folder = archive_name
        self._position = 0
        self._entries = []  # (name, offset of the local header, size, checksum)

    def write_record(self, name, data):
        """Add `data` (bytes or a flat uint8 array) as the record `name`."""
        view = memoryview(data)
        size, checksum, offset = view.nbytes, zlib.crc32(view), self._position
        encoded = f"{self._folder}/{name}".encode()
        extra = _zip64_extra(size, offset, size)
        extra += _padding(offset + _LOCAL.size + len(encoded) + len(extra))
        flags = _FLAG_UTF8 | (_FLAG_DESCRIPTOR if size else 0)
        self._write(_LOCAL.pack(b"PK\x03\x04", 0, flags, 0, 0, 0, 0, 0, 0, len(encoded), len(extra)))
        self._write(encoded)
        self._write(extra)
        self._write(view)
        if size:
            form = "<4sIQQ" if max(size, offset) >= _LIMIT_32 else "<4sIII"
            self._write(struct.pack(form, b"PK\x07\x08", checksum, size, size))
        self._entries.append((encoded, offset, size, checksum))

    def finish(self):
        """Write the records that close a torch archive, then the central directory."""
        self.write_record("version", b"3\n")
        self.write_record(".data/serialization_id", self._fingerprint())
        start = self._position
        for entry in self._entries:
            self._write_central(*entry)
        self._write_end(start, self._position - start)

    def _write(self, data):
        rest = memoryview(data)
        while rest:
            written = self._file.write(rest)
            rest = rest[written:] if isinstance(written, int) else rest[:0]  # a raw file may take a part only
        self._position += len(data)

    def _fingerprint(self):
        """Forty digits that depend on the records' names and contents alone."""
        names = zlib.crc32(b"\0".join(name for name, *_ in self._entries))
        contents = zlib.crc32(struct.pack(f"<{len(self._entries)}I", *(entry[3] for entry in self._entries)))
        return f"{names:020d}{contents:020d}".encode()

    def _write_central(self, name, offset, size, checksum):
        extra = _zip64_extra(size, offset, size)
        stored = min(size, _LIMIT_32)
        flags = _FLAG_UTF8 | (_FLAG_DESCRIPTOR if size else 0)
        place = min(offset, _LIMIT_32)
        numbers = (0, 0, flags, 0, 0, 0, checksum, stored, stored, len(name), len(extra), 0, 0, 0, 0, place)
        self._write(_CENTRAL.pack(b"PK\x01\x02", *numbers) + name + extra)

    def _write_end(self, start, size):
        count, end = len(self._entries), self._position
        self._write(_END_64.pack(b"PK\x06\x06", 44, 0x031E, 45, 0, 0, count, count, size, start))
        self._write(_LOCATOR_64.pack(b"PK\x06\x07", 0, end, 1))
        short = min(count, 0xFFFF)
        self._write(_END.pack(b"PK\x05\x06", 0, 0, short, short, min(size, _LIMIT_32), min(start, _LIMIT_32), 0))


def _zip64_extra(size, offset, stored_size):
    """The extra field with the numbers that do not fit into 32 bits; empty when all fit."""
    numbers = [size, stored_size] if size >= _LIMIT_32 else []
    if offset >= _LIMIT_32:
        numbers.append(offset)
    return struct.pack(f"<HH{len(numbers)}Q", 1, 8 * len(numbers), *numbers) if numbers else b""


def _padding(end):
    """The 'FB' extra field that moves data, which would else follow its header at `end`, to a multiple of 64."""
    size = -(end + 4) % ALIGNMENT
    return b"FB" + struct.pack("<H", size) + b"Z" * size


class ZipReader:
    """Reads records of an archive that begins at the current position of a seekable file.

    Raises RuntimeError, with what was found and what was expected, for an archive that is truncated or was altered.
    """

    def __init__(self, file):
        import zipfile

        self._file = file
        self._name = getattr(file, "name", None) or "the archive"
        try:
            with zipfile.ZipFile(Clamped(file)) as archive:
                entries = archive.infolist()
        except (zipfile.BadZipFile, ValueError, struct.error, NotImplementedError, OSError) as error:
            raise self._broken(_as_torch_words(error)) from error
        self._file_size = file.seek(0, os.SEEK_END)
        self._entries = {}
        for entry in entries:
            self._add(entry)
        if not entries:
            raise self._broken("it holds no records")
        if sum(entry.compress_size for entry in entries) > self._file_size:
            raise self._broken("its records overlap: together they are larger than the file")
        self._folder = entries[0].filename.partition("/")[0]
        self._has_checksums = any(entry.CRC for entry in entries)  # torch can be told to write none

    def names(self):
        """The records' names, without the archive's folder."""
        return [name.partition("/")[2] for name in self._entries]

    def __contains__(self, name):
        return f"{self._folder}/{name}" in self._entries

    def size(self, name):
        """The size of the record in bytes."""
        return self._entry(name).file_size

    def read(self, name):
        """The record's bytes."""
        return self.read_array(name).tobytes()

    def read_array(self, name):
        """The record's bytes in a new flat uint8 array."""
        entry = self._entry(name)
        self._file.seek(self.offset(name))
        data = np.empty(entry.compress_size, np.uint8)
        self._fill(data, name)
        data = self._inflated(name, data, entry.file_size) if entry.compress_type else data
        self.verify(name, data)
        return data

    def _inflated(self, name, data, size):
        stream = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            content = stream.decompress(data, size + 1)
        except zlib.error as error:
            raise self._broken(f"record {name!r} cannot be decompressed: {error}") from None
        if len(content) != size:
            raise self._broken(f"record {name!r} does not hold the {size} bytes that the archive promises")
        return np.frombuffer(content, np.uint8)

    def verify(self, name, data):
        """Raise where bytes that were read, or mapped, as the record do not have its checksum."""
        promised, checksum = self._entry(name).CRC, zlib.crc32(data)
        if checksum != promised and self._has_checksums:
            raise self._broken(
                f"record {name!r} has checksum {checksum:#010x} (CRC-32) where the archive promises {promised:#010x}"
            )

    def offset(self, name):
        """Where in the file the record's data begin, from its own header."""
        entry = self._entry(name)
        self._file.seek(entry.header_offset)
        header = self._file.read(_LOCAL.size)
        if len(header) < _LOCAL.size or header[:4] != b"PK\x03\x04":
            raise self._broken(f"record {name!r} has no header at byte {entry.header_offset}")
        name_size, extra_size = _LOCAL.unpack(header)[-2:]
        if self._file.read(name_size) != entry.orig_filename.encode(
            "utf-8" if entry.flag_bits & _FLAG_UTF8 else "cp437"
        ):
            raise self._broken(f"the header at byte {entry.header_offset} does not belong to record {name!r}")
        start = entry.header_offset + _LOCAL.size + name_size + extra_size
        if start + entry.compress_size > self._file_size:
            raise self._broken(
                f"record {name!r} should be at bytes {start} to {start + entry.compress_size}, "
                f"beyond the file's end at {self._file_size}"
            )
        return start

    def _add(self, entry):
        name = entry.filename
        if name in self._entries:
            raise self._broken(f"two records are named {name!r}")
        if entry.compress_type == _DEFLATED and name.partition("/")[2].startswith("code/"):
            if entry.file_size > _MOST_INFLATED * entry.compress_size:
                raise self._broken(
                    f"record {name!r} claims {entry.file_size} bytes, which {entry.compress_size} cannot be"
                )
        elif entry.compress_type or entry.compress_size != entry.file_size:
            raise self._broken(f"record {name!r} is compressed, which torch.save never does")
        if entry.flag_bits & _FLAG_ENCRYPTED:
            raise self._broken(f"record {name!r} is encrypted")
        if entry.compress_size > self._file_size:
            raise self._broken(
                f"record {name!r} claims {entry.file_size} bytes, more than the whole file ({self._file_size})"
            )
        if entry.header_offset < 0:
            raise self._broken(f"record {name!r} would begin {-entry.header_offset} bytes before the file")
        self._entries[name] = entry

    def _entry(self, name):
        try:
            return self._entries[f"{self._folder}/{name}"]
        except KeyError:
            raise RuntimeError(
                f"PytorchStreamReader failed locating file {name}: file not found in {self._name}; "
                "the archive was not written by torch.save, or is corrupted"
            ) from None

    def _fill(self, data, name):
        if not read_into(self._file, data):
            raise self._broken(f"record {name!r} ends before its {data.nbytes} bytes")

    def _broken(self, facts):
        return RuntimeError(
            f"PytorchStreamReader failed reading zip archive: {facts}. The file ({self._name}) is corrupted: it was "
            "not saved or transferred completely, or was modified after saving."
        )


def _as_torch_words(error):
    text = str(error)
    return "failed finding central directory" if "not a zip file" in text else f"invalid header ({text})"
