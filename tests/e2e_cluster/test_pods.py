"""Pods with an agent, in a cluster with a node: what an application sees of it from its first second to its last."""

import json
import os
import signal
import time

import pytest

from support.installed import Installed, MakeApp
from support.manifests import K8S, objects
from support.process import wait_until

TEN_AND_MORE = "for i in $(seq 12); do printf '%s ' $(check GET:/orders user:{subject}); done"
OVER_SOCKET = """for i in $(seq 12); do curl -s -o /dev/null -w '%{http_code} ' --unix-socket "$SLUICE_SOCKET" \
 http://sluice/v1/check -H "x-api-key: $KEY" -H 'content-type: application/json' \
 -d '{"resource":"GET:/orders","subject":"user:socket"}'; done"""
# A line for each check: when it was asked, in ms, and its status.
FOR_A_WHILE = """end=$(($(date +%s) + {seconds})); i=0
while [ "$(date +%s)" -lt "$end" ]; do i=$((i + 1)); at=$(date +%s%3N); echo "$at $(check GET:/orders user:{subject}-$i)"; done"""


def for_a_while(seconds: int, subject: str) -> str:
    """A script that asks all the time, each time for somebody else."""
    return FOR_A_WHILE.replace("{seconds}", str(seconds)).replace("{subject}", subject)


def asked(output: str) -> list[tuple[int, int]]:
    """What it printed: when (ms), and the status; 0: no answer."""
    return [(int(at), int(status)) for at, status in (line.split() for line in output.splitlines())]


def test_a_pod_of_a_labelled_namespace_has_an_agent_that_allows_and_throttles(make_app: MakeApp) -> None:
    app = make_app().ready()
    assert [one["name"] for one in app.read()["spec"]["initContainers"]] == ["sluice-agent"]
    expected = ["200"] * 10 + ["429"] * 2
    assert app.run(TEN_AND_MORE.replace("{subject}", "localhost")).split() == expected
    assert app.run(OVER_SOCKET).split() == expected


def test_a_changed_policy_is_enforced_in_the_pod(installed: Installed, make_app: MakeApp) -> None:
    app = make_app().ready()
    assert app.run("check GET:/changed user:1") == "200"
    installed.admin("PUT", "/policies/changed?tenant_id=demo", {
        "resource": "GET:/changed", "strategy": "token_bucket", "key_by": "subject", "limit": 2, "window": "1h"})
    installed.enforced()
    assert app.run("for i in 1 2 3; do printf '%s ' $(check GET:/changed user:2); done").split() == ["200", "200", "429"]


def test_the_first_request_in_the_first_second_is_decided_by_the_policies(make_app: MakeApp) -> None:
    app = make_app('began=$(date +%s%3N); code=$(check GET:/orders user:first); echo "$code $(($(date +%s%3N) - began))"; idle').ready()
    code, milliseconds = app.log().split()
    assert code == "200"
    assert int(milliseconds) < 1000


def test_the_last_request_while_the_pod_ends_is_answered_and_the_agent_exits_with_0(make_app: MakeApp) -> None:
    app = make_app('trap "echo last \\$(check GET:/orders user:last); exit 0" TERM; echo ready; while :; do sleep 0.1; done').ready()
    with app.follow_log() as log:
        app.delete()
        said, _ = log.communicate(timeout=60)
    assert said.split() == ["ready", "last", "200"]
    assert app.ended()["exitCode"] == 0


def test_after_a_kill_9_of_the_agent_calls_are_answered_again_within_5_seconds(make_app: MakeApp) -> None:
    app = make_app().ready()
    with app.start(for_a_while(20, "killed")) as load:
        wait_until("checks that are on their way", lambda: load.poll() is None and load.stdout is not None
                   and load.stdout.readline().strip() != "", 10)
        (pid,) = app.processes("sluice-agent")
        killed = time.time() * 1000
        os.kill(pid, signal.SIGKILL)
        said, _ = load.communicate(timeout=60)
    answers = asked(said)
    assert any(status == 0 for _, status in answers), "nobody noticed that it was killed"
    back = next(at for at, status in answers if at > killed + 50 and status == 200)
    assert back - killed < 5000, f"{back - killed:.0f} ms"
    assert all(status == 200 for at, status in answers if at > back)
    assert app.agent_status()["restartCount"] == 1
    assert app.agent_status()["lastState"]["terminated"]["exitCode"] == 137


# Without Redis the policies' failure mode answers, which is fail_closed unless they say otherwise; without the server all is as it was.
@pytest.mark.parametrize("away, answered", [("statefulset/sluice-redis", {200, 503}), ("deployment/sluice-server", {200})])
def test_a_pod_stays_ready_and_is_answered_while_redis_or_the_server_is_away(installed: Installed, make_app: MakeApp,
                                                                            away: str, answered: set[int]) -> None:
    app = make_app().ready()
    with app.follow_readiness() as readiness:
        installed.scale(away, 0)
        try:
            answers = asked(app.run(for_a_while(15, "away")))
        finally:
            installed.scale(away, 1)
        readiness.terminate()
        seen, _ = readiness.communicate(timeout=10)
    assert {status for _, status in answers} <= answered
    assert set(seen.split()) == {"True"}
    assert app.agent_status()["restartCount"] == 0


def test_a_pod_that_starts_while_the_server_is_away_is_ready_and_says_that_it_has_no_policies(installed: Installed,
                                                                                              make_app: MakeApp) -> None:
    # The injector is the server's: the pod is made first, and its agent loses what it had with its first process.
    app = make_app().ready()
    installed.scale("deployment/sluice-server", 0)
    try:
        (pid,) = app.processes("sluice-agent")
        os.kill(pid, signal.SIGKILL)
        wait_until("the agent's restart", lambda: app.agent_status()["restartCount"] == 1 and app.agent_status()["ready"], 30)
        # Its last good policies, and the login to the counters, were kept in the pod's volume.
        assert app.run(TEN_AND_MORE.replace("{subject}", "kept")).split() == ["200"] * 10 + ["429"] * 2
    finally:
        installed.scale("deployment/sluice-server", 1)


def test_the_example_of_the_guide_runs_and_its_job_completes_beside_its_agent(installed: Installed, apps: str) -> None:
    text = (K8S / "examples/shop.yaml").read_text()
    for item in objects(text.replace("namespace: shop", f"namespace: {apps}")):
        if item["kind"] != "Namespace":
            installed.cluster.apply(item)
    installed.rolled_out("deployment/web", apps)
    installed.cluster.kubectl("wait", "-n", apps, "--for=condition=Complete", "job/once", "--timeout=60s")
    assert json.loads(installed.cluster.kubectl("logs", "-n", apps, "job/once", "-c", "once"))["allowed"] is True
