"""docs/proxies/traefik.md in Traefik."""

import signal
from collections.abc import Callable

from proxies import scenario
from proxies.front import App, Front
from proxies.fronts import Traefik
from proxies.policies import Policies
from support.agent import Agent
from support.process import freeze


def test_the_page_limits_as_it_says_and_fails_closed(make_front: Callable[..., Front], app: App, gate: Agent,
                                                     policies: Policies) -> None:
    front = make_front(Traefik)
    scenario.decides(front, app, policies)
    scenario.believes_no_client(front, policies)
    scenario.passes_requests_on(front, app)
    scenario.follows_changes(front, policies)
    scenario.fails_closed(front, app, gate, policies, 500)


def test_it_fails_open_where_the_page_says_so(make_front: Callable[..., Front], app: App, gate: Agent, policies: Policies) -> None:
    front = make_front(Traefik, "fail-open")
    scenario.decides(front, app, policies)
    scenario.believes_no_client(front, policies)
    # A request that waits for an agent that hangs is answered, before or after the health check has seen it.
    freeze(gate.process.pid)
    answer = scenario.ask(front, scenario.fresh_client())
    gate.process.send(signal.SIGCONT)
    assert answer.status in (504, 200) and answer.seconds < 5, answer
    scenario.fails_open(front, app, gate, policies)


def test_clients_see_the_status_of_an_agent_that_refuses_the_proxy(make_front: Callable[..., Front], policies: Policies) -> None:
    scenario.stops_what_cannot_be_judged(make_front(Traefik, "fail-open"), policies, 401, challenged=True)
