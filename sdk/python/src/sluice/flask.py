"""Flask: an extension that checks every request, and a decorator for views.

    Sluice(app)                                         # every request
    @app.get("/orders") @rate_limit(cost=5)             # one view
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from flask import Flask, Request, Response, after_this_request, current_app, g, request

from sluice import _core, _web
from sluice._decision import Decision
from sluice._errors import SluiceError
from sluice._sync import Client, Lease
from sluice._web import Exempt, Number, Rule, Settings, Text

__all__ = ["Rule", "Sluice", "rate_limit"]
F = TypeVar("F", bound=Callable[..., Any])
Denied = Callable[[Decision], Response]
_default: Client | None = None


def default_client() -> Client:
    """The client of the application's `Sluice`, else one that the environment describes."""
    global _default
    extension = current_app.extensions.get("sluice")
    if isinstance(extension, Sluice) and extension.client is not None:
        return extension.client
    if _default is None:
        _default = Client()
    return _default


def endpoint_of(asked: Request) -> str:
    """The pattern of a request's route."""
    return _web.UNMATCHED if asked.url_rule is None else _web.pattern(asked.url_rule.rule)


class Sluice:
    """Checks every request before its view runs, but those of views with `rate_limit`. The arguments are those of `Settings`;
    `on_denied` makes another response. `g.sluice` is the decision."""

    def __init__(self, app: Flask | None = None, client: Client | None = None, *, key: Callable[[Request], str | None] | None = None,
                 cost: Number[Request] = 1, exempt: Exempt[Request] = None, routes: Mapping[str, Rule[Request]] | None = None,
                 max_delay: float = _web.MAX_DELAY, keep_alive: bool = True, on_denied: Denied | None = None) -> None:
        self.client = client
        self._settings: Settings[Request] = Settings(key, cost, exempt, routes, max_delay, keep_alive)
        self._on_denied = on_denied
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Adds the extension to an application."""
        app.extensions["sluice"] = self
        app.before_request(self._before)

    def _before(self) -> Response | None:
        view = current_app.view_functions.get(request.endpoint or "")
        if getattr(view, "_sluice_limited", False):
            return None
        endpoint = endpoint_of(request)
        rule = self._settings.rule(request.method, endpoint)
        if self._settings.is_exempt(request, request.method, endpoint, rule):
            return None
        return _admit(self.client or default_client(), self._settings, rule, self._on_denied)


def rate_limit(client: Client | None = None, *, resource: Text[Request] = None, key: Text[Request] = None, cost: Number[Request] = 1,
               plan_id: str | None = None, max_delay: float = _web.MAX_DELAY, keep_alive: bool = True,
               on_denied: Denied | None = None) -> Callable[[F], F]:
    """A decorator for views, sync or async, below that of the route."""
    settings: Settings[Request] = Settings(None, cost, max_delay=max_delay, keep_alive=keep_alive)
    rule: Rule[Request] = Rule(resource, key, cost, plan_id)

    def decorate(view: F) -> F:
        if inspect.iscoroutinefunction(view):
            @functools.wraps(view)
            async def call(*args: Any, **named: Any) -> Any:
                refused = _admit(client or default_client(), settings, rule, on_denied)
                return refused if refused is not None else await view(*args, **named)
        else:
            @functools.wraps(view)
            def call(*args: Any, **named: Any) -> Any:
                refused = _admit(client or default_client(), settings, rule, on_denied)
                return refused if refused is not None else view(*args, **named)
        setattr(call, "_sluice_limited", True)
        return cast(F, call)

    return decorate


def _admit(client: Client, settings: Settings[Request], rule: Rule[Request], on_denied: Denied | None) -> Response | None:
    """Checks the current request. The response of a denial, or None."""
    fields = settings.check(request, request.method, endpoint_of(request), request.remote_addr, rule)
    try:
        decision = client.check(**fields, **_core.incoming_trace(request.headers.get("traceparent"), request.headers.get("tracestate")))
    except SluiceError as error:   # on_error is raise
        decision = Decision(False, "error", "deny", would_allow=False, status=error.status, decided=False, error=error)
    decision = settings.judged(decision)
    g.sluice = decision
    if decision.over_limit:
        _core.mark_span(fields["endpoint"])
    lease = Lease(client, decision, settings.keep_alive and decision.allowed)
    if not decision.allowed:
        lease.end()   # that of a delay that is too long
        if on_denied is not None:
            return on_denied(decision)
        refusal = _web.denial(decision, request.headers.get("accept", ""))
        return Response(refusal.body, refusal.status, refusal.headers)
    if lease.lease_id is not None:
        _end_with_the_request(lease)   # also if a server's time-out ends the sleep
    if decision.delay > 0:
        time.sleep(decision.delay)

    @after_this_request
    def add_headers(response: Response) -> Response:
        new = _web.missing(decision.headers, response.headers.keys())
        for name, value in new.items():
            response.headers[name] = value
        if new:
            response.headers["Access-Control-Expose-Headers"] = _web.expose(
                new, response.headers.get("Access-Control-Expose-Headers", ""))
        if lease.lease_id is not None:
            # The server closes a response when it has been sent, or when the client went away.
            response.call_on_close(lease.end)
            g.sluice_lease_of_response = lease
        return response

    return None


def _end_with_the_request(lease: Lease) -> None:
    """Where a view fails so that there is no response, the lease ends with the request."""
    app = current_app._get_current_object()   # type: ignore[attr-defined]
    g.sluice_lease = lease
    if "sluice_teardown" not in app.extensions:
        app.extensions["sluice_teardown"] = True
        app.teardown_request_funcs.setdefault(None, []).append(_teardown)


def _teardown(_: BaseException | None) -> None:
    lease = g.pop("sluice_lease", None)
    if lease is not None and g.get("sluice_lease_of_response") is not lease:
        lease.end()
