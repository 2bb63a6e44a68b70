"""sluicectl against a server: every command, broken input, no server, and tokens that are not valid."""

import json
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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
    ctl.run("login", "--server", address, "--token-file", written(tmp_path, "token", server.token))
    assert ctl.run("context", "list").stdout.count("\n") == 3
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
    assert '# line ' in (tmp_path / "seen").read_text() and "did you mean" in (tmp_path / "seen").read_text()
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
    assert "percent" in ctl.fault("rollout", "orders", "101", "-t", shop)


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
    assert "cannot be read" in ctl.fault("import", "limitador", str(tmp_path / "none"), "-t", tenant)


# What happened.

def test_the_audit_trail_says_who_changed_what(ctl: Sluicectl, shop: str) -> None:
    ctl.run("rollout", "orders", "30", "-t", shop)
    newest = ctl.run("audit", "-t", shop, "--limit", "1").stdout.splitlines()
    assert newest[0].split()[:4] == ["AT", "ACTOR", "ACTION", "KIND"]
    assert newest[1].split()[2:6] == ["rollout", "policy", shop, "orders"]
    assert "+ /rollout_percent 30" in ctl.run("audit", "-t", shop, "--limit", "1", "--changes").stdout
    assert len(ctl.json("audit", "-t", shop, "--limit", "2")["items"]) == 2
    assert "kind" in ctl.fault("audit", "--kind", "nothing")


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
    assert "subject" in ctl.run(*asked[:2], "-d", "sbject=x", *asked[4:], env=env, code=2).stderr


def test_fleet_watch_and_top_of_a_server_without_agents(ctl: Sluicectl, shop: str) -> None:
    assert ctl.run("fleet", "-t", shop).stderr == "No agents.\n"
    assert "No decisions." in ctl.run("watch", "--count", "1", "-t", shop).stdout
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
    assert ctl.run("--version").stdout.strip()[0].isdigit()
    assert 'Did you mean "apply"?' in ctl.fault("aply")
    assert "--help" in ctl.fault()
    assert "`sluicectl get --help`" in ctl.fault("get", "policies", "--lmit", "3")
    assert "kind is required" in ctl.fault("get")


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
    assert completed("rollback", "plan", "") == ["pro"]
