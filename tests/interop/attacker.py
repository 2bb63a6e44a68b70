"""`python3 -m interop.attacker PORT RESETS_PER_SECOND`: begins calls and resets them at once, at this rate, on one connection
after the other as the agent ends them. Prints how many it has reset when its input ends. A process of its own, so that
its work does not delay those whom a test measures."""

import select
import socket
import sys
import time

from support.http2_frames import (DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, RST_STREAM, SETTINGS, frame,
                                  request_fields)

PACE = 0.01
CALLS = 1500   # on one connection, which the agent ends before


def calls(api_key: str) -> list[bytes]:
    """Complete calls of Check, each with its reset."""
    fields = request_fields("/sluice.v1.Decisions/Check", ("x-api-key", api_key))
    message = b"\x0a\x0bGET:/orders\x12\x01x"
    body = b"\0" + len(message).to_bytes(4, "big") + message
    return [frame(HEADERS, END_HEADERS, stream, fields) + frame(DATA, END_STREAM, stream, body)
            + frame(RST_STREAM, 0, stream, b"\0\0\0\x08") for stream in range(1, 2 * CALLS, 2)]


def main(port: int, rate: int, api_key: str) -> int:
    """Attacks until the input ends; the number of resets."""
    made, sent, began = calls(api_key), 0, time.monotonic()
    connection, at = None, CALLS
    while True:
        step = min(int(rate * (time.monotonic() - began)) - sent, CALLS)
        while step > 0:
            if at >= CALLS or connection is None:
                if connection is not None:
                    connection.close()
                connection, at = socket.create_connection(("127.0.0.1", port), timeout=10), 0
                connection.sendall(PREFACE + frame(SETTINGS, 0, 0))
            some = made[at:at + step]
            try:
                connection.sendall(b"".join(some))
            except OSError:   # the agent has ended the connection
                at = CALLS
                continue
            at, sent, step = at + len(some), sent + len(some), step - len(some)
        if select.select([sys.stdin], [], [], PACE)[0]:
            return sent


if __name__ == "__main__":
    print(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
