"""docs/proxies/envoy.md in Envoy."""

from collections.abc import Callable

from proxies import scenario
from proxies.front import App, Front
from proxies.fronts import Envoy
from proxies.policies import Policies
from support.agent import Agent
from support.process import wait_until


def test_the_page_limits_as_it_says_and_fails_closed(make_front: Callable[..., Front], app: App, gate: Agent,
                                                     policies: Policies) -> None:
    front = make_front(Envoy)
    scenario.decides(front, app, policies)
    scenario.believes_no_client(front, policies)
    scenario.passes_requests_on(front, app)
    scenario.follows_changes(front, policies)
    scenario.waits_for_a_hanging_agent(front, gate, 503)
    scenario.fails_closed(front, app, gate, policies, 503)


def test_it_fails_open_where_the_page_says_so(make_front: Callable[..., Front], app: App, gate: Agent, policies: Policies) -> None:
    front = make_front(Envoy, "fail-open")
    scenario.decides(front, app, policies)
    scenario.believes_no_client(front, policies)
    scenario.waits_for_a_hanging_agent(front, gate, 200)
    scenario.fails_open(front, app, gate, policies)


def test_clients_see_the_status_of_an_agent_that_refuses_the_proxy(make_front: Callable[..., Front], policies: Policies) -> None:
    scenario.stops_what_cannot_be_judged(make_front(Envoy, "fail-open"), policies, 401, challenged=True)


class GrpcEnvoy(Envoy):
    """The page's configuration that asks over gRPC."""

    configuration = "envoy-grpc.yaml"

    def logged(self, path: str) -> list[str]:
        """The access log's lines for this path."""
        return [line for line in (self.folder / "output.log").read_text().splitlines() if line.startswith(path + " ")]


def test_over_grpc_it_limits_as_the_page_says_and_fails_closed(make_front: Callable[..., Front], app: App, gate: Agent,
                                                               policies: Policies) -> None:
    front = make_front(GrpcEnvoy)
    scenario.decides(front, app, policies)
    scenario.believes_no_client(front, policies)
    scenario.passes_requests_on(front, app)
    scenario.follows_changes(front, policies)
    assert gate.metric("sluice_grpc_requests_total", method="envoy.service.auth.v3.Authorization/Check", code="OK") > 40
    scenario.fails_closed(front, app, gate, policies, 503)


def test_over_grpc_the_access_log_has_the_decision(make_front: Callable[..., Front], policies: Policies) -> None:
    front = make_front(GrpcEnvoy)
    scenario.spend(front, scenario.fresh_client(), policies.limit + 1)
    expected = ["/orders 200 orders within_limit"] * policies.limit + ["/orders 429 orders limit_exceeded"]
    wait_until("the access log", lambda: front.logged("/orders") == expected)


def test_over_grpc_clients_and_applications_get_headers_that_no_client_invents(make_front: Callable[..., Front], app: App) -> None:
    front = make_front(GrpcEnvoy)
    client = scenario.fresh_client()
    answer = scenario.ask(front, client, headers={"X-RateLimit-Limit": "1000000", "X-Api-Key": "of-the-application"})
    assert answer.headers["x-ratelimit-limit"] == "5"
    assert app.seen("/orders")[-1].endswith(" of-the-application 5 4")
    scenario.ask(front, client, "/other", headers={"X-RateLimit-Limit": "1000000", "X-Api-Key": "slk_" + "shop_" + "a" * 49})
    assert app.seen("/other")[-1].endswith(" - - -")


def test_over_grpc_a_route_has_its_own_plan(make_front: Callable[..., Front], gate: Agent, policies: Policies) -> None:
    gate.flags += ["--authz-map", "x-plan=plan_id"]
    gate.stop()
    gate.start()
    front = make_front(GrpcEnvoy, "extensions")
    client = scenario.fresh_client()
    answers = [scenario.ask(front, client, "/other", headers={"x-plan": "invented"}) for _ in range(policies.limit + 1)]
    assert [answer.status for answer in answers] == [200] * policies.limit + [429]


def test_over_grpc_it_fails_open_where_the_page_says_so(make_front: Callable[..., Front], app: App, gate: Agent,
                                                        policies: Policies) -> None:
    front = make_front(GrpcEnvoy, "grpc-fail-open")
    scenario.decides(front, app, policies)
    scenario.stops_what_cannot_be_judged(front, policies, 401)
    policies.document["keys"] = [policies.key_entry]
    policies.write()
    wait_until("the key", lambda: scenario.ask(front, scenario.fresh_client(), "/other").status == 200, 20)
    scenario.fails_open(front, app, gate, policies)
