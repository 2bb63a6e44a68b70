"""examples/egress_worker: calls reach a partner no faster than its policy says, measured by the partner."""

import http.server
import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.program import program_path

SECONDS = 60.0


class Partner:
    """A server that notes when each call arrives."""

    def __init__(self) -> None:
        self.arrivals: list[float] = []
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """One call."""

            def do_GET(self) -> None:  # noqa: N802 - the base class names it
                """Notes it."""
                owner.arrivals.append(time.monotonic())
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Silent."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def partner() -> Iterator[Partner]:
    """A partner, listening."""
    made = Partner()
    yield made
    made.server.shutdown()
    made.server.server_close()


def run(folder: Path, jobs: list[str], *words: str) -> subprocess.CompletedProcess[str]:
    """The worker: 5 calls a second for each partner, no two of a partner's in one moment."""
    policies = folder / "policies.json"
    policies.write_text(json.dumps({"format": "sluice/v1", "tenants": [{"id": "shop"}], "policies": [
        {"tenant_id": "shop", "id": "egress", "scope": {"resource": "egress:*"}, "key_by": ["subject"],
         "limits": [{"name": "rate", "algorithm": "token_bucket", "capacity": 1, "refill": "5/1s"}]}]}))
    return subprocess.run([str(program_path("sluice-agent").with_name("egress_worker")), str(policies), *words],
                          input="\n".join(jobs), capture_output=True, text=True, check=False, timeout=SECONDS)


def test_a_partner_is_called_as_fast_as_its_policy_says(tmp_path: Path, partner: Partner) -> None:
    began = time.monotonic()
    done = run(tmp_path, [f"bank {partner.url}/{number}" for number in range(12)], "6")
    took = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": 204 after") == 12
    # A call may be late on its way, and so near the next one, but it is never early: at any moment, at most as many have
    # arrived as were allowed since before the first.
    early = [(number, arrival - began) for number, arrival in enumerate(sorted(partner.arrivals)) if arrival - began < number * 0.2 - 0.01]
    assert len(partner.arrivals) == 12 and early == []
    # The worker says so itself.
    said = re.search(r"^bank: 12 calls in ([\d.]+) s, ([\d.]+) a second$", done.stdout, re.M)
    assert said and float(said[1]) <= took and float(said[2]) == pytest.approx(11 / float(said[1]), rel=0.02)
    # It does not wait longer than it must, either: generous, for a machine that does something else.
    assert took < 20


def test_partners_do_not_wait_for_each_other(tmp_path: Path, partner: Partner) -> None:
    done = run(tmp_path, [f"{name} {partner.url}/" for name in ("bank", "post", "shop", "fair")], "4")
    waits = [int(line.rsplit(" ", 2)[1]) for line in done.stdout.splitlines() if " after " in line]
    assert done.returncode == 0 and len(waits) == 4 and max(waits) < 200


def test_what_goes_wrong_is_said_and_the_other_jobs_are_done(tmp_path: Path, partner: Partner) -> None:
    done = run(tmp_path, ["nonsense", f"bank {partner.url}/a", "post http://127.0.0.1:1/b"])
    assert done.returncode == 1 and "not: nonsense" in done.stderr
    assert "bank /a: 204" in done.stdout and "post /b: connect: Connection refused" in done.stdout
    assert run(tmp_path, [], "0").returncode == 2
