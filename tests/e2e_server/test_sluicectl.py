"""sluicectl against a server: every command, broken input, no server, and tokens that are not valid."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.admin import AdminClient
from support.agent import Agent
from support.bundle import Bundle, MintedKey
from support.redis_server import RedisServer
from support.server import Server
from support.sluicectl import Sluicectl

LIMITS = [{"name": "m", "algorithm": "fixed_window", "limit": 5, "window": "1m"}]


@pytest.fixture
def ctl(server: Server, tmp_path: Path) -> Sluicectl:
    """sluicectl as the platform's administrator."""
    return Sluicectl(tmp_path, f"http://127.0.0.1:{server.port}", server.token)


def stocked(admin: AdminClient, tenant: str) -> str:
    """The tenant, with a plan and a policy."""
    admin.create("/plans", {"tenant_id": tenant, "id": "pro", "limits": LIMITS})
    admin.create("/policies", {"tenant_id": tenant, "id": "orders", "scope": {"resource": "GET:/orders"}, "plan_id": "pro",
                               "key_by": ["subject"]})
    return tenant


@pytest.fixture
def shop(admin: AdminClient, tenant: str) -> str:
    """A tenant of one test, with a plan and a policy."""
    return stocked(admin, tenant)


def written(folder: Path, name: str, content: Any) -> str:
    """The path of a file with this content: a text, or a value as JSON."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


# Contexts.

def test_a_login_stores_a_context_that_later_commands_use(server: Server, tmp_path: Path, shop: str) -> None:
    ctl = Sluicectl(tmp_path)
    assert "sluicectl login" in ctl.fault("get", "tenants")
    address = f"http://127.0.0.1:{server.port}"
    said = ctl.run("login", "here", "--server", address, "--tenant", shop, stdin=server.token + "\n").stdout
    assert "platform_admin" in said and server.token not in said
    assert stat.S_IMODE(ctl.contexts.stat().st_mode) == 0o600
    assert ctl.run("get", "policies", "-o", "name").stdout == "policy/orders\n", "the context's tenant"
    assert "platform_admin" in ctl.run("whoami").stdout
    ca = written(tmp_path, "ca.crt", "")
    ctl.run("login", "--server", address, "--token-file", written(tmp_path, "token", server.token), "--ca", os.path.relpath(ca))
    assert yaml.safe_load(ctl.contexts.read_text())["contexts"][1]["ca"] == ca, "found from any folder"
    assert ctl.run("context", "list").stdout.count("\n") == 3
    assert ctl.json("context", "list")["items"][0] == {"name": "here", "server": address, "tenant": shop}, "without its token"
    ctl.run("context", "use", "here")
    assert ctl.json("whoami")["role"] == "platform_admin"
    assert "no context" in ctl.fault("context", "use", "gone")
    assert "no context" in ctl.fault("get", "tenants", "--context", "gone")
    ctl.run("logout")
    assert "no server is named" in ctl.fault("get", "tenants")
    ctl.contexts.chmod(0o644)
    assert "chmod 600" in ctl.fault("get", "tenants")


def test_a_token_of_a_context_goes_to_its_own_server_only(server: Server, tmp_path: Path) -> None:
    ctl = Sluicectl(tmp_path)
    ctl.run("login", "--server", f"http://127.0.0.1:{server.port}", stdin=server.token + "\n")
    assert "there is no token for http://localhost:1" in ctl.fault("get", "tenants", "--server", "http://localhost:1")


def test_a_token_that_is_not_valid_is_one_clear_line(server: Server, admin: AdminClient, tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{server.port}"

    def said_of(token: str) -> str:
        return Sluicectl(tmp_path, address, token).fault("get", "tenants")

    made = admin.create("/tokens", {"name": "short", "role": "platform_admin"})
    assert admin.patch(f"/tokens/{made['id']}", {"expires_at": "2020-01-01T00:00:00Z"}).status == 200
    assert "the token has expired" in said_of(made["token"])
    gone = admin.create("/tokens", {"name": "gone", "role": "platform_admin"})
    assert admin.delete(f"/tokens/{gone['id']}").status == 204
    assert "revoked" in said_of(gone["token"])
    assert "cut or mistyped" in said_of("sla_nonsense")
    bundle = written(tmp_path, "empty.yaml", "format: sluice/v1\nplans: []\n")
    for arguments in (["apply", "-f", bundle], ["diff", "-f", bundle], ["delete", "plan/x"]):
        assert "cut or mistyped" in Sluicectl(tmp_path, address, "sla_nonsense").fault(*arguments)
    assert "no admin token" in said_of(admin.create("/agent-tokens", {"name": "a"})["token"])
    refused = Sluicectl(tmp_path).fault("login", "--server", address, stdin="sla_nonsense\n")
    assert "cut or mistyped" in refused and not (tmp_path / "contexts.yaml").exists(), "nothing is stored"


def test_without_a_server_the_address_and_the_cause_are_named(tmp_path: Path) -> None:
    ctl = Sluicectl(tmp_path, "http://127.0.0.1:9", "sla_x")
    said = ctl.fault("get", "tenants")
    assert "127.0.0.1:9" in said and "refused" in said
    for arguments in (["get", "tenants"], ["login"]):
        said = ctl.fault(*arguments, "--server", "http://sluice.example", stdin="x\n")
        assert "in clear" in said and "--insecure-server" in said
    assert "http" in ctl.fault("get", "tenants", "--server", "ftp://a")


# Reading.

def test_objects_are_listed_in_every_form(ctl: Sluicectl, shop: str) -> None:
    table = ctl.run("get", "policies", "-t", shop).stdout.splitlines()
    assert table[0].split()[:3] == ["TENANT", "ID", "SCOPE"]
    assert table[1].split() == [shop, "orders", "resource=GET:/orders", "pro", "-", "0", "enforce", "yes", "100", "1"]
    assert ctl.json("get", "plans", "-t", shop)["items"][0]["limits"] == LIMITS
    assert ctl.json("get", "pl", "pro", "-t", shop)["id"] == "pro"
    assert "plan_id: pro\n" in ctl.run("get", "policy", "orders", "-t", shop, "-o", "yaml").stdout
    assert ctl.run("get", "policies", "-t", shop, "-w", "mode=shadow").stderr == "There are no policies.\n"
    assert "mode" in ctl.fault("get", "policies", "-t", shop, "-w", "mode=loud")
    assert "no policy" in ctl.fault("get", "policy", "none", "-t", shop)
    assert 'Did you mean "policies"?' in ctl.fault("get", "policie")
    for kind in ("organizations", "tenants", "keys", "webhooks", "tokens", "agent-tokens", "bindings"):
        ctl.run("get", kind, *(["-t", shop] if kind in ("keys", "webhooks") else []))


def test_a_list_has_all_pages(ctl: Sluicectl, admin: AdminClient, tenant: str) -> None:
    bundle = {"format": "sluice/v1", "plans": [{"tenant_id": tenant, "id": f"p{number}", "limits": LIMITS} for number in range(1100)]}
    assert admin.post("/apply", bundle).status == 200
    assert ctl.run("get", "plans", "-t", tenant, "-o", "name").stdout.count("\n") == 1100


def test_what_is_exported_can_be_applied(ctl: Sluicectl, shop: str, tmp_path: Path) -> None:
    exported = ctl.run("export", "-t", shop).stdout
    assert exported.startswith("format: sluice/v1\n")
    assert "0 changed" in ctl.run("apply", "-f", "-", stdin=exported).stdout
    as_json = ctl.run("export", "-t", shop, "-o", "json").stdout
    assert "0 changed" in ctl.run("apply", "-f", written(tmp_path, "bundle", as_json)).stdout


# Writing.

def test_diff_and_apply_take_folders_and_agree(ctl: Sluicectl, shop: str, tmp_path: Path) -> None:
    written(tmp_path, "a.yaml", f"""format: sluice/v1
plans:
  - tenant_id: {shop}
    id: pro
    limits: [{{name: m, algorithm: fixed_window, limit: 9, window: 1m}}]
""")
    written(tmp_path, "b.json", {"format": "sluice/v1", "policies": [
        {"tenant_id": shop, "id": "pay", "scope": {"resource": "POST:/pay"}, "plan_id": "pro", "key_by": ["subject"]}]})
    shown = ctl.run("diff", "-f", str(tmp_path), code=1).stdout
    assert f"update plan/{shop}/pro\n" in shown and f"create policy/{shop}/pay\n" in shown
    assert '- /limits [{"name":"m","algorithm":"fixed_window","limit":5,"window":"1m"}]' in shown
    assert '+ /limits [{"name":"m","algorithm":"fixed_window","limit":9,"window":"1m"}]' in shown
    assert "+ id: pay" in shown
    tried = ctl.run("apply", "-f", str(tmp_path), "--dry-run").stdout
    assert "2 changed, 1 unchanged (dry run)" in tried
    assert ctl.run("diff", "-f", str(tmp_path), code=1).stdout == shown, "nothing was changed"
    assert "2 changed" in ctl.run("apply", "-f", str(tmp_path)).stdout
    assert ctl.run("diff", "-f", str(tmp_path)).stdout == ""


def test_prune_deletes_what_the_files_do_not_name(ctl: Sluicectl, admin: AdminClient, tmp_path: Path) -> None:
    organization = admin.organization()
    tenant = admin.tenant(organization)
    admin.create("/plans", {"tenant_id": tenant, "id": "old", "limits": LIMITS})
    bundle = written(tmp_path, "all.yaml", f"format: sluice/v1\ntenants: [{{id: {tenant}, organization_id: {organization}}}]\nplans: []\n")
    shown = ctl.run("diff", "-f", bundle, "--prune", "--organization", organization, code=1).stdout
    assert f"delete plan/{tenant}/old\n" in shown and "- id: old" in shown
    assert f"plan/{tenant}/old deleted" in ctl.run("apply", "-f", bundle, "--prune", "--organization", organization).stdout
    assert admin.get("/plans/old", tenant=tenant).status == 404


def test_faults_of_a_bundle_name_file_line_and_column(ctl: Sluicectl, shop: str, tmp_path: Path) -> None:
    first = written(tmp_path, "first.yaml", f"""# a comment
format: sluice/v1
plans:
  - tenant_id: {shop}
    id: bad
    limits:
      - {{name: m, algorithm: fixed_window, limit: 9, window: 5 parsecs}}
""")
    second = written(tmp_path, "second.json", '{"format":"sluice/v1",\n"policies":[\n{"tenant_id":"%s","id":"x",'
                     '"scope":{"resource":"a"},"plan_id":"none","key_by":["subject"]}]}' % shop)
    for command in ("apply", "diff"):
        said = ctl.run(command, "-f", first, "-f", second, code=2).stderr
        assert f"{first}:7:62: /plans/0/limits/0/window: " in said, said
        assert f"{second}:3:" in said and "/policies/0/plan_id: " in said, said
        assert "nothing is changed" in said
    broken = written(tmp_path, "broken.yaml", "format: sluice/v1\nplans:\n\t- id: x\n")
    assert f"{broken}:3:" in ctl.fault("apply", "-f", broken)
    assert "cannot be read" in ctl.fault("apply", "-f", str(tmp_path / "none.yaml"))


def test_an_object_is_edited_in_the_users_editor(ctl: Sluicectl, admin: AdminClient, shop: str, tmp_path: Path) -> None:
    def edit(script: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        editor = tmp_path / "editor"
        editor.write_text(f"#!/bin/sh\n{script}\n")
        editor.chmod(0o755)
        return ctl.run("edit", "policy", "orders", "-t", shop, code=code, env={"EDITOR": str(editor)})

    assert "changed" in edit("sed -i 's,GET:/orders,GET:/items,' $1").stdout
    assert admin.get("/policies/orders", tenant=shop).body["scope"] == {"resource": "GET:/items"}
    assert "not changed" in edit("true").stderr
    assert "the editor" in edit("exit 1", code=2).stderr
    # A refused text comes back with its faults; the second try mends it.
    tries = tmp_path / "tries"
    mended = f"if [ -e {tries} ]; then cp $1 {tmp_path}/seen; sed -i s/plam_id/plan_id/ $1; sed -i 's,items,things,' $1; " \
             f"else touch {tries}; sed -i s/plan_id/plam_id/ $1; fi"
    assert "changed" in edit(mended).stdout
    seen = (tmp_path / "seen").read_text().splitlines()
    fault = next(line for line in seen if line.startswith("# line ") and "did you mean" in line)
    assert "plam_id" in seen[int(fault.split()[2].rstrip(":")) - 1], "the line of the text as it is shown"
    assert admin.get("/policies/orders", tenant=shop).body["scope"] == {"resource": "GET:/things"}
    # Somebody else changes it meanwhile: nothing of theirs is lost, and nothing of ours.
    ctl_elsewhere = f"{ctl.program} rollout orders 50 -t {shop} >/dev/null && sed -i s,things,mine, $1"
    said = edit(ctl_elsewhere, code=2).stderr
    kept = Path(said.split("your text is in ")[1].rstrip(")\n"))
    assert "changed by somebody else" in said and "mine" in kept.read_text()
    assert not [path for path in tmp_path.glob("sluicectl-*") if path != kept], "temporary files are gone"
    assert "cannot be replaced" in ctl.fault("edit", "token", "x")


def test_objects_are_deleted_by_their_ids(ctl: Sluicectl, shop: str) -> None:
    assert "policy orders" in ctl.run("delete", "plan", "pro", "-t", shop, code=2).stderr, "it uses the plan"
    assert ctl.run("delete", "policy", "orders", "-t", shop).stdout == "policy/orders deleted\n"
    assert ctl.run("delete", "plan", "pro", "-t", shop).stdout == "plan/pro deleted\n"
    assert "no plan" in ctl.fault("delete", "plan", "pro", "-t", shop)


def test_objects_are_named_as_other_commands_print_them(ctl: Sluicectl, shop: str, tenant: str) -> None:
    assert ctl.run("get", "policy/orders", "-t", shop, "-o", "name").stdout == "policy/orders\n"
    assert ctl.json("get", f"policy/{shop}/orders")["id"] == "orders", "as apply prints it"
    assert len(ctl.run("get", "policies/orders", "pol/orders", "-t", shop).stdout.splitlines()) == 3
    assert "one kind" in ctl.fault("get", "policy/orders", "plan/pro", "-t", shop)
    assert "KIND/ID" in ctl.fault("get", "policy/orders", "pro", "-t", shop)
    assert "not changed" in ctl.run("edit", "policy/orders", "-t", shop, env={"EDITOR": "true"}).stderr
    assert "one object" in ctl.fault("edit", "policy", "-t", shop)
    assert ctl.run("delete", "policy/orders", "plan/pro", "-t", shop).stdout == "policy/orders deleted\nplan/pro deleted\n"


def test_the_objects_of_files_are_deleted_users_first(ctl: Sluicectl, admin: AdminClient, shop: str, tmp_path: Path) -> None:
    bundle = written(tmp_path, "bundle.yaml", f"""format: sluice/v1
plans: [{{tenant_id: {shop}, id: pro}}, {{tenant_id: {shop}, id: gone}}]
policies: [{{tenant_id: {shop}, id: orders}}]
""")
    assert "plan/gone: There is no plan" in ctl.fault("delete", "-f", bundle, "--dry-run")
    left = ctl.run("delete", "-f", bundle, "--dry-run", "--ignore-not-found").stdout
    assert left == "policy/orders deleted (dry run)\nplan/pro deleted (dry run)\n", "a policy needs its plan"
    assert admin.get("/policies/orders", tenant=shop).status == 200
    assert ctl.run("delete", "-f", bundle, "--ignore-not-found").stdout == "policy/orders deleted\nplan/pro deleted\n"
    assert admin.get("/plans/pro", tenant=shop).status == 404
    for wrong in ([], ["policy"], ["policy", "orders", "-f", bundle]):
        assert "policy orders" in ctl.fault("delete", *wrong)


def test_folders_of_folders_are_read_if_asked_for(ctl: Sluicectl, shop: str, tmp_path: Path) -> None:
    (tmp_path / "policies/eu").mkdir(parents=True)
    (tmp_path / "policies/.git").mkdir()
    written(tmp_path, "policies/.git/x.yaml", "no bundle")
    for name in ("a", "eu/b"):
        written(tmp_path, f"policies/{name}.yaml", f"format: sluice/v1\nplans: [{{tenant_id: {shop}, id: {name[-1]}, limits: {json.dumps(LIMITS)}}}]\n")
    assert "1 changed" in ctl.run("apply", "-f", str(tmp_path / "policies"), "--dry-run").stdout
    assert "2 changed" in ctl.run("apply", "-R", "-f", str(tmp_path / "policies")).stdout


def test_a_time_to_wait_is_read_before_anything_is_changed(ctl: Sluicectl, admin: AdminClient, shop: str, tmp_path: Path) -> None:
    bundle = written(tmp_path, "plan.yaml", f"format: sluice/v1\nplans: [{{tenant_id: {shop}, id: new, limits: {json.dumps(LIMITS)}}}]\n")
    assert "--wait must be a duration" in ctl.fault("apply", "-f", bundle, "--wait", "soon")
    assert admin.get("/plans/new", tenant=shop).status == 404


def test_versions_rollback_rollout_and_mode(ctl: Sluicectl, admin: AdminClient, shop: str) -> None:
    def policy() -> dict[str, Any]:
        body: dict[str, Any] = admin.get("/policies/orders", tenant=shop).body
        return body

    assert "version 2" in ctl.run("rollout", "orders", "12.5", "-t", shop).stdout
    assert policy()["rollout_percent"] == 12.5
    assert "version 3" in ctl.run("mode", "shadow", "policy", "orders", "-t", shop).stdout
    assert policy()["mode"] == "shadow"
    assert len(ctl.run("versions", "policy", "orders", "-t", shop).stdout.splitlines()) == 4
    assert "rollout_percent: 12.5" in ctl.run("versions", "policy", "orders", "2", "-t", shop).stdout
    assert [item["version"] for item in ctl.json("versions", "policy", "orders", "-t", shop)["items"]] == [3, 2, 1]
    assert "version 4" in ctl.run("rollback", "policy", "orders", "1", "-t", shop).stdout
    assert "mode" not in policy() and "rollout_percent" not in policy()
    ctl.run("mode", "off", "tenant", shop)
    assert admin.get(f"/tenants/{shop}").body["mode"] == "off"
    assert "no versions" in ctl.fault("rollback", "key", "k", "1")
    for wrong in ("101", "nan"):
        assert "from 0 to 100" in ctl.fault("rollout", "orders", wrong, "-t", shop)
    for wrong in ("0", "1.5", "nan"):
        assert "not in range 1 to" in ctl.fault("rollback", "policy", "orders", wrong, "-t", shop)


def test_overrides_and_counters_of_a_subject(make_server: Callable[..., Server], redis: RedisServer, tmp_path: Path) -> None:
    server = make_server("--counters", redis.counters, "--redis-deadline", "2s").start()
    ctl = Sluicectl(tmp_path, f"http://127.0.0.1:{server.port}", server.token)
    with server.admin() as admin:
        shop = stocked(admin, admin.tenant())
    made = ctl.run("override", "set", "--policy", "orders", "--limit", "m", "-i", "subject=user:1", "--set", "limit=50",
                   "--ttl", "1h", "--id", "vip", "-t", shop).stdout
    assert made.startswith("override/vip set: limit=50, expires 20")
    assert ctl.json("get", "override", "vip", "-t", shop)["set"] == {"limit": 50}
    who = ["--policy", "orders", "-i", "subject=user:1", "-t", shop]
    assert ctl.run("counters", "read", *who).stdout.splitlines()[1].split()[:5] == ["m", "fixed_window", "requests", "50", "50"]
    assert "reset" in ctl.run("counters", "reset", *who).stdout
    assert "NAME=VALUE" in ctl.fault("override", "set", "--policy", "orders", "--limit", "m", "-i", "subject", "--set", "limit=1",
                                     "-t", shop)
    assert ctl.json("override", "clear", "--policy", "orders", "-t", shop)["cleared"] == 1
    assert "no policy" in ctl.fault("counters", "read", "--policy", "none", *who[2:])


def test_the_configuration_of_another_limiter_is_imported(ctl: Sluicectl, admin: AdminClient, tenant: str, tmp_path: Path) -> None:
    limits = written(tmp_path, "limits.yaml", "- namespace: shop\n  max_value: 10\n  seconds: 60\n  conditions: []\n  variables: [\"user\"]\n")
    tried = ctl.run("import", "limitador", limits, "--dry-run", "-t", tenant)
    assert "(dry run)" in tried.stdout
    assert not list(admin.items("/policies", tenant=tenant))
    assert "created" in ctl.run("import", "limitador", limits, "-t", tenant).stdout
    assert len(list(admin.items("/policies", tenant=tenant))) == 1
    assert "from" in ctl.fault("import", "nothing", limits, "-t", tenant)
    for unreadable in (tmp_path / "none", tmp_path):
        assert "cannot be read" in ctl.fault("import", "limitador", str(unreadable), "-t", tenant)


# What happened.

def test_the_audit_trail_says_who_changed_what(ctl: Sluicectl, shop: str) -> None:
    ctl.run("rollout", "orders", "30", "-t", shop)
    newest = ctl.run("audit", "-t", shop, "--limit", "1").stdout.splitlines()
    assert newest[0].split()[:4] == ["AT", "ACTOR", "ACTION", "KIND"]
    assert newest[1].split()[2:6] == ["rollout", "policy", shop, "orders"]
    assert "+ /rollout_percent 30" in ctl.run("audit", "-t", shop, "--limit", "1", "--changes").stdout
    assert len(ctl.json("audit", "-t", shop, "--limit", "2")["items"]) == 2
    assert "kind" in ctl.fault("audit", "--kind", "nothing")
    assert len(ctl.json("audit", "-t", shop, "--since", "1h")["items"]) == 4
    assert ctl.run("audit", "-t", shop, "--until", "1h").stderr == "There are no entries.\n"
    assert "such as 1h" in ctl.fault("audit", "--since", "soon")


def test_explain_says_who_decides_and_why(ctl: Sluicectl, shop: str) -> None:
    said = ctl.run("explain", "GET:/orders", "-s", "user:1", "-t", shop).stdout
    assert said.startswith("judged, policy orders, plan pro, mode enforce, action deny\n")
    assert "decides" in said
    assert ctl.json("explain", "nowhere", "-s", "user:1", "-t", shop)["reason"] == "no_policy"
    assert 'did you mean subject' in ctl.run("explain", "-d", "sbject=x", "-t", shop, code=2).stderr


def test_check_asks_an_agent_and_ends_with_the_answer(make_agent: Callable[..., Agent], key: MintedKey, tmp_path: Path) -> None:
    agent = make_agent(Bundle().key(key).plan("pro", *LIMITS), "memory").start()
    ctl = Sluicectl(tmp_path)
    asked = ["check", "GET:/orders", "-s", "user:1", "-p", "pro", "--agent", f"http://127.0.0.1:{agent.port}"]
    assert "SLUICE_API_KEY" in ctl.fault(*asked)
    env = {"SLUICE_API_KEY": key.text}
    assert ctl.run(*asked, env=env).stdout.startswith("allowed (within_limit), 4 of 5 left, plan pro, limit m")
    assert ctl.run(*asked, "-c", "4", env=env).stdout.startswith("allowed (within_limit), 0 of 5 left")
    assert ctl.run(*asked, env=env, code=1).stdout.startswith("denied (limit_exceeded), 0 of 5 left, try again in ")
    assert ctl.json(*asked, "-c", "0", env=env)["remaining"] == 0
    assert "subject" in ctl.fault(*asked[:2], "-d", "sbject=x", *asked[4:], env=env)
    for wrong in ("nan", "1.5", "-1", "2147483648"):
        assert "not in range 0 to 2147483647" in ctl.fault(*asked, f"--cost={wrong}", env=env)


def test_the_rates_of_an_agent_are_watched(make_agent: Callable[..., Agent], key: MintedKey, tmp_path: Path) -> None:
    agent = make_agent(Bundle().key(key).plan("pro", *LIMITS), "memory").start()
    ctl = Sluicectl(tmp_path)
    watch = [str(ctl.program), "watch", "--metrics", f"http://127.0.0.1:{agent.admin_port}", "--count", "1", "--interval", "500ms"]

    def watched(*options: str) -> str:
        with agent.client(key.text) as client, subprocess.Popen([*watch, *options], stdout=subprocess.PIPE, text=True, env=ctl.environment) as process:
            while process.poll() is None:
                client.check(plan_id="pro", subject="user:1")
            assert process.stdout is not None and process.returncode == 0
            return process.stdout.read()

    assert "denied" in watched() and "PER SECOND" in watched()
    denied = next(rate for rate in json.loads(watched("-o", "json"))["items"] if rate["outcome"] == "denied")
    assert denied["reason"] == "limit_exceeded" and denied["per_second"] > 0


def test_fleet_watch_and_top_of_a_server_without_agents(ctl: Sluicectl, shop: str) -> None:
    assert ctl.run("fleet", "-t", shop).stderr == "No agents.\n"
    assert "No decisions." in ctl.run("watch", "--count", "1", "-t", shop).stdout
    assert [line[:5] + line[-12:] for line in ctl.run("watch", "--count", "2", "--interval", "100ms", "-o", "json", "-t", shop)
            .stdout.splitlines()] == ['{"at"' + ',"items":[]}'] * 2
    assert ctl.run("watch", "--count", "1", "-o", "yaml", "-t", shop).stdout.startswith("---\nat: ")
    assert "No subject was throttled" in ctl.run("top", "-t", shop).stderr
    assert ctl.run("wait", "--for", "0s", code=1).stdout.endswith("enforced by 0 of 0 agents\n")
    for arguments in (["watch", "--interval", "1ms"], ["watch", "--since", "soon"], ["top", "--since", "soon"],
                      ["wait", "--for", "soon"], ["watch", "--metrics", "nowhere"]):
        assert "such as" in ctl.fault(*arguments, "-t", shop) or "http" in ctl.fault(*arguments, "-t", shop)


# The command line.

def test_help_and_version_are_there_and_a_wrong_command_names_the_right_one(tmp_path: Path) -> None:
    ctl = Sluicectl(tmp_path)
    assert "Exit codes:" in ctl.run("--help").stdout
    assert "--prune" in ctl.run("apply", "--help").stdout
    common = set(re.findall(r"--[a-z-]+", ctl.run("--help").stdout)) - {"--help", "--version"}
    told = ctl.run("login", "--help").stdout.partition("Also:")[2]
    assert common - {"--"} <= set(re.findall(r"--[a-z-]+", told)), "login needs --server"
    assert ctl.run("--version").stdout.strip()[0].isdigit()
    assert 'Did you mean "apply"?' in ctl.fault("aply")
    assert "--help" in ctl.fault()
    assert "`sluicectl get --help`" in ctl.fault("get", "policies", "--lmit", "3")
    assert "kind is required" in ctl.fault("get")


def test_a_pipe_that_nobody_reads_ends_a_command_quietly(ctl: Sluicectl, admin: AdminClient, tenant: str) -> None:
    bundle = {"format": "sluice/v1", "plans": [{"tenant_id": tenant, "id": f"p{number}", "limits": LIMITS} for number in range(1500)]}
    assert admin.post("/apply", bundle).status == 200

    def ended(command: str) -> tuple[str, str]:
        done = subprocess.run(["bash", "-c", f"{command}; echo ${{PIPESTATUS[0]}}"], capture_output=True, text=True, timeout=60, check=True,
                              env={**ctl.environment, "SLUICECTL": str(ctl.program), "SLUICECTL_TENANT": tenant})
        return done.stdout.splitlines()[-1], done.stderr

    for arguments in ("get plans", "get plans -o json", "watch --interval 100ms"):
        assert ended(f"$SLUICECTL {arguments} | head -1") == ("141", ""), f"{arguments}: ends by SIGPIPE, as other programs do"
    for arguments in ("get plans", "get plan p1"):
        assert ended(f"$SLUICECTL {arguments} >/dev/full") == ("2", "sluicectl: the output cannot be written: No space left on device\n")
    assert ended("$SLUICECTL get nothing 2>&-")[0] == "2", "the exit code is right if stderr is closed"


def test_an_interrupted_watch_leaves_nothing_behind(ctl: Sluicectl, shop: str) -> None:
    # A shell lets the jobs behind it ignore the signal, and their children inherit that.
    process = subprocess.Popen([ctl.program, "watch", "--interval", "100ms", "-t", shop], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=ctl.environment, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert process.stdout is not None and "decisions since" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert (process.returncode, said) == (-signal.SIGINT, "")


def test_a_server_that_says_nothing_is_left_in_time(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        ctl = Sluicectl(tmp_path, address, "sla_x")
        for arguments in (["get", "tenants"], ["login"], ["watch", "--metrics", address], ["check", "x", "--agent", address]):
            said = ctl.fault(*arguments, "--timeout", "200ms", stdin="sla_x\n", env={"SLUICE_API_KEY": "slk_x"})
            assert "timed out" in said, said


def test_bash_completes_commands_kinds_and_ids(ctl: Sluicectl, shop: str, tmp_path: Path) -> None:
    script = written(tmp_path, "completion.bash", ctl.run("completion", "bash").stdout)
    for shell in ("zsh", "fish"):
        assert "__complete" in ctl.run("completion", shell).stdout

    def completed(*words: str) -> list[str]:
        typed = " ".join(f"'{word}'" for word in ("sluicectl", *words))
        code = f"source {script}; COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _sluicectl; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, timeout=60, check=True,
                              env={**ctl.environment, "PATH": f"{ctl.program.parent}:{ctl.environment['PATH']}", "SLUICECTL_TENANT": shop})
        return done.stdout.split()

    assert completed("ge") == ["get"]
    assert completed("get", "pol") == ["policies"]
    assert completed("get", "policies", "") == ["orders"]
    assert completed("get", "policies", "--out") == ["--output"]
    assert completed("get", "policies", "--output", "=", "js") == ["json"]
    assert completed("rollback", "plan", "") == ["pro"]


def test_fish_and_zsh_complete(ctl: Sluicectl, shop: str, tmp_path: Path) -> None:
    environment = {**ctl.environment, "PATH": f"{ctl.program.parent}:{ctl.environment['PATH']}", "SLUICECTL_TENANT": shop}

    def said(*command: str) -> list[str]:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=environment, cwd=tmp_path)
        assert done.stderr == ""
        return done.stdout.split()

    fish = written(tmp_path, "completion.fish", ctl.run("completion", "fish").stdout)
    for typed, found in {"sluicectl ge": "get", "sluicectl get policies ": "orders", "sluicectl get --output=j": "--output=json",
                         "sluicectl apply -f comp": "completion.fish"}.items():
        assert said("fish", "-c", f"source {fish}; complete -C '{typed}'") == [found]
    # The completion system of zsh needs a terminal: what it would be given is printed.
    zsh = written(tmp_path, "completion.zsh", ctl.run("completion", "zsh").stdout)
    stubs = "compdef() { :; }; compadd() { print -l -- ${@[2,-1]}; }; _files() { print files; }"
    for words, given in {"sluicectl ge": "get", "sluicectl get policies ''": "orders", "sluicectl apply -f ''": "files"}.items():
        prepared = f"{stubs}; words=({words}); CURRENT=${{#words}}"
        assert said("zsh", "-f", "-c", f"{prepared}; source {zsh}; _sluicectl") == [given]
        folder = tmp_path / "functions"
        folder.mkdir(exist_ok=True)
        (folder / "_sluicectl").write_text(Path(zsh).read_text())
        assert said("zsh", "-f", "-c", f"{prepared}; fpath=({folder}); autoload _sluicectl; _sluicectl") == [given], "the first time"
