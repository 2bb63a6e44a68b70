"""Why an agent gave no decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

Kind = Literal["unreachable", "timeout", "protocol", "unavailable", "refused"]


class SluiceError(Exception):
    """An agent gave no decision. `kind` says why; the other members are those of the agent's problem, if it sent one.

    `status`: of the reply; 0 without one. `errors`: the faulty fields, each with its JSON pointer.
    """

    def __init__(self, kind: Kind, message: str, *, status: int = 0, code: str = "", detail: str = "",
                 errors: Sequence[Mapping[str, Any]] = (), request_id: str | None = None,
                 raw: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.kind: Kind = kind
        self.status = status
        self.code = code
        self.detail = detail
        self.errors = list(errors)
        self.request_id = request_id
        self.raw: Mapping[str, Any] = raw if raw is not None else {}

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (self.kind, str(self), self.status, self.code, self.detail, self.errors, self.request_id, dict(self.raw)))


def _rebuild(kind: Kind, message: str, status: int, code: str, detail: str, errors: list[Any], request_id: str | None,
             raw: dict[str, Any]) -> SluiceError:
    """For pickle and copy, which cannot call a constructor with named arguments."""
    return SluiceError(kind, message, status=status, code=code, detail=detail, errors=errors, request_id=request_id, raw=raw)
