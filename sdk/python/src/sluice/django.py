"""Django: a middleware, and a decorator for sync and async views.

    MIDDLEWARE = [..., "sluice.django.SluiceMiddleware"]
    SLUICE = {"exempt": ["/healthz"]}                        # optional, see SluiceMiddleware
    @rate_limit(cost=5)                                      # one view
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.conf import settings as django_settings
from django.http import HttpRequest, HttpResponse
from django.urls import Resolver404, resolve

from sluice import _core, _web
from sluice._async import AsyncClient, AsyncLease
from sluice._decision import Decision, RateLimitResult
from sluice._errors import SluiceError
from sluice._sync import Client, Lease
from sluice._web import Number, Rule, Settings, Text

__all__ = ["RateLimitExceeded", "Rule", "SluiceMiddleware", "rate_limit"]
F = TypeVar("F", bound=Callable[..., Any])
_CLIENT_OPTIONS = ("url", "socket", "api_key", "api_key_file", "timeout", "on_error", "max_connections", "ca_file",
                   "client_certificate", "client_key")
_SETTINGS = ("key", "cost", "exempt", "routes", "max_delay", "keep_alive")


class RateLimitExceeded(Exception):
    """A request may not go on. The middleware makes a response of it; `result` has application-kit's four numbers."""

    def __init__(self, decision: Decision) -> None:
        super().__init__("the rate limit is exceeded" if decision.decided else "the rate limiter is unavailable")
        self.decision = decision

    @property
    def result(self) -> RateLimitResult:
        """The numbers."""
        return RateLimitResult.of(self.decision)


def _configured() -> dict[str, Any]:
    given: dict[str, Any] = getattr(django_settings, "SLUICE", None) or {}
    unknown = set(given) - {*_CLIENT_OPTIONS, *_SETTINGS, "check_all", "on_denied"}
    if unknown:
        raise ValueError(f"settings.SLUICE has {', '.join(sorted(unknown))}, which is no option")
    return given


@functools.cache
def client() -> Client:
    """The client of sync views, with the options of settings.SLUICE."""
    return Client(**{name: value for name, value in _configured().items() if name in _CLIENT_OPTIONS})


@functools.cache
def async_client() -> AsyncClient:
    """The client of async views."""
    return AsyncClient(**{name: value for name, value in _configured().items() if name in _CLIENT_OPTIONS})


def endpoint_of(request: HttpRequest) -> str:
    """The pattern of a request's URL."""
    match = _match(request)
    return _web.UNMATCHED if match is None else _web.pattern(match.route)


def _match(request: HttpRequest) -> Any:
    match = getattr(request, "resolver_match", None)
    if match is not None:
        return match
    try:
        return resolve(request.path_info, getattr(request, "urlconf", None))
    except Resolver404:
        return None


def refuse(request: HttpRequest, decision: Decision) -> HttpResponse:
    """The response to a request that may not go on."""
    handler = _configured().get("on_denied")
    if handler is not None:
        return handler(request, decision)
    refusal = _web.denial(decision, request.headers.get("accept", ""))
    return HttpResponse(refusal.body, status=refusal.status, headers=refusal.headers)


class SluiceMiddleware:
    """Checks every request whose view has no `rate_limit`, unless settings.SLUICE has `check_all: False`; and makes responses of
    RateLimitExceeded. settings.SLUICE may have the options of a client, `key`, `cost`, `exempt`, `routes`, `max_delay`,
    `keep_alive` and `on_denied`. `request.sluice` is the decision."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self._get_response = get_response
        given = _configured()
        self._all = bool(given.get("check_all", True))
        self._settings: Settings[HttpRequest] = Settings(**{name: value for name, value in given.items() if name in _SETTINGS})
        self._is_async = iscoroutinefunction(get_response)
        if self._is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        if self._is_async:
            return self._async_call(request)
        rule = self._rule(request)
        if rule is None:
            return self._get_response(request)
        return _run(client(), self._settings, rule, request, lambda: self._get_response(request), refuse)

    async def _async_call(self, request: HttpRequest) -> Any:
        rule = self._rule(request)
        if rule is None:
            return await self._get_response(request)
        return await _run_async(async_client(), self._settings, rule, request, lambda: self._get_response(request), refuse)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Django calls it when a view raises."""
        return refuse(request, error.decision) if isinstance(error, RateLimitExceeded) else None

    def _rule(self, request: HttpRequest) -> Rule[HttpRequest] | None:
        """How a request is checked; None if it is not."""
        if not self._all:
            return None
        match = _match(request)
        if match is not None and getattr(match.func, "_sluice_limited", False):
            return None
        endpoint, method = endpoint_of(request), str(request.method)
        rule = self._settings.rule(method, endpoint)
        return None if self._settings.is_exempt(request, method, endpoint, rule) else rule


def rate_limit(max_requests: int | None = None, expiry: int | None = None, *, resource: Text[HttpRequest] = None,
               key: Text[HttpRequest] = None, cost: Number[HttpRequest] = 1, plan_id: str | None = None,
               max_delay: float = _web.MAX_DELAY, keep_alive: bool = True) -> Callable[[F], F]:
    """A decorator for views, sync or async. A denial raises RateLimitExceeded, which the middleware answers.

    `max_requests` and `expiry` (seconds), as application-kit has them, name the plan that decides: `100-per-60s`. Responses have its headers.
    """
    if (max_requests is None) != (expiry is None):
        raise ValueError("`max_requests` and `expiry` name a plan together: give both, or `plan_id`")
    if max_requests is not None and plan_id is None:
        plan_id = f"{max_requests}-per-{expiry}s"
    settings: Settings[HttpRequest] = Settings(None, cost, max_delay=max_delay, keep_alive=keep_alive, kit_headers=max_requests is not None)
    rule: Rule[HttpRequest] = Rule(resource, key, cost, plan_id)

    def decorate(view: F) -> F:
        if inspect.iscoroutinefunction(view):
            @functools.wraps(view)
            async def call(request: HttpRequest, *args: Any, **named: Any) -> Any:
                return await _run_async(async_client(), settings, rule, request, lambda: view(request, *args, **named), _raise)
        else:
            @functools.wraps(view)
            def call(request: HttpRequest, *args: Any, **named: Any) -> Any:
                return _run(client(), settings, rule, request, lambda: view(request, *args, **named), _raise)
        setattr(call, "_sluice_limited", True)
        return cast(F, call)

    return decorate


def _raise(_: HttpRequest, decision: Decision) -> HttpResponse:
    raise RateLimitExceeded(decision)


Refuse = Callable[[HttpRequest, Decision], HttpResponse]


def _fields(settings: Settings[HttpRequest], rule: Rule[HttpRequest], request: HttpRequest) -> dict[str, Any]:
    return settings.check(request, str(request.method), endpoint_of(request), request.META.get("REMOTE_ADDR"), rule)


def _trace(request: HttpRequest) -> dict[str, str]:
    return _core.incoming_trace(request.headers.get("traceparent"), request.headers.get("tracestate"))


def _failed(error: SluiceError) -> Decision:
    return Decision(False, "error", "deny", would_allow=False, status=error.status, decided=False, error=error)


def _run(asked: Client, settings: Settings[HttpRequest], rule: Rule[HttpRequest], request: HttpRequest, handle: Callable[[], Any],
         refused: Refuse) -> Any:
    try:
        decision = asked.check(**_fields(settings, rule, request), **_trace(request))
    except SluiceError as error:   # on_error is raise
        decision = _failed(error)
    decision = settings.judged(decision)
    request.sluice = decision
    if decision.over_limit:
        _core.mark_span(endpoint_of(request))
    lease = Lease(asked, decision, settings.keep_alive and decision.allowed)
    if not decision.allowed:
        lease.end()   # that of a delay that is too long
        return refused(request, decision)
    try:
        if decision.delay > 0:
            time.sleep(decision.delay)
        response = handle()
    except BaseException:
        lease.end()
        raise
    _finish(response, decision, lease.end if lease.lease_id is not None else None)
    return response


async def _run_async(asked: AsyncClient, settings: Settings[HttpRequest], rule: Rule[HttpRequest], request: HttpRequest,
                     handle: Callable[[], Any], refused: Refuse) -> Any:
    try:
        trace = _trace(request)
        decision = await asked._check_whole(_fields(settings, rule, request), trace.get("traceparent"), trace.get("tracestate"))
    except SluiceError as error:   # on_error is raise
        decision = _failed(error)
    decision = settings.judged(decision)
    request.sluice = decision
    if decision.over_limit:
        _core.mark_span(endpoint_of(request))
    lease = AsyncLease(asked, decision, settings.keep_alive and decision.allowed)
    if not decision.allowed:
        await lease.end()   # that of a delay that is too long
        return refused(request, decision)
    try:
        if decision.delay > 0:
            await asyncio.sleep(decision.delay)
        response = await handle()
    except BaseException:
        await lease.end()
        raise
    loop = asyncio.get_running_loop()

    def end() -> None:   # Django closes a response in a thread
        asyncio.run_coroutine_threadsafe(lease.end(), loop)

    _finish(response, decision, end if lease.lease_id is not None else None)
    return response


def _finish(response: Any, decision: Decision, end: Callable[[], None] | None) -> None:
    """Adds the headers, and lets the lease end when the response has been sent or the client went away."""
    new = _web.missing(decision.headers, response.headers.keys())
    for name, value in new.items():
        response.headers[name] = value
    if new:
        response.headers["Access-Control-Expose-Headers"] = _web.expose(new, response.headers.get("Access-Control-Expose-Headers", ""))
    if end is None:
        return
    close = response.close

    def close_and_end() -> None:
        try:
            close()
        finally:
            end()

    response.close = close_and_end
