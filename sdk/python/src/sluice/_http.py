"""HTTP/1.1 as far as a client of an agent needs it: the text of a request, and a reader of replies. Pure."""

from __future__ import annotations

import re

from sluice._decision import Reply
from sluice._errors import SluiceError
from sluice._options import Address
from sluice._version import VERSION

MAX_BODY = 2 << 20
_MAX_HEAD = 64 << 10
_STATUS_LINE = re.compile(r"HTTP/1\.([01]) ([0-9]{3})(?: [^\r\n]*)?\Z")
_VISIBLE = re.compile(r"[\x20-\x7e]*")


class ConnectionLost(SluiceError):
    """The connection ended before the reply did."""

    def __init__(self, message: str) -> None:
        super().__init__("protocol", message)


class RequestText:
    """Writes the requests of one client."""

    def __init__(self, address: Address) -> None:
        self._fixed = (f" HTTP/1.1\r\nHost: {address.host_header}\r\nUser-Agent: sluice-python/{VERSION}\r\n"
                       "Accept: application/json\r\nContent-Type: application/json\r\n")

    def post(self, path: str, body: bytes, key: str, trace: tuple[str, str] | None) -> bytes:
        """A POST of JSON. `trace`: the values of traceparent and tracestate; an empty one is left out."""
        head = f"POST {path}{self._fixed}Content-Length: {len(body)}\r\n"
        if key:
            head += f"x-api-key: {key}\r\n"
        if trace is not None:
            if trace[0]:
                head += f"traceparent: {trace[0]}\r\n"
            if trace[1]:
                head += f"tracestate: {trace[1]}\r\n"
        return head.encode("ascii") + b"\r\n" + body


def is_header_value(text: str) -> bool:
    """Whether a text may be sent as the value of a header."""
    return _VISIBLE.fullmatch(text) is not None


def header_value(name: str, text: str) -> str:
    """A header value that a caller gave. Raises ValueError if it could end the header."""
    if not isinstance(text, str) or not is_header_value(text):
        raise ValueError(f"`{name}` must be visible ASCII characters")
    return text


_LINES = re.compile(r"\r\n([!#-'*+.0-9A-Z^-z|~-]+):[ \t]*([^\r\n]*)").findall


def whole_reply(data: bytes) -> Reply | None:
    """The reply that these bytes are, if they are just one of the usual kind: with a length, on a connection that may carry another call.
    None: ReplyReader says what they are. It knows all of HTTP, and takes twice as long."""
    end = data.find(b"\r\n\r\n")
    if end < 0 or not data.startswith(b"HTTP/1.1 "):
        return None
    head = data[:end].decode("latin-1")
    headers: list[tuple[str, str]] = _LINES(head)
    by_name = {name.lower(): value for name, value in headers}
    length = by_name.get("content-length", "")
    status = head[9:12]
    if len(by_name) != head.count("\r\n") or "transfer-encoding" in by_name or "connection" in by_name or len(data) > MAX_BODY or \
            not (length.isdigit() and length.isascii() and len(length) < 9) or end + 4 + int(length) != len(data) or \
            not (status.isdigit() and status.isascii()) or head[12:13] not in (" ", "\r") or status < "200" or status in ("204", "304"):
        return None
    return Reply(int(status), headers, data[end + 4:])


class ReplyReader:
    """Takes the bytes of one reply as they come. `reusable` then says whether the connection may carry another call."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._head = True
        self._status = 0
        self._headers: list[tuple[str, str]] = []
        self._length: int | None = None    # None: until the connection ends
        self._chunks: _Chunks | None = None
        self._keep_alive = False
        self.reply: Reply | None = None
        self.reusable = False

    def feed(self, data: bytes) -> bool:
        """Whether the reply is complete now. Raises SluiceError (protocol) if it is no HTTP, or too large."""
        self._bytes += data
        while self._head:
            if not self._read_head():
                return False
        if self._chunks is not None:
            if self._chunks.feed(self._bytes):
                self._complete(bytes(self._chunks.body), bytes(self._chunks.rest))
        elif self._length is not None:
            if len(self._bytes) >= self._length:
                self._complete(bytes(self._bytes[:self._length]), bytes(self._bytes[self._length:]))
        elif len(self._bytes) > MAX_BODY:
            raise _too_large()
        return self.reply is not None

    def finish(self) -> Reply:
        """The connection has ended: the reply, if its body ends so. Raises SluiceError (protocol) if it is cut."""
        if not self._head and self._length is None and self._chunks is None:
            self._keep_alive = False
            self._complete(bytes(self._bytes), b"")
        if self.reply is None:
            raise ConnectionLost("the agent closed the connection "
                                 + ("in the middle of its reply" if self._bytes or not self._head else "without a reply"))
        return self.reply

    def _read_head(self) -> bool:
        """Whether a head was read. Those of interim replies (1xx) are skipped."""
        end = self._bytes.find(b"\r\n\r\n")
        if end < 0:
            if len(self._bytes) > _MAX_HEAD or not b"HTTP/1.".startswith(self._bytes[:7]):
                raise SluiceError("protocol", "the agent's reply is no HTTP/1.1")
            return False
        lines = self._bytes[:end].decode("latin-1").split("\r\n")
        del self._bytes[:end + 4]
        first = _STATUS_LINE.match(lines[0])
        if first is None:
            raise SluiceError("protocol", "the agent's reply is no HTTP/1.1")
        self._status = int(first[2])
        if 100 <= self._status < 200:
            if self._status == 101:
                raise SluiceError("protocol", "the agent's reply changes the protocol")
            return True
        self._read_headers(lines[1:], first[1] == "1")
        self._head = False
        return True

    def _read_headers(self, lines: list[str], is_1_1: bool) -> None:
        lengths, coding, connection = set(), "", ""
        headers = self._headers
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or not name or name[0] in " \t" or name[-1] in " \t":
                raise SluiceError("protocol", "the agent's reply has a broken header")
            value = value.strip(" \t")
            headers.append((name, value))
            if name[0] in "cCtT":
                lower = name.lower()
                if lower == "content-length":
                    lengths.add(value)
                elif lower == "transfer-encoding":
                    coding += value.lower()
                elif lower == "connection":
                    connection += value.lower() + ","
        self._keep_alive = is_1_1 and "close" not in connection
        if self._status in (204, 304):
            self._length = 0
        elif coding:
            if coding != "chunked":
                raise SluiceError("protocol", "the agent's reply has an unknown transfer coding")
            self._chunks = _Chunks()
        elif lengths:
            text = lengths.pop()
            if lengths or not text.isascii() or not text.isdigit() or len(text) > 18:
                raise SluiceError("protocol", "the agent's reply has a broken length")
            self._length = int(text)
            if self._length > MAX_BODY:
                raise _too_large()

    def _complete(self, body: bytes, rest: bytes) -> None:
        self.reply = Reply(self._status, self._headers, body)
        # Bytes that nobody asked for would be read as the answer of the next call.
        self.reusable = self._keep_alive and not rest and (self._length is not None or self._chunks is not None)


class _Chunks:
    """A body in the chunked coding."""

    def __init__(self) -> None:
        self.body = bytearray()
        self.rest = bytearray()
        self._left = -1          # of the current chunk with its line end; -1: a size comes next
        self._trailer = False

    def feed(self, data: bytearray) -> bool:
        """Takes what it can out of `data`; whether the body is complete."""
        while True:
            if self._trailer:
                end = data.find(b"\r\n")
                if end < 0:
                    return self._wait(data)
                del_line = bytes(data[:end])
                del data[:end + 2]
                if not del_line:
                    self.rest = data
                    return True
            elif self._left < 0:
                end = data.find(b"\r\n")
                if end < 0:
                    return self._wait(data)
                size = bytes(data[:end]).split(b";")[0].strip()
                del data[:end + 2]
                if not re.fullmatch(rb"[0-9A-Fa-f]{1,8}", size):
                    raise SluiceError("protocol", "the agent's reply has a broken chunk")
                self._trailer = int(size, 16) == 0
                self._left = -1 if self._trailer else int(size, 16) + 2
                if len(self.body) + max(self._left, 0) > MAX_BODY:
                    raise _too_large()
            else:
                if len(data) < self._left:
                    return False
                if data[self._left - 2:self._left] != b"\r\n":
                    raise SluiceError("protocol", "the agent's reply has a broken chunk")
                self.body += data[:self._left - 2]
                del data[:self._left]
                self._left = -1

    @staticmethod
    def _wait(data: bytearray) -> bool:
        if len(data) > _MAX_HEAD:
            raise SluiceError("protocol", "the agent's reply has a broken chunk")
        return False


def _too_large() -> SluiceError:
    return SluiceError("protocol", f"the agent's reply has a body of more than {MAX_BODY >> 20} MiB")
