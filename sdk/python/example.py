"""A small shop: `uvicorn example:app`, with an agent at SLUICE_URL.

Reading costs 1, a report costs 10, and a customer has so many exports at once as the plan's concurrency limit says.
"""

from collections.abc import Iterator

from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from sluice.fastapi import Rule, SluiceMiddleware


def customer(request: Request) -> "str | None":
    """The subject that is charged; without a customer, the client's address."""
    name = request.headers.get("x-customer")
    return f"customer:{name}" if name else None


app = FastAPI()
app.add_middleware(SluiceMiddleware, key=customer, exempt=["/healthz"], routes={"GET:/reports/{month}": Rule(cost=10)})


@app.get("/healthz")
def healthz() -> dict[str, bool]:
    return {"ok": True}


@app.get("/orders/{number}")
def order(number: int, request: Request) -> dict[str, object]:
    return {"order": number, "remaining": request.state.sluice.remaining}


@app.get("/reports/{month}")
def report(month: str) -> dict[str, str]:
    return {"month": month}


@app.get("/exports")
def export() -> StreamingResponse:
    def rows() -> Iterator[str]:
        for number in range(100_000):
            yield f"{number}\n"

    return StreamingResponse(rows(), media_type="text/csv")
