"""What the pages say of the proxies' own limiters, beside Sluice."""

from collections.abc import Callable, Mapping

import pytest

from proxies import scenario
from proxies.front import Front
from proxies.own import KINDS, altered

LIMIT = 5
OWN = {kind.front.name: kind for kind in KINDS if kind.own}
DENIAL = {"nginx": 503, "haproxy": 429, "traefik": 429, "envoy": 429}
TELLS = {"traefik": {"retry-after", "x-retry-in"}}


def told(headers: Mapping[str, str]) -> set[str]:
    """Which headers tell a client of a limit."""
    return {name for name in headers if "retry" in name or "ratelimit" in name}


@pytest.mark.parametrize("name", OWN)
def test_their_own_limiters_count_in_one_instance_and_tell_clients_what_the_pages_say(
        name: str, make_front: Callable[..., Front]) -> None:
    kind = OWN[name]
    assert kind.own is not None
    one, other = (make_front(altered(kind, kind.own(LIMIT + 1))) for _ in range(2))   # each is asked once at its start
    client = scenario.fresh_client()
    answers = scenario.spend(one, client, LIMIT + 3)
    statuses = [answer.status for answer in answers]
    assert statuses.count(200) >= LIMIT and statuses[-1] == DENIAL[name], statuses
    assert told(answers[0].headers) == set() and told(answers[-1].headers) == TELLS.get(name, set())
    assert scenario.ask(other, client).status == 200, "another instance counts for itself"
    # Envoy's bucket is everybody's, unless descriptors name clients.
    assert scenario.ask(one, scenario.fresh_client()).status == (429 if name == "envoy" else 200)
