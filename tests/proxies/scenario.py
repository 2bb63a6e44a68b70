"""What every proxy must do with its page's configuration, asked from outside."""

import itertools
import signal
from collections.abc import Mapping
from typing import Optional

from proxies.front import App, Front
from proxies.policies import Policies
from support.agent import Agent
from support.client import Answer, Client
from support.process import freeze, wait_until

# What a client may invent, so that another path, client or key would be counted.
FORGED = {"X-Forwarded-For": "6.6.6.6", "X-Real-IP": "6.6.6.6", "Forwarded": "for=6.6.6.6", "X-Original-URI": "/free",
          "X-Original-URL": "http://a/free", "X-Original-Method": "DELETE", "X-Forwarded-Uri": "/free",
          "X-Forwarded-Method": "DELETE", "X-Forwarded-Host": "free.example", "X-Api-Key": "of-the-application"}

_clients = itertools.count(20)


def fresh_client() -> str:
    """An address of the loopback that nobody used yet."""
    number = next(_clients)
    return f"127.0.{number >> 8}.{number & 255}"


def ask(front: Front, client: str, path: str = "/orders", method: str = "GET", headers: Optional[Mapping[str, str]] = None,
        body: Optional[str] = None) -> Answer:
    """One request of a client from this address, on a connection of its own."""
    with Client(front.port, source=client) as connection:
        return connection.request(method, path, body, headers)


def spend(front: Front, client: str, times: int) -> list[Answer]:
    """So many requests in a row."""
    return [ask(front, client) for _ in range(times)]


def limit_of(front: Front) -> int:
    """The limit that a new client meets."""
    client = fresh_client()
    answer = ask(front, client)
    if front.tells_limits:
        return int(answer.headers["x-ratelimit-limit"])
    for allowed in itertools.count():
        if answer.status != 200:
            return allowed
        answer = ask(front, client)
    raise AssertionError


def decides(front: Front, app: App, policies: Policies) -> None:
    """Allowed up to the limit, with headers where the proxy gives them to the client; then 429 with the wait, and the
    application sees nothing of it."""
    client = fresh_client()
    allowed = spend(front, client, policies.limit)
    assert [answer.status for answer in allowed] == [200] * policies.limit, allowed
    assert allowed[0].body == "app\n"
    if front.tells_limits:
        assert allowed[0].headers["x-ratelimit-limit"] == str(policies.limit)
        left = [int(answer.headers["x-ratelimit-remaining"]) for answer in allowed]
        assert left == list(reversed(range(policies.limit)))
    assert all("retry-after" not in answer.headers for answer in allowed)
    reached = len(app.seen("/orders"))
    denied = ask(front, client)
    assert denied.status == 429, denied
    assert 0 < int(denied.headers["retry-after"]) <= 60
    assert denied.headers["x-ratelimit-limit"] == str(policies.limit)
    assert denied.headers["x-ratelimit-remaining"] == "0"
    assert len(app.seen("/orders")) == reached
    assert ask(front, client, "/other").status == 200   # another route is not limited
    assert ask(front, fresh_client()).status == 200      # nor is another client


def believes_no_client(front: Front, policies: Policies) -> None:
    """Headers that a client invents change neither who is counted nor what for."""
    client = fresh_client()
    for _ in range(policies.limit):
        assert ask(front, client, headers=FORGED).status == 200
    for name, value in FORGED.items():
        assert ask(front, client, headers={name: value}).status == 429, name
    assert ask(front, client, headers=FORGED).status == 429
    assert ask(front, client, "/orders?page=2").status == 429
    assert ask(front, client, "//orders/../%6frders").status == 429


def passes_requests_on(front: Front, app: App) -> None:
    """The application gets the request as it was, and what it answers arrives."""
    client = fresh_client()
    assert ask(front, client, "/posted?a=b", "POST", body="x" * 5_000).status == 200
    assert ask(front, client, "/posted/head", "HEAD").status == 200
    seen = app.seen("/posted")
    assert len(seen) == 2 and seen[0].startswith("POST /posted?a=b ") and seen[1].startswith("HEAD /posted/head ")
    assert "slk_" not in "".join(seen)
    assert ask(front, client, "/broken").status == 500
    assert len(app.seen("/broken")) == 1
    assert ask(front, client, "/long/" + "a" * 3_000).status == 200


def follows_changes(front: Front, policies: Policies) -> None:
    """A changed policy holds for the next requests, without a reload of the proxy."""
    client = fresh_client()
    before = policies.limit
    assert [answer.status for answer in spend(front, client, before + 1)] == [200] * before + [429]
    policies.set_limit(before + 20)
    wait_until("the new limit", lambda: limit_of(front) == before + 20, 20)
    policies.set_limit(before)
    wait_until("the former limit", lambda: limit_of(front) == before, 20)


def fails_closed(front: Front, app: App, gate: Agent, policies: Policies, status: int) -> None:
    """Without the agent nothing passes; with it everything does again."""
    gate.stop()
    reached = len(app.seen("/orders"))
    answers = spend(front, fresh_client(), 3)
    assert [answer.status for answer in answers] == [status] * 3, answers
    assert "www-authenticate" not in answers[0].headers
    assert len(app.seen("/orders")) == reached
    gate.start()
    client = fresh_client()
    wait_until("the agent's decisions", lambda: ask(front, client, "/other").status == 200, 20)
    assert limit_of(front) == policies.limit


def notices_the_absence(front: Front) -> None:
    """What a proxy answers until its health check has seen that the agent is away is an error, and then no more."""
    client = fresh_client()
    statuses: list[int] = []

    def passes() -> bool:
        statuses.append(ask(front, client, "/noticed").status)
        return statuses[-1] == 200

    wait_until("the proxy's notice of the agent's absence", passes, 10 * front.open_after)
    assert set(statuses[:-1]) <= {502}, statuses


def waits_for_a_hanging_agent(front: Front, gate: Agent, status: int) -> None:
    """A second, as the pages say, and no longer."""
    freeze(gate.process.pid)
    answer = ask(front, fresh_client())
    gate.process.send(signal.SIGCONT)
    assert answer.status == status and 0.5 < answer.seconds < 5, answer


def fails_open(front: Front, app: App, gate: Agent, policies: Policies) -> None:
    """Without the agent everything passes once; with it limits hold again."""
    gate.stop()
    if front.open_after:
        notices_the_absence(front)
    reached = len(app.seen("/orders"))
    client = fresh_client()
    answers = spend(front, client, policies.limit + 3)
    assert [answer.status for answer in answers] == [200] * (policies.limit + 3), answers
    assert answers[0].body == "app\n"
    assert len(app.seen("/orders")) == reached + policies.limit + 3
    assert ask(front, client, "/posted?open", "POST", body="x" * 5_000).status == 200
    assert ask(front, client, "/broken").status == 500
    assert len(app.seen("/broken")) == 1, "a request was repeated"
    gate.start()
    wait_until("the agent's decisions", lambda: spend(front, fresh_client(), policies.limit + 1)[-1].status == 429, 20)
    client = fresh_client()
    assert [answer.status for answer in spend(front, client, policies.limit + 1)] == [200] * policies.limit + [429]


def stops_what_cannot_be_judged(front: Front, policies: Policies, status: int = 503, challenged: bool = False) -> None:
    """An agent that answers, but refuses the proxy itself, lets nothing pass. Only a proxy that gives clients the agent's 401
    as it is shows them its challenge."""
    policies.document["keys"] = []
    policies.write()
    client = fresh_client()
    wait_until("the refusal", lambda: ask(front, client, "/other").status == status, 20)
    assert ("www-authenticate" in ask(front, client, "/other").headers) == challenged
