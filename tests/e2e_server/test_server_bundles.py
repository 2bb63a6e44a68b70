"""Whole states over HTTP: a bundle into the server, JSON or YAML, and out of it again, and what an agent says of it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.admin import AdminClient, fresh_id, pointers

YAML = {"content-type": "application/yaml"}
ONE = [{"name": "n", "algorithm": "fixed_window", "limit": 5, "window": "1s"}]


def bundle(organization: str, tenant: str, policies: int) -> dict[str, Any]:
    """A tenant with a plan and policies on it."""
    return {"format": "sluice/v1",
            "organizations": [{"id": organization}],
            "tenants": [{"id": tenant, "organization_id": organization}],
            "plans": [{"tenant_id": tenant, "id": "pro", "limits": ONE}],
            "policies": [{"tenant_id": tenant, "id": f"p{number}", "scope": {"resource": f"r{number}"}, "plan_id": "pro"}
                         for number in range(policies)]}


def test_an_agent_loads_what_is_exported(admin: AdminClient, program: Path, tmp_path: Path) -> None:
    tenant = fresh_id("shop")
    applied = admin.post("/apply", bundle(fresh_id("org"), tenant, 2500))
    assert applied.status == 200 and len(applied.body["changes"]) == 2503, applied
    assert applied.header("sluice-revision") == str(applied.body["revision"])
    exported = admin.get("/export", tenant=tenant)
    assert exported.header("etag") == f'"{exported.header("sluice-revision")}"'
    path = tmp_path / "bundle.json"
    path.write_text(json.dumps(exported.body))
    done = subprocess.run([program, "--policies", path, "--counters", "memory", "--check-config"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert admin.post("/apply", exported.body, query={"prune": "true"}).body["unchanged"] == 2503


def test_a_bundle_may_name_a_stored_organization_without_listing_it(admin: AdminClient) -> None:
    organization = fresh_id("org")
    assert admin.post("/organizations", {"id": organization, "name": "Stored"}).status == 201
    whole = bundle(organization, fresh_id("shop"), 1)
    del whole["organizations"]
    applied = admin.post("/apply", whole)
    assert applied.status == 200, applied
    assert sorted(change["kind"] for change in applied.body["changes"]) == ["plan", "policy", "tenant"]
    assert admin.get(f"/organizations/{organization}").body["name"] == "Stored", "it is as it was"
    whole["tenants"].append({"id": fresh_id("shop"), "organization_id": "none.such"})
    refused = admin.post("/apply", whole)
    assert refused.status == 422 and pointers(refused) == ["/tenants/1/organization_id"], refused
    assert "create it, or list it in the bundle's organizations" in refused.body["errors"][0]["detail"]


def test_what_is_exported_as_yaml_is_applied_and_loaded_again(admin: AdminClient, program: Path, tmp_path: Path) -> None:
    tenant = fresh_id("shop")
    whole = bundle(fresh_id("org"), tenant, 3)
    whole["plans"][0]["name"] = "on: it's #1 – \u2028"
    assert admin.post("/apply", whole).status == 200
    exported = admin.get("/export", tenant=tenant, query={"format": "yaml"})
    assert exported.status == 200 and exported.header("content-type") == "application/yaml", exported
    assert exported.header("etag") == f'"{exported.header("sluice-revision")}-yaml"'
    text = exported.body
    assert text.startswith("format: sluice/v1\n")
    again = admin.post("/apply", text, headers=YAML, query={"prune": "true"})
    assert again.status == 200 and again.body["changes"] == [], again
    path = tmp_path / "bundle.yaml"
    path.write_text(text)
    done = subprocess.run([program, "--policies", path, "--counters", "memory", "--check-config"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    wrong = admin.get("/export", query={"format": "xml"})
    assert wrong.status == 400 and pointers(wrong) == ["?format"], wrong


@pytest.mark.parametrize("kind", ["application/yaml", "Application/YAML; charset=utf-8", "text/yaml", "application/x-yaml"])
def test_a_bundle_may_be_yaml(admin: AdminClient, kind: str) -> None:
    organization, tenant = fresh_id("org"), fresh_id("shop")
    text = f"""
format: sluice/v1
organizations: [{{id: {organization}}}]   # made by hand
tenants:
  - id: {tenant}
    organization_id: {organization}
plans:
  - id: slow
    limits: &slow [{{name: n, algorithm: token_bucket, capacity: 10, refill_per_sec: 0.333333}}]
  - {{id: too, limits: *slow}}
"""
    assert admin.post("/validate", text, headers={"content-type": kind}).body["valid"] is True
    applied = admin.post("/apply", text, headers={"content-type": kind})
    assert [(change["action"], change["id"]) for change in applied.body["changes"]] == [
        ("create", organization), ("create", tenant), ("create", "slow"), ("create", "too")]
    assert admin.get("/plans/slow", tenant=tenant).body["limits"][0]["refill"] == "333333/1000000s"


def test_faults_of_yaml_have_their_places_in_it(admin: AdminClient) -> None:
    refused = admin.post("/apply", "format: sluice/v1\nplans:\n  - limit: ten\n    tenant_id: none\n", headers=YAML)
    assert refused.status == 422
    places = {error["pointer"]: (error["line"], error["column"]) for error in refused.body["errors"]}
    assert places["/plans/0/tenant_id"] == (4, 16), places
    broken = admin.post("/apply", "format: [", headers=YAML)
    assert broken.status == 400 and broken.body["errors"][0]["line"] == 1, broken


def test_yaml_is_taken_where_bundles_are_and_nowhere_else(admin: AdminClient, tenant: str) -> None:
    assert admin.put("/plans/p", "limits: []", tenant=tenant, headers=YAML).status == 415
    assert admin.post("/explain", "request: {}", headers=YAML).status == 415
    assert admin.post("/apply", "a,b", headers={"content-type": "text/csv"}).status == 415


def test_a_dry_run_tells_and_does_nothing(admin: AdminClient) -> None:
    wanted = bundle(fresh_id("org"), fresh_id("shop"), 3)
    before = admin.get("/revision").body
    told = admin.post("/apply", wanted, query={"dry_run": "true"})
    assert told.body["dry_run"] is True and told.body["revision"] is None and len(told.body["changes"]) == 6
    assert admin.get("/revision").body == before
    done = admin.post("/apply", wanted)
    assert done.body["changes"] == told.body["changes"]


def test_an_explanation_names_units_that_no_limit_counts(admin: AdminClient, tenant: str) -> None:
    limit = {"algorithm": "fixed_window", "limit": 10, "window": "1m", "unit": "tokens"}
    assert admin.put("/policies/p", {"scope": {"resource": "r"}, "key_by": "subject", "limits": [limit]}, tenant=tenant).status == 201
    told = admin.post("/explain", {"tenant_id": tenant, "request": {
        "subject": "u", "resource": "r", "costs": {"tokns": 3, "tokens": 1}}}).body
    assert [each["unit"] for each in told["uncounted_units"]] == ["tokns"], told
    assert 'Did you mean "tokens"?' in told["uncounted_units"][0]["why"]


def test_a_check_without_request_around_it_is_told_where_its_fields_go(admin: AdminClient, tenant: str) -> None:
    refused = admin.post("/explain", {"tenant_id": tenant, "subject": "u", "resource": "r"})
    said = {error["pointer"]: error["detail"] for error in refused.body["errors"]}
    assert refused.status == 422 and set(said) == {"/request", "/subject", "/resource"}, refused
    assert "a check request as agents take it" in said["/request"] and "move it into request" in said["/subject"]


def test_an_explanation_follows_what_was_applied(admin: AdminClient) -> None:
    tenant = fresh_id("shop")
    assert admin.post("/apply", bundle(fresh_id("org"), tenant, 2)).status == 200
    told = admin.post("/explain", {"tenant_id": tenant, "request": {"subject": "u", "resource": "r1"}}).body
    assert (told["policy_id"], told["plan_id"], told["reason"]) == ("p1", "pro", "judged")
    assert [candidate["outcome"] for candidate in told["candidates"]] == ["decides"]
    assert "uncounted_units" not in told
    refused = admin.post("/explain", {"tenant_id": tenant, "request": {"resourc": "r1"}})
    assert refused.status == 400 and pointers(refused)[0] == "/request/resourc", refused
