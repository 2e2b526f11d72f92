"""How messages travel between a loader and its workers: one packet, or one block of shared memory.

A message is pickled by protocol 5, the memory of its arrays and tensors kept out of the pickle. The bytes are

    count, length of each of `count` segments (uint64); then the segments, each at a multiple of 64 bytes:
    the returned blocks (a pickle), the message's pickle, then each array's memory

A short message is one packet of a socket that keeps packet bounds. A long one is written to a block of shared memory
(`blocks`); the packet only names the block, and the tensors are in the receiver's mapping without another copy.
"""

import io
import os
import pickle
import struct
from collections import deque

import numpy as np

from rushlight.core.tensor.tensor import Tensor, wrap
from rushlight.utils.data.blocks import BlockReader, BlockWriter

# Measured on the 2-core reference machine: up to about this size a packet takes 10-30 us less than a block, beyond
# 128 KiB it takes longer. Several such packets fit into the socket's buffer, so that a worker is not held up.
INLINE_BYTES = 1 << 16

_ALIGNMENT = 64
_BLOCK = struct.Struct("3Q")  # instead of the segments: 0, the block's number, the message's size
_LENGTH = struct.Struct("Q")  # of a message in a stream
_NOTHING_RETURNED = pickle.dumps([])
_MAX_PACKET_SEGMENTS = 256  # with padding between them well under the system's limit of 1024 parts per call


class _Pickler(pickle.Pickler):
    def reducer_override(self, obj):
        return _reduce_tensor(obj) if isinstance(obj, Tensor) else NotImplemented


def _reduce_tensor(tensor: Tensor):
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
            "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor before "
            "serializing (e.g., putting it on the queue)."
        )
    array, memory = _memory(tensor._array)
    dtype = array.dtype.str if array.dtype.isbuiltin == 1 else array.dtype
    strides = None if array.flags.c_contiguous else array.strides
    return _rebuild_tensor, (
        type(tensor),
        pickle.PickleBuffer(memory),  # pyright: ignore[reportArgumentType]: an array is a buffer
        dtype,
        array.shape,
        strides,
        tensor.requires_grad,
    )


def _memory(array: np.ndarray):
    """An array of the same strides if they leave no gaps, else a contiguous copy; and its memory as bytes."""
    if not array.flags.c_contiguous:
        order = sorted(range(array.ndim), key=lambda i: -array.strides[i])
        dense = array.transpose(order)
        if dense.flags.c_contiguous:
            return array, dense.reshape(-1).view(np.uint8)
        array = np.ascontiguousarray(array)
    return array, array.reshape(-1).view(np.uint8)


def _rebuild_tensor(kind: type, memory, dtype, shape, strides, requires_grad: bool) -> Tensor:
    tensor = wrap(np.ndarray(shape, dtype, memory, 0, strides))
    if kind is not Tensor:
        return Tensor._make_subclass(kind, tensor, requires_grad)
    if requires_grad:
        tensor.requires_grad_()
    return tensor


def encode(message) -> list:
    """The message's segments: the pickle, then the memory of each array."""
    stream, buffers = io.BytesIO(), []
    _Pickler(stream, 5, buffer_callback=buffers.append).dump(message)
    return [stream.getbuffer(), *(buffer.raw() for buffer in buffers)]


def _layout(lengths) -> tuple[list[int], int]:
    """Where each segment starts, and the size of the whole."""
    offsets, end = [], 8 + 8 * len(lengths)
    for length in lengths:
        start = -(-end // _ALIGNMENT) * _ALIGNMENT
        offsets.append(start)
        end = start + length
    return offsets, end


def _padded(table: bytes, segments: list, offsets: list[int]) -> list:
    parts, end = [table], len(table)
    for segment, offset in zip(segments, offsets, strict=True):
        parts += [bytes(offset - end), segment]
        end = offset + segment.nbytes
    return parts


class Channel:
    """One end of a connection between a loader and a worker. Neither `post` nor `receive` ever waits.

    A message that does not fit into the connection's buffer stays in a backlog, which `flush` sends as room appears.
    Each message also returns the blocks of earlier ones that this end has done with.
    """

    def __init__(self, connection) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._backlog: deque[tuple] = deque()
        self._writer, self._reader = BlockWriter(), BlockReader()

    def fileno(self) -> int:
        return self._connection.fileno()

    def post(self, message) -> bool:
        """Send a message, or keep it in the backlog; True if the backlog is empty."""
        segments = encode(message)
        returned = self._reader.returned()
        head = pickle.dumps(returned) if returned else _NOTHING_RETURNED
        self._backlog.append(self._packet([memoryview(head), *segments]))
        return self.flush()

    def _packet(self, segments: list) -> tuple[list, int | None]:
        """What is sent for a message's segments: parts, and the descriptor that goes with them."""
        raise NotImplementedError

    def flush(self) -> bool:
        """Send what the buffer takes; True if nothing is left."""
        while self._backlog:
            parts, descriptor = self._backlog[0]
            try:
                self._send(parts, descriptor)
            except BlockingIOError:
                return False
            self._backlog.popleft()
        return True

    def _send(self, parts: list, descriptor: int | None) -> None:
        raise NotImplementedError

    def receive(self):
        """The next message. BlockingIOError: none is there yet; EOFError: the other end is gone."""
        packet, descriptor = self._receive_packet()
        number_of_segments, number, size = _BLOCK.unpack_from(packet.data)
        if number_of_segments == 0:
            packet = self._reader.read(number, size, descriptor)
        head, pickled, *buffers = _split(packet)
        for number, is_kept in pickle.loads(head):
            self._writer.take_back(number, is_kept)
        return pickle.loads(pickled, buffers=buffers)

    def _receive_packet(self) -> tuple[np.ndarray, int | None]:
        raise NotImplementedError

    def close(self, hang_up: bool = True) -> None:
        """Close this copy of the end; `hang_up` ends the connection whoever else holds a copy (forked processes do)."""
        import socket

        self._backlog.clear()
        self._writer.close()
        self._reader.close()
        try:
            if hang_up:
                self._connection.shutdown(socket.SHUT_RDWR)
        except OSError:  # the other end is gone, or this end was closed before
            pass
        self._connection.close()


class PacketChannel(Channel):
    """A channel over packets that keep their bounds and carry descriptors."""

    def __init__(self, connection) -> None:
        import socket

        super().__init__(connection)
        # As plain numbers: the enumerations' operators take longer than the calls they are for.
        self._peek_size = int(socket.MSG_PEEK) | int(socket.MSG_TRUNC)
        self._take = socket.CMSG_SPACE(4), int(getattr(socket, "MSG_CMSG_CLOEXEC", 0))
        self._lost_descriptor = int(socket.MSG_CTRUNC)
        self._rights = int(socket.SOL_SOCKET), int(socket.SCM_RIGHTS)

    def _packet(self, segments: list) -> tuple[list, int | None]:
        """The packet's parts, and the descriptor that it carries."""
        lengths = [segment.nbytes for segment in segments]
        table = struct.pack(f"{1 + len(lengths)}Q", len(lengths), *lengths)
        offsets, size = _layout(lengths)
        if size <= INLINE_BYTES and len(segments) <= _MAX_PACKET_SEGMENTS:
            return _padded(table, segments, offsets), None
        placed = zip([0, *offsets], [memoryview(table), *segments], strict=True)
        number, descriptor = self._writer.write(placed, size)
        return [_BLOCK.pack(0, number, size)], descriptor

    def _send(self, parts: list, descriptor: int | None) -> None:
        if descriptor is None:
            self._connection.sendmsg(parts)
        else:
            self._connection.sendmsg(parts, [(*self._rights, struct.pack("i", descriptor))])

    def _receive_packet(self) -> tuple[np.ndarray, int | None]:
        size = self._connection.recv_into(bytearray(1), 1, self._peek_size)
        if size == 0:
            raise EOFError("the other process closed the connection")
        packet = np.empty(size, np.uint8)
        _, ancillary, flags, _ = self._connection.recvmsg_into([packet], *self._take)
        if flags & self._lost_descriptor:
            raise RuntimeError(
                "Too many open files. Communication with the workers is no longer possible. "
                "Please increase the limit using `ulimit -n` in the shell."
            )
        return packet, struct.unpack("i", ancillary[0][2])[0] if ancillary else None


class StreamChannel(Channel):
    """The same over a stream, for systems without packets or anonymous files: each message whole, after its length."""

    def __init__(self, connection) -> None:
        super().__init__(connection)
        self._sends_parts = hasattr(connection, "sendmsg")  # not on Windows
        self._arriving = np.empty(_LENGTH.size, np.uint8)
        self._have, self._is_length = 0, True

    def _packet(self, segments: list) -> tuple[list, None]:
        lengths = [segment.nbytes for segment in segments]
        table = struct.pack(f"{1 + len(lengths)}Q", len(lengths), *lengths)
        offsets, size = _layout(lengths)
        parts = [_LENGTH.pack(size), *_padded(table, segments, offsets)]
        views = [memoryview(part).cast("B") for part in parts if len(part)]
        return views if self._sends_parts else _joined(views), None

    def _send(self, parts: list, descriptor: int | None) -> None:
        """Take away what has gone; BlockingIOError where more is left."""
        while parts:
            if self._sends_parts:
                sent = self._connection.sendmsg(parts[:_MAX_PACKET_SEGMENTS])
            else:
                sent = self._connection.send(parts[0])
            while sent:
                gone = min(sent, len(parts[0]))
                sent -= gone
                parts[:1] = [parts[0][gone:]] if gone < len(parts[0]) else []

    def _receive_packet(self) -> tuple[np.ndarray, None]:
        """No byte behind the message is read: what is left says that there is more."""
        while True:
            while self._have < len(self._arriving):
                count = self._connection.recv_into(self._arriving[self._have :])
                if count == 0:
                    raise EOFError("the other process closed the connection")
                self._have += count
            whole, is_length = self._arriving, self._is_length
            size = _LENGTH.unpack(whole.tobytes())[0] if is_length else _LENGTH.size
            self._arriving, self._have, self._is_length = np.empty(size, np.uint8), 0, not is_length
            if not is_length:
                return whole, None


def _joined(parts: list[memoryview]) -> list[memoryview]:
    """The same bytes in fewer parts: short ones that follow each other become one."""
    joined, short = [], []
    for part in [*parts, None]:
        if part is not None and part.nbytes < INLINE_BYTES:
            short.append(part)
            continue
        if short:
            joined.append(memoryview(b"".join(short)))
            short = []
        if part is not None:
            joined.append(part)
    return joined


def _split(memory: np.ndarray) -> list[memoryview]:
    """The segments of a message in a buffer; what is made of them keeps the buffer alive."""
    view = memory.data
    (count,) = struct.unpack_from("Q", view)
    lengths = struct.unpack_from(f"{count}Q", view, 8)
    offsets, _ = _layout(lengths)
    return [view[offset : offset + length] for offset, length in zip(offsets, lengths, strict=True)]


def _has_packets() -> bool:
    """Whether there are packets that keep their bounds, on Linux alone, and anonymous files."""
    import socket
    import sys

    return sys.platform == "linux" and hasattr(os, "memfd_create") and hasattr(socket, "SOCK_SEQPACKET")


def channel_over(connection) -> Channel:
    """The channel of an end of `open_channel_pair`."""
    import socket

    kind = connection.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)
    return StreamChannel(connection) if kind == socket.SOCK_STREAM else PacketChannel(connection)


def open_channel_pair():
    """Two connected sockets: that keep packet bounds and carry descriptors, or streams where the system has no such."""
    import socket

    # socketpair() of itself: Unix's streams, or on Windows a connection within the machine
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) if _has_packets() else socket.socketpair()
    for connection in pair:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * INLINE_BYTES)
        if connection.family == socket.AF_INET:  # do not wait for more of what fills no packet
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return pair
