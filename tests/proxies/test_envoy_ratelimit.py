"""docs/proxies/envoy-ratelimit.md in Envoy: its rate limit filter asks the agent over gRPC."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Optional

import pytest

from proxies import scenario
from proxies.front import App, Front
from proxies.fronts import LimitedEnvoy, proxy_program
from support.agent import Agent
from support.client import Answer, Client, fresh_subject
from support.process import free_port, wait_until


def rules(requests: int) -> str:
    """A file for the page's domain."""
    return f"domain: shop\ndescriptors:\n  - key: user\n    rate_limit: {{unit: year, requests_per_unit: {requests}}}\n"


def get(front: Front, user: str, headers: Optional[Mapping[str, str]] = None) -> Answer:
    """A request of this user."""
    with Client(front.port) as client:
        return client.request("GET", "/orders", headers={"x-user": user, **(headers or {})})


class RefundingEnvoy(LimitedEnvoy):
    """Envoy that gives hits back."""

    def configured(self, files: dict[str, str]) -> dict[str, str]:
        domain = "              domain: shop\n"
        assert files["envoy.yaml"].count(domain) == 1
        limit = ("{actions: [{request_headers: {header_name: x-user, descriptor_key: user}}],"
                 " hits_addend: {number: 1, is_negative_hits: true}}")
        return {"envoy.yaml": files["envoy.yaml"].replace(domain, f"{domain}              rate_limits: [{limit}]\n")}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The folder of --ratelimit-config."""
    folder = tmp_path / "ratelimit"
    folder.mkdir()
    (folder / "shop.yaml").write_text(rules(2))
    return folder


@pytest.fixture
def make_envoy(program: Path, tmp_path: Path, app: App, files: Path) -> Iterator[Callable[[str], tuple[LimitedEnvoy, Agent]]]:
    """Starts an agent that has only the files, and an Envoy that asks it."""
    made: list[Front | Agent] = []

    def make(variant: str = "", kind: type[LimitedEnvoy] = LimitedEnvoy) -> tuple[LimitedEnvoy, Agent]:
        port = free_port()
        agent = Agent(program, tmp_path / "agent", None, "memory", ["--ratelimit-config", str(files), "--grpc", f"127.0.0.1:{port}"])
        made.append(agent)
        agent.start()
        front = kind(proxy_program("envoy"), tmp_path / "front", variant, agent.port, app.port, port)
        made.append(front)
        front.start()
        return front, agent

    yield make
    for each in reversed(made):
        each.close()


def test_envoy_limits_by_the_files_follows_them_and_fails_closed(make_envoy: Callable[..., tuple[LimitedEnvoy, Agent]],
                                                                 files: Path) -> None:
    front, agent = make_envoy()
    user = fresh_subject()
    answers = [get(front, user) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    assert [answer.header("x-ratelimit-remaining") for answer in answers] == ["1", "0", "0"]
    assert str(answers[0].header("x-ratelimit-limit")).startswith("2, 2;w=")
    assert get(front, user, scenario.FORGED).status == 429
    assert get(front, fresh_subject()).status == 200, "another user has a count of its own"

    (files / "shop.yaml").write_text(rules(3))
    assert wait_until("the new limit", lambda: get(front, user).status == 200)
    (files / "shop.yaml").write_text("domain: shop\ndescriptors: [{kee: user}]\n")
    wait_until("the refusal of faulty files", lambda: agent.metric("sluice_ratelimit_config_refused") == 1)
    assert get(front, fresh_subject()).status == 200 and get(front, user).status == 429

    agent.stop()
    assert get(front, fresh_subject()).status == 503


def test_envoy_fails_open_where_the_page_says_so(make_envoy: Callable[..., tuple[LimitedEnvoy, Agent]]) -> None:
    front, agent = make_envoy("fail-open")
    user = fresh_subject()
    assert [get(front, user).status for _ in range(3)] == [200, 200, 429]
    agent.stop()
    assert get(front, user).status == 200



def test_hits_that_envoy_gives_back_are_refused_and_not_charged(make_envoy: Callable[..., tuple[LimitedEnvoy, Agent]]) -> None:
    front, agent = make_envoy(kind=RefundingEnvoy)
    assert get(front, fresh_subject()).status == 503
    assert agent.metric("sluice_ratelimit_requests_total", outcome="invalid") == 1
    assert agent.metric("sluice_ratelimit_requests_total", outcome="ok") == 0
