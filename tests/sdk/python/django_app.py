"""The application of the tests, by Django: `wsgi` and `asgi`. Its routes are those of the other applications."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from sluice.django import Rule


def key(request: Any) -> "str | None":
    found: "str | None" = request.headers.get("x-user")
    return found


settings.configure(ROOT_URLCONF=__name__, SECRET_KEY="of-a-test", ALLOWED_HOSTS=["*"], USE_TZ=True,
                   MIDDLEWARE=["sluice.django.SluiceMiddleware"],
                   SLUICE={"key": key, "exempt": ["/healthz"],
                           "routes": {"GET:/costly": Rule(cost=3), "/renamed": Rule(resource="other-name", key="everybody")}})

import django   # noqa: E402
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse   # noqa: E402
from django.urls import include, path, re_path   # noqa: E402
from sluice.django import rate_limit   # noqa: E402

django.setup()


def user(request: HttpRequest, name: str) -> HttpResponse:
    return JsonResponse({"name": name, "remaining": request.sluice.remaining})   # type: ignore[attr-defined]


def named(_: HttpRequest, name: str) -> HttpResponse:
    return JsonResponse({"name": name})


def plain(_: HttpRequest) -> HttpResponse:
    return JsonResponse({"ok": True})


def own_headers(_: HttpRequest) -> HttpResponse:
    return JsonResponse({}, headers={"X-RateLimit-Limit": "mine", "Access-Control-Expose-Headers": "X-Own"})


def fail(_: HttpRequest) -> HttpResponse:
    raise OSError("as the test wants")


def stream(_: HttpRequest) -> StreamingHttpResponse:
    def parts() -> Iterator[bytes]:
        while True:
            yield b"more\n" * 100
            time.sleep(0.02)

    return StreamingHttpResponse(parts())


async def stream_async(_: HttpRequest) -> StreamingHttpResponse:
    async def parts() -> AsyncIterator[bytes]:
        while True:
            yield b"more\n" * 100
            await asyncio.sleep(0.02)

    return StreamingHttpResponse(parts())


@rate_limit(key=key)
def decorated(_: HttpRequest, name: str) -> HttpResponse:
    if name == "fail":
        raise OSError("as the test wants")
    return JsonResponse({"name": name})


@rate_limit(key=key)
async def decorated_async(_: HttpRequest, name: str) -> HttpResponse:
    await asyncio.sleep(0)
    if name == "fail":
        raise OSError("as the test wants")
    return JsonResponse({"name": name})


@rate_limit(max_requests=5, expiry=3600, key=key)
def applied(_: HttpRequest) -> HttpResponse:
    return JsonResponse({"ok": True})


def lines(_: HttpRequest, number: int) -> HttpResponse:
    return JsonResponse({"number": number})


urlpatterns = [
    path("users/<str:name>", user), path("files/<path:name>", named), path("own-headers", own_headers), path("fail", fail),
    *(path(name, plain) for name in ("healthz", "costly", "renamed", "shadowed", "delayed", "leased")),
    path("stream", stream), path("stream-async", stream_async), path("decorated/<str:name>", decorated),
    path("decorated-async/<str:name>", decorated_async), path("applied", applied),
    path("orders/", include([path("<int:number>/lines", lines)])), re_path(r"^old/(?P<name>[a-z]{1,9})/$", named),
]
wsgi = get_wsgi_application()
asgi = get_asgi_application()
