"""docs/proxies/haproxy.md in HAProxy."""

from collections.abc import Callable

from proxies import scenario
from proxies.front import App, Front
from proxies.policies import Policies
from support.agent import Agent


class HaProxy(Front):
    """Debian's."""

    name = "haproxy"
    paths = {"/etc/haproxy/sluice.lua": "sluice.lua"}

    def configured(self, files: dict[str, str]) -> dict[str, str]:
        # Abstract sockets are the machine's: another test may run beside this one.
        assert all("abns@sluice" in text for text in files.values())
        return {name: text.replace("abns@sluice", f"abns@sluice-{self.port}") for name, text in files.items()}

    def command(self) -> list[str]:
        return [self.program, "-db", "-f", "haproxy.cfg"]


def test_the_page_limits_as_it_says_and_fails_closed(make_front: Callable[..., Front], app: App, gate: Agent,
                                                     policies: Policies) -> None:
    front = make_front(HaProxy)
    scenario.decides(front, app, policies)
    scenario.believes_no_client(front, policies)
    scenario.passes_requests_on(front, app)
    scenario.follows_changes(front, policies)
    scenario.fails_closed(front, app, gate, 503)


def test_it_fails_open_where_the_page_says_so(make_front: Callable[..., Front], app: App, gate: Agent, policies: Policies) -> None:
    front = make_front(HaProxy, "fail-open")
    scenario.decides(front, app, policies)
    scenario.fails_open(front, app, gate, policies)


def test_an_agent_that_cannot_judge_is_not_taken_for_one_that_is_away(make_front: Callable[..., Front],
                                                                      policies: Policies) -> None:
    scenario.stops_what_cannot_be_judged(make_front(HaProxy, "fail-open"), policies)
