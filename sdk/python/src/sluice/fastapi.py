"""FastAPI and Starlette: a middleware, a dependency, a decorator, and entry points by the names of application-kit.

    app.add_middleware(SluiceMiddleware)                                        # every request
    @app.get("/orders", dependencies=[Depends(RateLimit(cost=5))])              # one route
    @app.get("/users/{id}") @rate_limit(key=lambda request: ...)                # the same
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

from fastapi import Depends, HTTPException, Request, Response
from starlette.datastructures import MutableHeaders
from starlette.routing import Host, Match, Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sluice import _core, _web
from sluice._async import AsyncClient, AsyncLease
from sluice._decision import Decision, RateLimitResult
from sluice._errors import SluiceError
from sluice._web import Exempt, Number, Rule, Settings, Text

__all__ = ["PathRateLimiter", "ProjectRateLimiter", "RateLimit", "RateLimitExceeded", "Rule", "SluiceMiddleware",
           "apply_element_rate_limit", "apply_rate_limit", "rate_limit"]
F = TypeVar("F", bound=Callable[..., Any])
Denied = Callable[[Request, Decision], Response]

_default: AsyncClient | None = None


def client_of(request: Request) -> AsyncClient:
    """The client of an application: `app.state.sluice`, else one that the environment describes."""
    global _default
    found = getattr(request.app.state, "sluice", None) if "app" in request.scope else None
    if isinstance(found, AsyncClient):
        return found
    if _default is None:
        _default = AsyncClient()
    return _default


class RateLimitExceeded(HTTPException):
    """A request may not go on. Without a handler of the application's own it becomes 429, or 503, with problem+json."""

    def __init__(self, decision: Decision) -> None:
        refusal = _web.denial(decision)
        super().__init__(refusal.status, "The rate limit is exceeded." if refusal.status == 429 else "The rate limiter is unavailable.",
                         {name: value for name, value in refusal.headers.items() if name != "Content-Type"})
        self.decision = decision


def respond(request: Request, error: Exception) -> Response:
    """The handler of RateLimitExceeded: `app.add_exception_handler(RateLimitExceeded, respond)`. It is there by itself."""
    assert isinstance(error, RateLimitExceeded)
    return _refusal(request, error.decision)


def _refusal(request: Request, decision: Decision) -> Response:
    refusal = _web.denial(decision, request.headers.get("accept", ""))
    return Response(refusal.body, refusal.status, refusal.headers)


def endpoint_of(scope: Scope) -> str:
    """The pattern of the route that a request will take."""
    route = scope.get("route")
    path = getattr(route, "path", None)
    if isinstance(path, str):   # routing is over
        # Where FastAPI keeps included routers as they are, the route's own path lacks their prefix.
        context = scope.get("fastapi", {}).get("effective_route_context")
        if context is not None and getattr(context, "original_route", None) is route and isinstance(getattr(context, "path", None), str):
            path = context.path
        return _web.pattern(_prefix(scope) + path)
    app = scope.get("app")
    found = _find(getattr(app, "routes", []), dict(scope)) if app is not None else None
    return _web.UNMATCHED if found is None else _web.pattern(found[0])


def _prefix(scope: Scope) -> str:
    """Where the application of this route is mounted. A root_path of the server's own is no part of the pattern."""
    root, outer = str(scope.get("root_path", "")), str(scope.get("app_root_path", ""))
    return root[len(outer):] if outer and root.startswith(outer) else ""


def _find(routes: Any, scope: dict[str, Any]) -> tuple[str, bool] | None:
    """The first route that matches with its method, else the first whose method differs: that one answers 405."""
    partial: tuple[str, bool] | None = None
    for candidate in routes:
        found = _match(candidate, scope)
        if found is not None and found[1]:
            return found
        partial = partial or found
    return partial


def _match(candidate: Any, scope: dict[str, Any]) -> tuple[str, bool] | None:
    """The path of a route that matches, and whether its method does too."""
    included = getattr(candidate, "effective_candidates", None)
    if callable(included):   # an included router of newer versions of FastAPI
        return _find(included(), scope)
    match, child = candidate.matches(scope)
    if match == Match.NONE:
        return None
    route = getattr(candidate, "starlette_route", None) or candidate
    path = str(getattr(route, "path", "") or "")
    if isinstance(route, (Host, Mount)):
        inner = _find(route.routes or [], {**scope, **child})
        return (path + inner[0], inner[1]) if inner is not None else (path + "/{path}", True)
    return path, match == Match.FULL


async def _ask(client: AsyncClient, settings: Settings[Request], request: Request, rule: Rule[Request]) -> AsyncLease:
    """Checks a request, and sleeps its delay. The caller ends the lease."""
    endpoint = endpoint_of(request.scope)
    fields = settings.check(request, request.method, endpoint, request.client.host if request.client else None, rule)
    trace = _core.incoming_trace(request.headers.get("traceparent"), request.headers.get("tracestate"))
    try:
        decision = await client._check_whole(fields, trace.get("traceparent"), trace.get("tracestate"))
    except SluiceError as error:   # on_error is raise
        decision = _undecided(error)
    decision = settings.judged(decision)
    lease = AsyncLease(client, decision, settings.keep_alive and decision.allowed)
    try:
        if decision.over_limit:
            _core.mark_span(endpoint)
        if decision.allowed and decision.delay > 0:
            await asyncio.sleep(decision.delay)
    except BaseException:
        await lease.end()
        raise
    return lease


def _undecided(error: SluiceError) -> Decision:
    return Decision(False, "error", "deny", would_allow=False, status=error.status, decided=False, error=error)


class SluiceMiddleware:
    """Checks every request before its route runs. The arguments are those of `Rule` and `Settings`; `on_denied` makes another
    response. `request.state.sluice` is the decision."""

    def __init__(self, app: ASGIApp, client: AsyncClient | None = None, *, key: Callable[[Request], str | None] | None = None,
                 cost: Number[Request] = 1, exempt: Exempt[Request] = None, routes: Mapping[str, Rule[Request]] | None = None,
                 max_delay: float = _web.MAX_DELAY, keep_alive: bool = True, on_denied: Denied | None = None) -> None:
        self._app = app
        self._client = client
        self._settings: Settings[Request] = Settings(key, cost, exempt, routes, max_delay, keep_alive)
        self._on_denied = on_denied or _refusal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        endpoint = endpoint_of(scope)
        rule = self._settings.rule(request.method, endpoint)
        if self._settings.is_exempt(request, request.method, endpoint, rule):
            await self._app(scope, receive, send)
            return
        client = self._client or client_of(request)
        lease = await _ask(client, self._settings, request, rule)
        decision = lease.decision
        try:
            scope.setdefault("state", {})["sluice"] = decision
            if not decision.allowed:
                await self._on_denied(request, decision)(scope, receive, send)
                return

            async def send_with_headers(message: Message) -> None:
                if message["type"] == "http.response.start":
                    _add_headers(MutableHeaders(scope=message), decision.headers)
                await send(message)

            await self._app(scope, receive, send_with_headers)
        finally:
            await lease.end()


def _add_headers(headers: MutableHeaders, added: Mapping[str, str]) -> None:
    new = _web.missing(added, headers.keys())
    for name, value in new.items():
        headers[name] = value
    if new:
        headers["Access-Control-Expose-Headers"] = _web.expose(new, headers.get("access-control-expose-headers", ""))


class RateLimit:
    """A dependency that checks one route: `Depends(RateLimit(cost=5))`. It gives the decision.

    A handler that returns a Response of its own gets the headers only with `rate_limit` or the middleware, because FastAPI
    leaves those of dependencies out. Its lease ends when the response has been sent; FastAPI 0.106 to 0.117 end dependencies when the
    handler has returned, so there take the middleware for streams.
    """

    def __init__(self, client: AsyncClient | None = None, *, resource: Text[Request] = None, key: Text[Request] = None,
                 cost: Number[Request] = 1, plan_id: str | None = None, max_delay: float = _web.MAX_DELAY,
                 keep_alive: bool = True) -> None:
        self._client = client
        self._settings: Settings[Request] = Settings(None, cost, max_delay=max_delay, keep_alive=keep_alive)
        self._rule: Rule[Request] = Rule(resource, key, cost, plan_id)

    async def __call__(self, request: Request, response: Response) -> AsyncIterator[Decision]:
        client = self._client or client_of(request)
        lease = await _ask(client, self._settings, request, self._rule_of(request))
        decision = lease.decision
        try:
            request.state.sluice = decision
            if not decision.allowed:
                _register(request)
                raise RateLimitExceeded(decision)
            _add_headers(response.headers, decision.headers)
            yield decision
        finally:
            await lease.end()

    def _rule_of(self, request: Request) -> Rule[Request]:
        return self._rule


def _register(request: Request) -> None:
    """Lets RateLimitExceeded be a problem+json without an installation. Starlette hands its handlers to each request."""
    handlers = request.scope.get("starlette.exception_handlers")
    if isinstance(handlers, tuple) and handlers and isinstance(handlers[0], dict):
        handlers[0].setdefault(RateLimitExceeded, respond)


def rate_limit(client: AsyncClient | None = None, **options: Any) -> Callable[[F], F]:
    """A decorator for handlers, below that of the route. The arguments are those of `RateLimit`."""
    limit = RateLimit(client, **options)

    def decorate(function: F) -> F:
        try:
            signature = inspect.signature(function, eval_str=True)
        except NameError:
            signature = inspect.signature(function)

        def finish(result: Any, decision: Decision) -> Any:
            if isinstance(result, Response):
                _add_headers(result.headers, decision.headers)
            return result

        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def call(*args: Any, sluice_decision: Decision, **named: Any) -> Any:
                return finish(await function(*args, **named), sluice_decision)
        else:
            @functools.wraps(function)
            def call(*args: Any, sluice_decision: Decision, **named: Any) -> Any:
                return finish(function(*args, **named), sluice_decision)

        added = inspect.Parameter("sluice_decision", inspect.Parameter.KEYWORD_ONLY, default=Depends(limit), annotation=Any)
        parameters = list(signature.parameters.values())
        at = next((place for place, one in enumerate(parameters) if one.kind is inspect.Parameter.VAR_KEYWORD), len(parameters))
        setattr(call, "__signature__", signature.replace(parameters=[*parameters[:at], added, *parameters[at:]]))
        return cast(F, call)

    return decorate


class PathRateLimiter(RateLimit):
    """application-kit's: one counter for the route, whoever calls.

    `max_requests` and `expiry` (seconds) name the plan that decides, `100-per-60s`, unless `plan_id` does. Sluice has the plan.
    """

    def __init__(self, max_requests: int, expiry: int, *, plan_id: str | None = None, increment_amount: Number[Request] = 1,
                 client: AsyncClient | None = None) -> None:
        super().__init__(client, key=self.make_key, cost=increment_amount, plan_id=plan_id or plan_of(max_requests, expiry))
        self._settings = replace(self._settings, kit_headers=True)

    def make_key(self, request: Request) -> str | None:
        """The subject that is counted. May be overridden."""
        return f"path:{endpoint_of(request.scope)}"


class ProjectRateLimiter(PathRateLimiter):
    """application-kit's: a counter for each project and route."""

    def make_key(self, request: Request) -> str | None:
        """The subject that is counted: `make_override_key` and the route. May be overridden."""
        identity = self.make_override_key(request)
        return f"{identity}:{endpoint_of(request.scope)}" if identity is not None else None

    def make_override_key(self, request: Request) -> str | None:
        """Who calls: the project in the request's state or path, else the client's address. May be overridden."""
        project = getattr(request.state, "project_id", None) or request.path_params.get("project_id")
        return f"project:{project}" if project is not None else _web.subject_of(request.client.host if request.client else None)


def plan_of(max_requests: int, expiry: int) -> str:
    """The name of the plan that application-kit's two numbers stand for."""
    return f"{max_requests}-per-{expiry}s"


async def apply_rate_limit(request: Request, response: Response, *, max_requests: int, expiry: int, key: str | None = None,
                           plan_id: str | None = None, client: AsyncClient | None = None) -> RateLimitResult:
    """application-kit's: checks now. Raises RateLimitExceeded."""
    return await apply_element_rate_limit(request, response, max_requests=max_requests, expiry=expiry, increment_amount=1, key=key,
                                          plan_id=plan_id, client=client)


async def apply_element_rate_limit(request: Request, response: Response, *, max_requests: int, expiry: int, increment_amount: int,
                                   key: str | None = None, plan_id: str | None = None,
                                   client: AsyncClient | None = None) -> RateLimitResult:
    """application-kit's: as `apply_rate_limit`, for so many elements at once. Such a plan must take no leases: nothing would
    give them back."""
    limiter = ProjectRateLimiter(max_requests, expiry)
    rule: Rule[Request] = Rule(key=key if key is not None else limiter.make_key, cost=increment_amount,
                               plan_id=plan_id or plan_of(max_requests, expiry))
    lease = await _ask(client or client_of(request), Settings(keep_alive=False, kit_headers=True), request, rule)
    decision = lease.decision
    if not decision.allowed:
        await lease.end()   # that of a delay that is too long
        _register(request)
        raise RateLimitExceeded(decision)
    _add_headers(response.headers, decision.headers)
    return RateLimitResult.of(decision)
