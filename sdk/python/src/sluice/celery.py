"""Celery: a guard of tasks.

    @app.task
    @rate_limit(key=lambda customer, **_: f"customer:{customer}")
    def send_invoice(customer): ...
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

from celery import current_task
from celery.exceptions import Ignore, Retry

from sluice._decision import Decision
from sluice._errors import SluiceError
from sluice._sync import Client, Lease
from sluice._web import fit

__all__ = ["rate_limit"]
F = TypeVar("F", bound=Callable[..., Any])
_default: Client | None = None


def default_client() -> Client:
    """The client that the environment describes."""
    global _default
    if _default is None:
        _default = Client()
    return _default


def rate_limit(client: Client | None = None, *, resource: str | None = None, key: Callable[..., str | None] | str | None = None,
               cost: int | Callable[..., int] = 1, plan_id: str | None = None, when_denied: Literal["retry", "drop"] = "retry",
               retry_after: float = 5.0, max_delay: float = 1.0, keep_alive: bool = True) -> Callable[[F], F]:
    """A decorator below that of the task. Its check is made before the task runs, in the worker.

    The check has the resource `task:NAME` and the `job_type` NAME. `key` and `cost` are functions of the task's arguments.
    A task that is denied is retried after the time that the decision names, else after `retry_after` seconds, as often as it takes:
    these retries do not count against `max_retries`. `drop` ignores it instead. A lease lasts as long as the task runs.
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def run(*args: Any, **named: Any) -> Any:
            asked = client or default_client()
            task = current_task
            name = str(task.name)
            subject = key(*args, **named) if callable(key) else key
            fields: dict[str, Any] = {"resource": resource or f"task:{name}", "job_type": name, "plan_id": plan_id,
                      "subject": None if subject is None else fit(subject)}
            units = cost(*args, **named) if callable(cost) else cost
            if units != 1:
                fields["cost"] = units
            try:
                decision = asked.check(**fields)
            except SluiceError as error:   # on_error is raise
                decision = Decision(False, "error", "deny", would_allow=False, status=error.status, decided=False, error=error)
            passes = decision.allowed and decision.delay <= max_delay
            lease = Lease(asked, decision, keep_alive and passes)
            if not passes:
                lease.end()   # that of a delay that is too long
                raise _postponed(task, decision, when_denied, retry_after)
            try:
                if decision.delay > 0:
                    time.sleep(decision.delay)
                return function(*args, **named)
            finally:
                lease.end()

        return cast(F, run)

    return decorate


def _postponed(task: Any, decision: Decision, when_denied: str, retry_after: float) -> BaseException:
    """What ends this run of a task. Unlike Task.retry(), it leaves the number of retries as the task's own failures made it."""
    if when_denied == "drop":
        return cast(BaseException, Ignore("the rate limit is exceeded"))
    wait = (decision.delay if decision.allowed else decision.retry_after) or retry_after
    request = task.request
    again = task.signature_from_request(request, countdown=wait, retries=request.retries)
    if not request.is_eager and not request.called_directly:
        again.apply_async()
    return cast(BaseException, Retry("postponed by the rate limit", when=wait, is_eager=request.is_eager, sig=again))
