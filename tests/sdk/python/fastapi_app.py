"""The application of the tests, by FastAPI. Its routes are those of the other applications."""

import asyncio
from collections.abc import AsyncIterator

import sluice
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from sluice.fastapi import (PathRateLimiter, ProjectRateLimiter, RateLimit, Rule, SluiceMiddleware, apply_element_rate_limit,
                            apply_rate_limit, rate_limit)


def key(request: Request) -> "str | None":
    return request.headers.get("x-user")


app = FastAPI()
app.state.sluice = sluice.AsyncClient()
app.add_middleware(SluiceMiddleware, key=key, exempt=["/healthz", "/decorated/{name}", "/depends/{name}", "/depends-stream", "/depends-fail", "/project", "/path", "/applied",
                                                     "/elements"],
                   routes={"GET:/costly": Rule(cost=3), "/renamed": Rule(resource="other-name", key="everybody")})
router = APIRouter(prefix="/orders")
inner = FastAPI()


@app.get("/users/{name}")
async def user(name: str, request: Request) -> dict[str, object]:
    return {"name": name, "remaining": request.state.sluice.remaining}


@app.get("/files/{name:path}")
def file(name: str) -> dict[str, str]:
    return {"name": name}


@app.get("/healthz")
@app.get("/costly")
@app.get("/renamed")
@app.get("/shadowed")
@app.get("/delayed")
def plain() -> dict[str, bool]:
    return {"ok": True}


@app.get("/own-headers")
def own_headers() -> Response:
    return JSONResponse({}, headers={"X-RateLimit-Limit": "mine", "Access-Control-Expose-Headers": "X-Own"})


@app.get("/fail")
def fail() -> None:
    raise OSError("as the test wants")


@app.get("/leased")
async def leased() -> dict[str, bool]:
    return {"ok": True}


@app.get("/stream")
async def stream() -> StreamingResponse:
    async def parts() -> AsyncIterator[bytes]:
        while True:
            yield b"more\n" * 100
            await asyncio.sleep(0.02)

    return StreamingResponse(parts())


@app.get("/decorated/{name}")
@rate_limit(key=key)
async def decorated(name: str) -> Response:
    if name == "fail":
        raise OSError("as the test wants")
    return JSONResponse({"name": name})


@app.get("/depends/{name}", dependencies=[Depends(RateLimit(key=key))])
def depends(name: str) -> dict[str, str]:
    return {"name": name}


@app.get("/depends-stream", dependencies=[Depends(RateLimit(key=key, resource="GET:/stream"))])
async def depends_stream() -> StreamingResponse:
    return await stream()


@app.get("/depends-fail", dependencies=[Depends(RateLimit(key=key, resource="GET:/fail"))])
async def depends_fail() -> None:
    fail()


@app.get("/project", dependencies=[Depends(ProjectRateLimiter(max_requests=5, expiry=3600))])
def project() -> dict[str, bool]:
    return {"ok": True}


@app.get("/path", dependencies=[Depends(PathRateLimiter(max_requests=5, expiry=3600))])
def path() -> dict[str, bool]:
    return {"ok": True}


@app.get("/applied")
async def applied(request: Request, response: Response) -> dict[str, object]:
    result = await apply_rate_limit(request, response, max_requests=5, expiry=3600, key=key(request))
    return {"remaining": result.remaining, "over": result.is_over_limit, "count": result.request_count, "max": result.max_requests}


@app.get("/elements")
async def elements(request: Request, response: Response, count: int) -> dict[str, object]:
    result = await apply_element_rate_limit(request, response, max_requests=5, expiry=3600, increment_amount=count, key=key(request))
    return {"remaining": result.remaining}


@router.get("/{number}/lines")
def lines(number: int) -> dict[str, int]:
    return {"number": number}


@inner.get("/deep/{name}")
def deep(name: str) -> dict[str, str]:
    return {"name": name}


app.include_router(router)
app.mount("/inner", inner)
