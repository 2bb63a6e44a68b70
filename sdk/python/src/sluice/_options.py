"""The options of a client, from its arguments and from the environment. Pure but for reading the key file."""

from __future__ import annotations

import math
import os
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, Union, cast

from sluice._errors import SluiceError

OnError = Literal["allow", "deny", "raise"]
Seconds = Union[float, timedelta]   # a duration in arguments: seconds, or a timedelta

_DEFAULT_URL = "http://127.0.0.1:8088"
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_KEY = re.compile(r"[\x21-\x7e]+")
# A check waits for no longer than this, whatever is asked: a thousand years are a mistake, and the clocks of poll() end.
LONGEST = 86400.0


@dataclass(frozen=True)
class Address:
    """Where the agent is. Either `path`, of a Unix socket, or `host` and `port`."""

    text: str   # as logs and errors write it
    host: str = ""
    port: int = 0
    path: str = ""
    tls: bool = False

    @property
    def host_header(self) -> str:
        """The value of the header Host."""
        if self.path:
            return "localhost"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


class KeySource:
    """The API key, from text or from a file that is read when the first call needs it."""

    def __init__(self, text: str = "", file: str = "") -> None:
        self._text, self._file = text, file

    def current(self) -> str:
        """The key; empty if there is none. Raises SluiceError if the file gives none."""
        return self._text or (self.read_again() if self._file else "")

    def read_again(self) -> str:
        """The key that the file has now; without a file, the key that there is."""
        if not self._file:
            return self._text
        try:
            with open(self._file, encoding="utf-8") as opened:
                text = opened.read(65536).strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise SluiceError("refused", f"the API key file {self._file} cannot be read: {reason}") from None
        if not _KEY.fullmatch(text):
            raise SluiceError("refused", f"the API key file {self._file} must hold one key, and nothing else")
        self._text = text
        return text


@dataclass(frozen=True)
class Options:
    """What a client was told, checked. Durations in seconds."""

    address: Address
    key: KeySource = field(repr=False)
    timeout: float
    on_error: OnError
    max_connections: int
    ca_file: str
    client_certificate: str
    client_key: str


def read(*, url: str | None = None, socket: str | os.PathLike[str] | None = None, api_key: str | None = None,
         api_key_file: str | os.PathLike[str] | None = None, timeout: Seconds | None = None, on_error: OnError | None = None,
         max_connections: int = 64, ca_file: str | os.PathLike[str] | None = None,
         client_certificate: str | os.PathLike[str] | None = None, client_key: str | os.PathLike[str] | None = None,
         environment: Mapping[str, str] | None = None) -> Options:
    """Checks the options; what is None comes from the environment. Raises ValueError or TypeError."""
    variables = os.environ if environment is None else environment
    if url is not None and socket is not None:
        raise ValueError("give either `url` or `socket`: both say where the agent is")
    if api_key is not None and api_key_file is not None:
        raise ValueError("give either `api_key` or `api_key_file`: both give the API key")
    if type(max_connections) is not int or not 1 <= max_connections <= 65536:
        raise ValueError(f"`max_connections` must be a whole number from 1 to 65536; got {max_connections!r}")
    if client_key is not None and client_certificate is None:
        raise ValueError("`client_key` needs `client_certificate`")
    return Options(_address(url, socket, variables), _key(api_key, api_key_file, variables), _timeout(timeout, variables),
                   _on_error(on_error, variables), max_connections, _file("ca_file", ca_file),
                   _file("client_certificate", client_certificate), _file("client_key", client_key))


def seconds(name: str, value: Seconds, *, least: float = 0.0) -> float:
    """A duration of an argument in seconds."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"`{name}` must be seconds as a number, or a timedelta; got {value!r}")
    if not math.isfinite(value) or value < least or (least == 0.0 and value < 0):
        raise ValueError(f"`{name}` must be a finite number of seconds, {least:g} or more; got {value!r}")
    return min(float(value), LONGEST)


def wait_seconds(value: object) -> float:
    """How long an agent may hold a check with this `wait`; 0 for what it would refuse."""
    if isinstance(value, timedelta):
        return min(max(value.total_seconds(), 0.0), LONGEST)
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value) if 0 <= value <= 999 else 0.0
    if isinstance(value, str):
        found = _DURATION.fullmatch(value)
        if found:
            return min(float(found[1]) * _UNITS[found[2]], LONGEST)
        if value.isascii() and value.isdigit() and len(value) <= 3:
            return float(value)
    return 0.0


def _address(url: str | None, socket: str | os.PathLike[str] | None, variables: Mapping[str, str]) -> Address:
    if socket is not None:
        return _socket("`socket`", _file("socket", socket))
    if url is not None:
        return _url("`url`", url)
    if variables.get("SLUICE_SOCKET"):
        return _socket("SLUICE_SOCKET", variables["SLUICE_SOCKET"])
    return _url("SLUICE_URL", variables.get("SLUICE_URL") or _DEFAULT_URL)


def _socket(name: str, path: str) -> Address:
    if not path or "\0" in path or len(os.fsencode(path)) > 107:
        raise ValueError(f"{name} must be the path of a Unix socket, of 1 to 107 bytes; got {path!r}")
    return Address(f"unix://{path}", path=path)


def _url(name: str, text: str) -> Address:
    rule = f"{name} must be http://HOST[:PORT], https://HOST[:PORT] or unix:///PATH"
    if not isinstance(text, str):
        raise TypeError(f"{rule}; got {type(text).__name__}")
    if text.startswith("unix://"):
        path = text[len("unix://"):]
        if not path.startswith("/"):
            raise ValueError(f"{rule}; got {text!r}")
        return _socket(name, path)
    try:
        parts = urllib.parse.urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(f"{rule}; got {text!r}") from None
    if "@" in parts.netloc:
        # What stands before the @ may be a secret, so it is not repeated.
        raise ValueError(f"{rule}, without a user or password; the key is the option `api_key`")
    if parts.scheme not in ("http", "https") or not host or parts.path not in ("", "/") or parts.query or parts.fragment or \
            not re.fullmatch(r"[0-9A-Za-z.:%_-]+", host) or port == 0:
        raise ValueError(f"{rule}; got {text!r}")
    tls = parts.scheme == "https"
    return Address(f"{parts.scheme}://{parts.netloc}", host=host, port=port or (443 if tls else 80), tls=tls)


def _key(text: str | None, file: str | os.PathLike[str] | None, variables: Mapping[str, str]) -> KeySource:
    if text is not None:
        return KeySource(text=_checked_key("`api_key`", text))
    if file is not None:
        return KeySource(file=_file("api_key_file", file))
    if variables.get("SLUICE_API_KEY"):
        return KeySource(text=_checked_key("SLUICE_API_KEY", variables["SLUICE_API_KEY"].strip()))
    return KeySource(file=variables.get("SLUICE_API_KEY_FILE", ""))


def _checked_key(name: str, text: str) -> str:
    if not isinstance(text, str) or not _KEY.fullmatch(text):
        raise ValueError(f"{name} must be visible ASCII characters without spaces")   # the key itself is not repeated
    return text


def _timeout(value: Seconds | None, variables: Mapping[str, str]) -> float:
    if value is not None:
        return seconds("timeout", value, least=0.001)
    text = variables.get("SLUICE_TIMEOUT") or "50ms"
    found = _DURATION.fullmatch(text)
    given = float(found[1]) * _UNITS[found[2]] if found and found[2] in ("ms", "s", "m") else 0.0
    if not 0.001 <= given <= LONGEST:
        raise ValueError(f"SLUICE_TIMEOUT must be a duration from 1ms to 1440m with the unit ms, s or m, such as 50ms; got {text!r}")
    return given


def _on_error(value: OnError | None, variables: Mapping[str, str]) -> OnError:
    name, text = ("`on_error`", value) if value is not None else ("SLUICE_ON_ERROR", variables.get("SLUICE_ON_ERROR") or "allow")
    if text not in ("allow", "deny", "raise"):
        raise ValueError(f"{name} must be allow, deny or raise; got {text!r}")
    return cast(OnError, text)


def _file(name: str, value: str | os.PathLike[str] | None) -> str:
    if value is None:
        return ""
    text = os.fspath(value)
    if not isinstance(text, str) or not text:
        raise ValueError(f"`{name}` must be the path of a file; got {value!r}")
    return text
