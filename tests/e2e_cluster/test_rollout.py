"""Servers are upgraded and rolled back while pods ask: nobody notices."""

from support.installed import SYSTEM, Installed, MakeApp

# Prints a line for each check: its status, and the whole answer where it is not 200.
ASK_UNTIL_TOLD = """BODY=/tmp/body
while [ ! -e /tmp/stop ]; do
  code=$(check GET:/orders user:rollout-$(date +%s%N)); answer=
  [ "$code" = 200 ] || read -r answer </tmp/body
  echo "$code $(date +%T.%3N) $answer"
done"""


def test_no_check_fails_while_two_servers_are_upgraded_by_an_apply_and_rolled_back(installed: Installed,
                                                                                 make_app: MakeApp) -> None:
    cluster = installed.cluster
    cluster.kubectl("apply", "-k", str(installed.overlay(LOG_LEVEL="info", DRAIN_TIMEOUT="20s")))
    installed.rolled_out("deployment/sluice-server")
    before = cluster.get("deployment", "sluice-server", SYSTEM)["metadata"]["annotations"]["deployment.kubernetes.io/revision"]
    # A whole control plane is busy beside it: a reply of Redis may take longer than the usual deadline of 25 ms.
    app = make_app(annotations={"sluice.dev/redis-deadline": "250ms"}).ready()
    with app.start(ASK_UNTIL_TOLD) as load:
        cluster.kubectl("apply", "-k", str(installed.overlay(LOG_LEVEL="debug", DRAIN_TIMEOUT="21s")))
        installed.rolled_out("deployment/sluice-server")
        upgraded = cluster.get("deployment", "sluice-server", SYSTEM)["metadata"]["annotations"]["deployment.kubernetes.io/revision"]
        cluster.kubectl("-n", SYSTEM, "rollout", "undo", "deployment/sluice-server")
        installed.rolled_out("deployment/sluice-server")
        # What comes after the roll-back counts too.
        assert set(app.run("for i in $(seq 50); do printf '%s ' $(check GET:/orders user:after-$i); done").split()) == {"200"}
        app.run("touch /tmp/stop 2>/dev/null || : >/tmp/stop")
        said, _ = load.communicate(timeout=60)
    assert int(upgraded) > int(before)
    answers = said.splitlines()
    assert len(answers) > 200
    assert not [line for line in answers if not line.startswith("200 ")]
