"""HTTP/2 frames by hand, for clients that no library would be."""

import socket
import struct
from collections.abc import Iterator

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 2, 3, 4, 6, 7, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
ENHANCE_YOUR_CALM = 11


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame."""
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def literal(name: str, value: str) -> bytes:
    """A header field without indexing or Huffman coding; both texts are shorter than 127 bytes."""
    return b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def request_fields(path: str, *fields: tuple[str, str]) -> bytes:
    """The header block of a gRPC call."""
    return b"".join(literal(*field) for field in (
        (":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "agent"),
        ("content-type", "application/grpc"), ("te", "trailers"), *fields))


class Http2Connection:
    """A connection that has sent the preface and its settings."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.send(PREFACE + frame(SETTINGS, 0, 0))

    def __enter__(self) -> "Http2Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> bool:
        """Sends; False if the agent has closed the connection."""
        try:
            self.socket.sendall(data)
            return True
        except OSError:
            return False

    def frames(self) -> Iterator[tuple[int, int, int, bytes]]:
        """The agent's frames (kind, flags, stream, payload), until it closes the connection."""
        received = b""
        while True:
            while len(received) >= 9:
                size = int.from_bytes(received[:3], "big")
                if len(received) < 9 + size:
                    break
                kind, flags, stream = struct.unpack(">BBI", received[3:9])
                yield kind, flags, stream, received[9:9 + size]
                received = received[9 + size:]
            try:
                more = self.socket.recv(65536)
            except OSError:
                return
            if not more:
                return
            received += more

    def error_of_goaway(self) -> int:
        """The error code of the GOAWAY with which the agent ends the connection; -1 if it sends none."""
        for kind, _, _, payload in self.frames():
            if kind == GOAWAY and (code := int.from_bytes(payload[4:8], "big")) != 0:
                return code
        return -1
