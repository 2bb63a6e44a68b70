"""Servers are upgraded and rolled back while pods ask: nobody notices."""

from support.installed import SYSTEM, Installed, MakeApp

ASK_UNTIL_TOLD = """while [ ! -e /tmp/stop ]; do printf '%s ' $(check GET:/orders user:rollout-$(date +%s%N)); done"""


def test_no_check_fails_while_two_servers_are_upgraded_by_an_apply_and_rolled_back(installed: Installed,
                                                                                 make_app: MakeApp) -> None:
    cluster = installed.cluster
    cluster.kubectl("apply", "-k", str(installed.overlay(LOG_LEVEL="info", DRAIN_TIMEOUT="20s")))
    installed.rolled_out("deployment/sluice-server")
    before = cluster.get("deployment", "sluice-server", SYSTEM)["metadata"]["annotations"]["deployment.kubernetes.io/revision"]
    app = make_app().ready()
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
    answers = said.split()
    assert len(answers) > 200
    assert set(answers) == {"200"}
