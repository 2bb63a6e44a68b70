"""The application of the tests, by Flask. Its routes are those of the other applications."""

import time
from collections.abc import Iterator

from flask import Blueprint, Flask, Request, Response, g, jsonify
from sluice.flask import Rule, Sluice, rate_limit


def key(request: Request) -> "str | None":
    return request.headers.get("x-user")


app = Flask(__name__)
Sluice(app, key=key, exempt=["/healthz"],
       routes={"GET:/costly": Rule(cost=3), "/renamed": Rule(resource="other-name", key="everybody")})
orders = Blueprint("orders", __name__, url_prefix="/orders")


@app.get("/users/<name>")
def user(name: str) -> Response:
    return jsonify(name=name, remaining=g.sluice.remaining)


@app.get("/files/<path:name>")
def file(name: str) -> Response:
    return jsonify(name=name)


@app.get("/healthz")
@app.get("/costly")
@app.get("/renamed")
@app.get("/shadowed")
@app.get("/delayed")
@app.get("/leased")
def plain() -> Response:
    return jsonify(ok=True)


@app.get("/own-headers")
def own_headers() -> Response:
    return Response("{}", headers={"X-RateLimit-Limit": "mine", "Access-Control-Expose-Headers": "X-Own"})


@app.get("/fail")
def fail() -> Response:
    raise OSError("as the test wants")


@app.get("/stream")
def stream() -> Response:
    def parts() -> Iterator[bytes]:
        while True:
            yield b"more\n" * 100
            time.sleep(0.02)

    return Response(parts())


@app.get("/decorated/<name>")
@rate_limit(key=key)
def decorated(name: str) -> Response:
    if name == "fail":
        raise OSError("as the test wants")
    return jsonify(name=name)


@app.get("/decorated-async/<name>")
@rate_limit(key=key)
async def decorated_async(name: str) -> Response:
    return jsonify(name=name)


@orders.get("/<int:number>/lines")
def lines(number: int) -> Response:
    return jsonify(number=number)


app.register_blueprint(orders)
