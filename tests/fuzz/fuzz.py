"""Feeds readers of files and messages with broken ones, made from good ones by changing their structure.

    python tests/fuzz/fuzz.py --parser pt --count 1000000 --seed 0

Input number i of a seed is the same in every run. Each may only raise what docs/saving.md says, take a second, and twice
its own size and a fixed allowance of memory; nothing next to the folder that it is unpacked into may change.
"""

import argparse
import contextlib
import io
import json
import lzma
import math
import os
import pickle
import random
import resource
import shutil
import signal
import socket
import struct
import sys
import tarfile
import tempfile
import threading
import time
import tracemalloc
import warnings
import zipfile
import zlib
from collections import deque
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from rushlight.vision.datasets.archive import extract_archive
from rushlight.vision.datasets.arrayfile import load_npy
from rushlight.vision.datasets.mnist import read_image_file
from rushlight.vision.datasets.pickled import load_pickled
from rushlight.vision.io import decode_image

import rushlight as torch
from rushlight.distributed import handshake, mesh, process_group
from rushlight.distributed.control import store_server
from rushlight.distributed.errors import DistBackendError, DistNetworkError
from rushlight.serialization import load, safetensors, save
from rushlight.serialization.zip_format import ZipReader, ZipWriter

ALLOWANCE_BYTES = 48 << 20
LIMIT_S = 1.0
GROWTH_BYTES = 1 << 20
PROGRESS = 10_000  # inputs
NUMBERS = [0, 1, 2, 7, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1]
WORDS = [
    b"__class__",
    b"__array_interface__",
    b"os",
    b"system",
    b"..",
    b"/",
    b"\0",
    b"torch",
    b"cpu",
    b"cuda",
    b"\xff",
    b"",
]


# ---------------------------------------------------------------- changes


def changed(data, chance, others):
    """`data` after one to four changes of its bytes, numbers and parts."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 4))):
        chance.choice(CHANGES)(data, chance, others)
    return bytes(data)


def _flip(data, chance, others):
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _byte(data, chance, others):
    if data:
        data[chance.randrange(len(data))] = chance.choice((0, 1, 255, 127, 128, chance.randrange(256)))


def _number(data, chance, others):
    size = chance.choice((2, 4, 4, 8))
    at = chance.randrange(max(1, len(data) - size))
    number = chance.choice(NUMBERS) % (1 << 8 * size)
    data[at : at + size] = number.to_bytes(size, chance.choice(("little", "big")))


def _cut(data, chance, others):
    at = chance.randrange(len(data) + 1)
    del data[at : at + chance.choice((1, 2, 4, 16, 64, len(data)))]


def _double(data, chance, others):
    at, size = chance.randrange(len(data) + 1), chance.choice((1, 2, 8, 32, 128))
    data[at:at] = data[at : at + size] * chance.choice((1, 1, 3, 50))


def _word(data, chance, others):
    at = chance.randrange(len(data) + 1)
    data[at : at + chance.choice((0, 4))] = chance.choice(WORDS)


def _splice(data, chance, others):
    other = chance.choice(others)
    start = chance.randrange(len(other) + 1)
    at = chance.randrange(len(data) + 1)
    data[at : at + chance.choice((0, 8, 64))] = other[start : start + chance.choice((4, 16, 64, 256))]


CHANGES = [_flip, _byte, _byte, _number, _number, _cut, _double, _word, _splice]


# ---------------------------------------------------------------- parsers


class Parser:
    """Good inputs, how one is broken, how it is read, and what reading may raise."""

    raises: tuple = ()

    def __init__(self, folder):
        self.folder = Path(folder)
        self.path = str(self.folder / "input")
        self.seeds = self.good()

    def broken(self, chance):
        return changed(chance.choice(self.seeds), chance, self.seeds)

    def _stored(self, data):
        with open(self.path, "wb") as file:
            file.write(data)
        return self.path


def _models():
    yield {"w": torch.arange(6.0).view(2, 3), "b": torch.ones(2, dtype=torch.int64), "n": [1, 2.5, "x", None, (True,)]}
    x = torch.arange(12.0)
    yield {"view": x[2:8:2], "t": x.view(3, 4).t(), "p": torch.nn.Parameter(torch.ones(2)), "e": torch.zeros(0, 3)}
    yield torch.nn.Linear(2, 2).state_dict()
    marked = torch.ones(1)
    marked.tag = "x"
    yield [
        marked,
        torch.ones(2, 2).to_sparse(),
        torch.ones(2, dtype=torch.bfloat16),
        torch.Size([1, 2]),
        {1, 2},
        b"abc",
        1j,
    ]


class Pt(Parser):
    raises = (RuntimeError, pickle.UnpicklingError, EOFError, NotImplementedError)

    def good(self):
        files = []
        for model in _models():
            buffer = io.BytesIO()
            save(model, buffer, _use_new_zipfile_serialization=self.is_zip)
            files.append(buffer.getvalue())
        if self.is_zip:
            archives = [ZipReader(io.BytesIO(file)) for file in files]
            self.records = [{name: archive.read(name) for name in archive.names()} for archive in archives]
        return files

    is_zip = True

    def broken(self, chance):
        """Half of them are sound archives around a broken pickle, so that the archive's checks do not hide it."""
        if chance.random() < 0.4:
            return super().broken(chance)
        pickles = [self.records[0]["data.pkl"]]
        buffer = io.BytesIO()
        writer = ZipWriter(buffer)
        for name, data in chance.choice(self.records).items():
            if name not in ("version", ".data/serialization_id"):
                writer.write_record(name, changed(data, chance, pickles) if name == "data.pkl" else data)
        writer.finish()
        return buffer.getvalue()

    def read(self, data):
        load(io.BytesIO(data))


class Legacy(Pt):
    is_zip = False
    broken = Parser.broken


class Safetensors(Parser):
    def __init__(self, folder):
        super().__init__(folder)
        from safetensors import SafetensorError

        self.raises = (SafetensorError, NotImplementedError)

    def good(self):
        tensors = {"w": torch.arange(6.0).view(2, 3), "b": torch.ones(2, dtype=torch.bool), "e": torch.zeros(0)}
        return [safetensors.save(tensors), safetensors.save(tensors, {"k": "v"})]

    def broken(self, chance):
        data = chance.choice(self.seeds)
        if chance.random() < 0.4:
            return changed(data, chance, self.seeds)
        (size,) = struct.unpack_from("<Q", data)
        header = changed(data[8 : 8 + size], chance, self.seeds)  # with a size that fits
        return struct.pack("<Q", len(header)) + header + data[8 + size :]

    def read(self, data):
        safetensors.load(data)


class Npy(Parser):
    raises = (ValueError,)

    def good(self):
        files = []
        for array in (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.ones((2, 3), np.uint8)), np.array(5)):
            buffer = io.BytesIO()
            np.save(buffer, array)
            files.append(buffer.getvalue())
        return files

    def read(self, data):
        load_npy(self._stored(data))


class Idx(Parser):
    raises = (ValueError,)

    def good(self):
        return [bytes((0, 0, 8, 3)) + struct.pack(">3I", n, 3, 3) + bytes(9 * n) for n in (0, 1, 4)]

    def read(self, data):
        read_image_file(self._stored(data))


class Cifar(Parser):
    raises = (pickle.UnpicklingError,)

    def good(self):
        batch = {
            "data": np.arange(24, dtype=np.uint8).reshape(2, 12),
            "labels": [1, 2],
            "names": ["a", "b"],
            "f": np.float32(2),
        }
        return [pickle.dumps(batch, protocol) for protocol in (0, 2, 4, 5)]

    def read(self, data):
        load_pickled(self._stored(data))


class Archive(Parser):
    raises = (RuntimeError, OSError)

    def __init__(self, folder):
        super().__init__(folder)
        self.beside = self.folder / "beside"
        self.beside.mkdir()
        (self.beside / "canary").write_bytes(b"sings")
        self.target = self.beside / "target"

    def read(self, data):
        self.path = str(self.beside / f"input{self.ending}")
        if data[:6] == b"\xfd7zXZ\0" and self.ending == ".tar":
            self.path += ".xz"
        try:
            extract_archive(self._stored(data), str(self.target))
        finally:
            os.remove(self.path)
            shutil.rmtree(self.target, ignore_errors=True)
            assert os.listdir(self.beside) == ["canary"], "something was written outside the folder"
            assert (self.beside / "canary").read_bytes() == b"sings"


class Tar(Archive):
    ending = ".tar"

    def good(self):
        files = []
        for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            buffer = io.BytesIO()
            with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
                for name, kind, link in (
                    ("a/b", tarfile.REGTYPE, ""),
                    ("n" * 120, tarfile.SYMTYPE, "a/b"),
                    ("l", tarfile.LNKTYPE, "a/b"),
                ):
                    member = tarfile.TarInfo(name)
                    member.type, member.linkname, member.size = kind, link, 5 * (kind == tarfile.REGTYPE)
                    tar.addfile(member, io.BytesIO(b"hello"))
            files.append(buffer.getvalue()[: 512 * 10])
        return files

    def broken(self, chance):
        """With headers' checksums mended, so that what they say is believed; some compressed."""
        data = bytearray(super().broken(chance))
        for at in range(0, len(data) - 511, 512):
            if data[at + 257 : at + 262] == b"ustar":
                data[at + 148 : at + 156] = b" " * 8
                data[at + 148 : at + 156] = b"%06o\0 " % (sum(data[at : at + 512]) & 0o777777)
        return lzma.compress(bytes(data), preset=0) if chance.random() < 0.1 else bytes(data)


class Zip(Archive):
    ending = ".zip"

    def good(self):
        files = []
        for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w", method) as archive:
                archive.writestr("a/b", b"hello" * 20)
                archive.writestr("c", b"")
                link = zipfile.ZipInfo("link")
                link.external_attr = 0o120777 << 16
                archive.writestr(link, "a/b")
            files.append(buffer.getvalue())
        return files


class Image(Parser):
    def __init__(self, folder):
        from PIL import Image as Pillow

        super().__init__(folder)
        Pillow.MAX_IMAGE_PIXELS = 1_000_000
        self.raises = (RuntimeError, Pillow.DecompressionBombError)

    def good(self):
        from PIL import Image as Pillow

        files = []
        for kind, mode in (("PNG", "RGB"), ("PNG", "P"), ("JPEG", "RGB"), ("GIF", "P"), ("BMP", "L"), ("WEBP", "RGB")):
            buffer = io.BytesIO()
            Pillow.new(mode, (9, 7), 3).save(buffer, kind)
            files.append(buffer.getvalue())
        return files

    def broken(self, chance):
        data = bytearray(super().broken(chance))
        at = 8
        while data[:4] == b"\x89PNG" and at + 12 <= len(data):  # chunks' checksums are mended
            (size,) = struct.unpack_from(">I", data, at)
            if at + 12 + size > len(data):
                break
            data[at + 8 + size : at + 12 + size] = struct.pack(">I", zlib.crc32(data[at + 4 : at + 8 + size]))
            at += 12 + size
        return bytes(data)

    def read(self, data):
        decode_image(torch.frombuffer(bytearray(data or b"\0"), dtype=torch.uint8))


class StoreProtocol(Parser):
    """A connection's bytes: before the handshake, or (`H` in front) after it."""

    def good(self):
        def message(*fields):
            return struct.pack(f"!I{len(fields)}I", len(fields), *map(len, fields)) + b"".join(fields)

        after = [message(b"set", b"k", b"v") + message(b"peek", b"k"), message(b"add", b"n", b"2") + message(b"keys")]
        after.append(message(b"swap", b"k", b"", b"x") + message(b"delete", b"k") + message(b"append", b"l", b"y"))
        before = handshake.MAGIC + bytes(64) + b"\0\x02{}"
        return [b"H" + data for data in after] + [b"S" + before]

    def read(self, data):
        server = _store_alone()
        ours, theirs = socket.socketpair()
        try:
            ours.sendall(data[1:])
            ours.shutdown(socket.SHUT_WR)
            if data[:1] == b"H":
                client = store_server._Client(theirs, {"pid": 1})
                while theirs.fileno() >= 0:  # until it has hung up
                    server._hear(client)
            else:
                server._admit(theirs)
                assert not server._admitted and server._table == {"secret": b"kept"}, "a stranger came in"
        finally:
            ours.close()
            theirs.close()


def _store_alone():
    """A store's server without its threads and its port."""
    server = object.__new__(store_server.StoreServer)
    server._table, server.key, server.who = store_server.Table(), b"key", handshake.introduction()
    server._table["secret"] = b"kept"
    server._newcomers, server.port, server._closed = threading.BoundedSemaphore(1), 0, False
    server._newcomers.acquire()
    server._lost, server._waiting, server._next_end, server._admitted = {}, {}, math.inf, []
    server._selector = SimpleNamespace(unregister=lambda connection: None)
    return server


class MeshProtocol(Parser):
    """What a peer sends after the handshake, read by `Mesh`, and then taken by a collective and by `recv`."""

    raises = (EOFError, DistNetworkError, DistBackendError)
    CALL = b"all_reduce(SUM) of float32 [2]"
    IS_STAR = False
    LIKE = np.zeros(2, np.float32)

    def good(self):
        call, data = self.CALL, self.LIKE.tobytes()
        frames = [
            (0, b"g#1", call, data),
            (0, b"g#1/part", call + b"\0float32 [2]", data),
            (0, b"p", b"float32 [2]", data),
            (1, b"g#1", call, b""),
            (3, b"control", b"", b'["it has ended", true]'),
            (4, b"control", b"", b'[1, "it was killed"]'),
            (5, b"control", b"", b""),
            (6, b"control", b"", b"last call: barrier()"),
            (1, b"g#2", b"barrier", b""),
            (2, b"g#1", b"", b"process 1 has failed"),
            (7, mesh.ROUTE.pack(0, 1, 0) + b"p", b"float32 [2]", data),
            (8, b"control", b"", b'[[1, "it was killed", true]]'),
        ]
        self.frames = frames
        return [self._packed(frame) for frame in frames] + [b"".join(map(self._packed, frames[:4]))]

    def _packed(self, frame):
        kind, key, note, data = frame
        return struct.pack("!BHHQ", kind, len(key), len(note), len(data)) + key + note + data

    def broken(self, chance):
        """Half of them are frames with sizes that fit, around broken parts."""
        if chance.random() < 0.5:
            return super().broken(chance)
        frames = [list(chance.choice(self.frames)) for _ in range(chance.choice((1, 2, 3)))]
        for frame in frames:
            if chance.random() < 0.7:
                part = chance.randrange(1, 4)
                frame[part] = changed(frame[part], chance, self.seeds)
        frames[0][0] = chance.choice((0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 255))
        return b"".join(map(self._packed, frames))

    def read(self, data):
        group = object.__new__(process_group.ProcessGroup)
        group.ranks, group.timeout, group.mesh = [0, 1], timedelta(0), object.__new__(mesh.Mesh)
        _join_alone(group.mesh)
        group.mesh.is_star = self.IS_STAR
        own = group.mesh._inbox.messages[0, b"own"]
        ours, theirs = socket.socketpair()
        try:
            ours.sendall(data)
            ours.shutdown(socket.SHUT_WR)
            with contextlib.suppress(EOFError):
                while True:
                    group.mesh._read_message(1, theirs)
        finally:
            ours.close()
            theirs.close()
            assert group.mesh._inbox.messages.pop((0, b"own")) is own and list(own) == [(b"", b"kept")], (
                "it wrote as another"
            )
            assert all(peer == 1 for peer, _ in group.mesh._inbox.messages)
        group.mesh.begin(b"g#1", self.CALL)
        group.take(1, b"g#1", self.LIKE)


class HubProtocol(MeshProtocol):
    """The same, read by the process through which the messages of many go."""

    IS_STAR = True


def _join_alone(made):
    """Process 0 of 2, whose only connection a test reads. What it would tell the other is thrown away."""
    made.rank, made.size, made._lock = 0, 2, threading.RLock()
    made._arrived = threading.Condition(made._lock)
    made._inbox = mesh.Inbox()
    made._inbox.messages[0, b"own"] = deque([(b"", b"kept")])
    made._ledger, made._gone, made._peers, made._closed = mesh.Ledger(0), {1: "it has ended"}, {}, False
    made._tell = lambda tell: None
    made._who, made._dead, made._silent, made._answers, made._last = {}, set(), set(), {}, None
    made.death, made.is_star, made._news = "", False, []
    made.when_in_trouble = None
    made._ledger.ours(b"g#1", MeshProtocol.CALL)


PARSERS = {
    "pt": Pt,
    "legacy": Legacy,
    "safetensors": Safetensors,
    "npy": Npy,
    "idx": Idx,
    "cifar": Cifar,
    "tar": Tar,
    "zip": Zip,
    "image": Image,
    "store": StoreProtocol,
    "mesh": MeshProtocol,
    "hub": HubProtocol,
}


# ---------------------------------------------------------------- the run


def run(name, count, seed, first=0, progress=None, traced=1):
    """(how many inputs were read without an error, [(number, what was wrong)]) of `count` inputs of one parser.

    traced: the memory that reading takes is measured for each traced-th input, and for those with which the process
    grows beyond what it ever took. Measuring makes reading two to twelve times as slow.
    progress: called every so often with how many are done, and how many of them were wrong.
    """
    canary = np.full(4096, 7, np.uint8)
    sound, wrong = 0, []
    with (
        tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        parser = PARSERS[name](folder)
        for number in range(first, first + count):
            data = parser.broken(random.Random(f"{name} {seed} {number}"))
            most = _most_memory()
            problem, was_sound = _examined(parser, data, number % traced == 0)
            if not problem and number % traced and _most_memory() - most > GROWTH_BYTES:
                problem, was_sound = _examined(parser, data, True)
            sound += was_sound
            if problem:
                wrong.append((number, problem))
            if progress and (number - first + 1) % PROGRESS == 0:
                progress(number - first + 1, len(wrong))
        assert (canary == 7).all()
    return sound, wrong


def _most_memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _examined(parser, data, traced):
    """(what was wrong, or None; whether it was read without an error)."""
    if traced:
        tracemalloc.start()
    try:
        problem, sound, seconds = _read(parser, data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    if seconds > LIMIT_S and problem is None:
        if traced:  # which takes most of it
            seconds = _read(parser, data)[2]
        problem = f"took {seconds:.1f} s" if seconds > LIMIT_S else None
    if peak > 2 * len(data) + ALLOWANCE_BYTES:
        problem = problem or f"took {peak} bytes of memory for {len(data)}"
    return problem, sound


def _read(parser, data):
    problem, sound, start = None, False, time.perf_counter()
    handler = signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, 20 * LIMIT_S)
    try:
        parser.read(data)
        sound = True
    except parser.raises as error:
        if isinstance(error, RecursionError):
            problem = "RecursionError"
    except BaseException as error:
        problem = f"{type(error).__name__}: {error}"[:300]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
    return problem, sound, time.perf_counter() - start


def _too_long(signum, frame):
    raise TimeoutError("does not end")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parser", choices=[*PARSERS, "all"], default="all")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input, to see one again")
    arguments = parser.parse_args()
    failed = False
    for name in PARSERS if arguments.parser == "all" else [arguments.parser]:
        start = time.perf_counter()

        def progress(done, wrong, name=name, start=start):
            rate = done / (time.perf_counter() - start)
            rest = (arguments.count - done) / rate
            print(f"{name}: {done:,} of {arguments.count:,}, {rate:,.0f} a second, {rest:.0f} s to go, {wrong} wrong",
                  file=sys.stderr, flush=True)  # fmt: skip

        sound, wrong = run(name, arguments.count, arguments.seed, arguments.first, progress)
        failed |= bool(wrong)
        seconds = time.perf_counter() - start
        print(json.dumps({"parser": name, "count": arguments.count, "seed": arguments.seed, "sound": sound,
                          "wrong": len(wrong), "seconds": round(seconds, 1), "first": wrong[:5]}), flush=True)  # fmt: skip
    sys.exit(failed)


if __name__ == "__main__":
    main()
