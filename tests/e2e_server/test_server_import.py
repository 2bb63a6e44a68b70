"""The configurations of other limiters become policies: by the command, by the admin API, and as an agent then decides."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import pytest

from support.admin import AdminClient
from support.agent import Agent
from support.bundle import Bundle, MintedKey
from support.server import Server

NGINX = """http {
  limit_req_zone $binary_remote_addr zone=perip:10m rate=10r/m;
  limit_req_status 503;
  server {
    server_name shop.example.com;
    location /api/ { limit_req zone=perip burst=20 nodelay; }
  }
}
"""
TRAEFIK = """http:
  routers:
    shop: {rule: "Host(`shop.example.com`)", middlewares: [limit], service: shop}
  middlewares:
    limit: {rateLimit: {average: 6, period: 1m, burst: 50}}
"""
KONG = """_format_version: "3.0"
services:
  - name: orders
    plugins: [{name: rate-limiting, config: {hour: 5, limit_by: ip}}]
"""
LIMITADOR = """- namespace: shop
  max_value: 3
  seconds: 3600
  conditions: ["method == 'POST'"]
  variables: [user]
"""
GUBERNATOR = """requests:
  - {name: login, unique_key: "", limit: 10, duration: 3600000, algorithm: LEAKY_BUCKET, burst: 12}
  - {name: mail, unique_key: "", limit: 4, duration: 3600000}
"""
ENVOY = """domain: shop
descriptors:
  - {key: path, value: /pay, rate_limit: {unit: year, requests_per_unit: 7}}
"""
EXAMPLES = {"nginx": NGINX, "traefik": TRAEFIK, "kong": KONG, "limitador": LIMITADOR, "gubernator": GUBERNATOR,
            "envoy-ratelimit": ENVOY}
SHOP = {"service": "shop.example.com", "source_ip": "192.0.2.1"}
DECISIONS: list[tuple[str, dict[str, Any], int]] = [
    ("nginx", {**SHOP, "endpoint": "/api/x"}, 21),
    ("traefik", SHOP, 50),
    ("kong", {"service": "orders", "source_ip": "192.0.2.1"}, 5),
    ("limitador", {"attributes": {"domain": "shop", "method": "POST", "user": "u1"}}, 3),
    ("gubernator", {"operation": "login", "subject": "account:1"}, 12),
    ("gubernator", {"operation": "mail", "subject": "account:1"}, 4),
    ("envoy-ratelimit", {"attributes": {"domain": "shop", "path": "/pay"}}, 7),
]


def run(program: Path, *arguments: str, text: Optional[str] = None) -> "subprocess.CompletedProcess[str]":
    """Runs the command, with the text as its stdin."""
    return subprocess.run([program, "import", *arguments], input=text or "", capture_output=True, text=True, timeout=60,
                          check=False)


def imported(admin: AdminClient, source: str, text: str, tenant: str, **query: str) -> Any:
    """The answer to POST /import."""
    return admin.post("/import", text, query={"from": source, "tenant_id": tenant, **query},
                      headers={"content-type": "text/plain"})


@pytest.mark.parametrize("source,check,admitted", DECISIONS, ids=lambda value: str(value)[:24])
def test_an_agent_decides_as_the_other_limiter(server: Server, admin: AdminClient, organization: str, key: MintedKey,
                                               make_agent: Callable[..., Agent], source: str, check: dict[str, Any],
                                               admitted: int) -> None:
    tenant = admin.tenant(organization)
    bundle = Bundle(tenant)
    made = imported(admin, source, EXAMPLES[source], tenant, dry_run="true")
    assert made.status == 200, made
    bundle.document["policies"] = made.body["bundle"]["policies"]
    with make_agent(bundle.key(key), "memory").start().client(key.text) as client:
        statuses = [client.check(**check).status for _ in range(admitted + 5)]
    assert statuses == [200] * admitted + [429] * 5


@pytest.mark.parametrize("source", EXAMPLES)
def test_what_was_imported_are_ordinary_policies_and_again_changes_nothing(admin: AdminClient, organization: str,
                                                                           source: str) -> None:
    tenant = admin.tenant(organization)
    dry = imported(admin, source, EXAMPLES[source], tenant, dry_run="true")
    assert dry.status == 200 and dry.body["dry_run"] and dry.body["revision"] is None, dry
    assert admin.get("/policies", tenant=tenant).body["items"] == []
    first = imported(admin, source, EXAMPLES[source], tenant)
    assert first.status == 200 and first.body["revision"] > 0, first
    assert {change["action"] for change in first.body["changes"]} == {"create"}
    again = imported(admin, source, EXAMPLES[source], tenant)
    assert again.body["changes"] == [] and again.body["unchanged"] == len(first.body["changes"]) + 1, "and the tenant"
    policy = first.body["changes"][0]["id"]
    assert len(admin.get(f"/policies/{policy}/versions", tenant=tenant).body["items"]) == 1
    audited = admin.get("/audit", tenant=tenant, query={"kind": "policy", "object_id": policy}).body["items"]
    assert [row["action"] for row in audited] == ["create"]


def test_an_import_that_cannot_be_read_says_line_rule_and_fix(admin: AdminClient, organization: str) -> None:
    tenant = admin.tenant(organization)
    refused = imported(admin, "nginx", "\nlimit_req_zone $uri zone=z:1m rate=fast;\n", tenant)
    assert refused.status == 422 and refused.body["errors"][0]["line"] == 2, refused
    assert "rate=10r/s" in refused.body["errors"][0]["detail"]
    unknown = imported(admin, "apache", "x", tenant)
    assert unknown.status == 400 and "traefik" in unknown.body["errors"][0]["detail"], unknown


def test_the_answer_lists_what_has_no_counterpart_with_its_line(admin: AdminClient, organization: str) -> None:
    notes = imported(admin, "nginx", NGINX, admin.tenant(organization), dry_run="true").body["notes"]
    assert [(note["line"], note["what"]) for note in notes] == [(3, "limit_req_status")]


def test_a_dry_run_of_the_command_prints_the_bundle_and_needs_no_server(server_program: Path) -> None:
    done = run(server_program, "nginx", "-", "--dry-run", "--tenant", "shop", text=NGINX)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("format: sluice/v1\n") and "nginx-shop.example.com-api" in done.stdout
    assert "stdin:3: limit_req_status: Sluice answers 429, not 503" in done.stderr
    strict = run(server_program, "nginx", "-", "--dry-run", "--strict", text=NGINX)
    assert strict.returncode == 1 and "--strict" in strict.stderr


def test_the_command_applies_to_a_running_server(server: Server, server_program: Path, admin: AdminClient,
                                                 organization: str, tmp_path: Path) -> None:
    tenant = admin.tenant(organization)
    (tmp_path / "token").write_text(server.token)
    (tmp_path / "traefik.yaml").write_text(TRAEFIK)
    done = run(server_program, "traefik", str(tmp_path / "traefik.yaml"), "--tenant", tenant, "--strict",
               "--server", f"http://127.0.0.1:{server.port}", "--token-file", str(tmp_path / "token"))
    assert done.returncode == 0, done.stderr
    assert [change["id"] for change in json.loads(done.stdout)["changes"]] == ["traefik-shop"]
    assert admin.get("/policies/traefik-shop", tenant=tenant).status == 200


def test_the_command_says_what_is_wrong_with_its_words_and_files(server_program: Path) -> None:
    for arguments, code, part in ((["nginx", "-"], 2, "add --dry-run"), (["--dry-run"], 2, "FROM is one of"),
                                  (["apache", "-", "--dry-run"], 2, "is not known"),
                                  (["nginx", "/none/such", "--dry-run"], 1, "cannot be read")):
        done = run(server_program, *arguments)
        assert done.returncode == code and part in done.stderr, (arguments, done.stderr)
    faulty = run(server_program, "kong", "-", "--dry-run", text="plugins: [\n")
    assert faulty.returncode == 1 and "stdin:" in faulty.stderr
