"""docs/proxies/envoy.md in Envoy."""

from collections.abc import Callable

from proxies import scenario
from proxies.front import App, Front
from proxies.fronts import Envoy
from proxies.policies import Policies
from support.agent import Agent


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
    scenario.stops_what_cannot_be_judged(make_front(Envoy, "fail-open"), policies, 401)
