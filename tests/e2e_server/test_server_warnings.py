"""What is stored with a warning, because it is most likely not meant."""

from support.admin import ONE_PER_SECOND, AdminClient, bucket, pointers


def test_a_match_expr_in_metadata_is_the_policys_wherever_a_policy_is_written(admin: AdminClient, tenant: str) -> None:
    body = {"limits": [bucket()], "metadata": {"match_expr": "region == eu", "team": "pay"}}
    made = admin.put("/policies/a", body, tenant=tenant)
    assert made.status == 201, made
    assert (made.body["match_expr"], made.body["metadata"]) == ("region == eu", {"team": "pay"})
    assert [warning["pointer"] for warning in made.body["warnings"]] == ["/metadata/match_expr"]
    patched = admin.patch("/policies/a", {"metadata": {"match_expr": "region == us"}}, tenant=tenant)
    assert (patched.status, pointers(patched)) == (422, ["/metadata/match_expr"])
    bundle = {"format": "sluice/v1", "tenants": [{"id": tenant}], "policies": [{"id": "b", **body}]}
    applied = admin.post("/apply", bundle)
    assert applied.status == 200, applied
    assert [warning["pointer"] for warning in applied.body["warnings"]] == ["/policies/0/metadata/match_expr"]
    assert admin.get("/policies/b", tenant=tenant).body["match_expr"] == "region == eu"


def test_two_different_match_exprs_and_a_faulty_one_are_refused_at_the_one_in_metadata(
        admin: AdminClient, tenant: str) -> None:
    for extra in [{"match_expr": "region == us", "metadata": {"match_expr": "region == eu"}},
                  {"metadata": {"match_expr": "region ="}}]:
        answer = admin.put("/policies/a", {"limits": [bucket()], **extra}, tenant=tenant)
        assert (answer.status, pointers(answer)) == (422, ["/metadata/match_expr"])


def test_a_field_of_policies_in_metadata_is_stored_with_a_warning(admin: AdminClient, tenant: str) -> None:
    made = admin.put("/policies/a", {"limits": [bucket()], "metadata": {"mode": "shadow", "owner": "pay"}}, tenant=tenant)
    assert made.status == 201 and made.body["metadata"] == {"mode": "shadow", "owner": "pay"}
    assert [warning["pointer"] for warning in made.body["warnings"]] == ["/metadata/mode"]


# --- warnings --------------------------------------------------------------------------------------------------------

def test_two_policies_for_the_same_requests_are_stored_with_a_warning(admin: AdminClient, tenant: str) -> None:
    body = {"scope": {"resource": "x"}, "limits": [ONE_PER_SECOND]}
    assert "warnings" not in admin.put("/policies/a", body, tenant=tenant).body
    second = admin.put("/policies/b", body, tenant=tenant)
    assert second.status == 201
    assert [set(warning) for warning in second.body["warnings"]] == [{"pointer", "detail"}]
    assert "policy a" in second.body["warnings"][0]["detail"]
    assert "warnings" not in admin.put("/policies/c", {**body, "priority": 1}, tenant=tenant).body
    assert "warnings" not in admin.put("/policies/d", {**body, "enabled": False}, tenant=tenant).body


def test_a_policy_that_puts_its_tenant_into_one_slot_is_stored_with_a_warning(admin: AdminClient, tenant: str) -> None:
    made = admin.put("/policies/a", {"scope": {"resource": "x"}, "key_by": [], "limits": [
        {**ONE_PER_SECOND, "key_by": ["subject"]}]}, tenant=tenant)
    assert made.status == 201 and "slot" in str(made.body["warnings"]), made


def test_a_share_written_as_a_percentage_and_milliseconds_written_as_seconds_are_stored_with_a_warning(
        admin: AdminClient, tenant: str) -> None:
    limits = [{"algorithm": "fixed_window", "limit": 5, "window": 60000}]
    made = admin.put("/policies/a", {"rollout_percent": 0.25, "limits": limits}, tenant=tenant)
    assert made.status == 201, made
    warned = {warning["pointer"]: warning["detail"] for warning in made.body["warnings"]}
    assert set(warned) == {"/rollout_percent", "/limits/0/window"}
    assert "0.25 percent" in warned["/rollout_percent"] and "write 25" in warned["/rollout_percent"]
    assert "60000 seconds, 16 h 40 min" in warned["/limits/0/window"] and 'write 60 or "1m"' in warned["/limits/0/window"]
    again = admin.patch("/policies/a", {"rollout_percent": 25}, tenant=tenant)
    assert again.status == 200 and "warnings" not in again.body, "what is stored is not asked about again"


def test_a_policy_whose_time_is_over_is_stored_with_a_warning_and_stays_editable(admin: AdminClient, tenant: str) -> None:
    ended = {"limits": [ONE_PER_SECOND], "valid_to": "2020-01-01T00:00:00Z"}
    made = admin.put("/policies/a", ended, tenant=tenant)
    assert (made.status, [warning["pointer"] for warning in made.body["warnings"]]) == (201, ["/valid_to"])
    assert "in the past" in made.body["warnings"][0]["detail"]
    assert admin.patch("/policies/a", {"priority": 1}, tenant=tenant).status == 200
    later = admin.patch("/policies/a", {"valid_to": "2999-01-01T00:00:00Z"}, tenant=tenant)
    assert later.status == 200 and "warnings" not in later.body


def test_the_sixty_fifth_policy_that_no_index_can_use_is_refused(admin: AdminClient, tenant: str) -> None:
    body = {"scope": {"tenant": "*"}, "limits": [ONE_PER_SECOND]}
    for number in range(64):
        assert admin.put(f"/policies/p{number}", {**body, "priority": number}, tenant=tenant).status == 201
    answer = admin.put("/policies/more", {**body, "priority": 64}, tenant=tenant)
    assert (answer.status, pointers(answer)) == (422, ["/scope"])
    assert admin.put("/policies/p0", {**body, "priority": 99}, tenant=tenant).status == 200, "one of them may change"
    assert admin.put("/policies/more", {**body, "scope": {"resource": "x"}}, tenant=tenant).status == 201


def test_an_override_of_a_bundle_whose_time_is_over_gets_a_warning(admin: AdminClient, tenant: str) -> None:
    over = {"id": "o", "tenant_id": tenant, "plan_id": "pro", "limit_name": "token_bucket", "identity": {"resource": "r", "subject": "u"},
            "set": {"capacity": 20}, "expires_at": "2020-01-01T00:00:00Z"}
    bundle = {"format": "sluice/v1", "tenants": [{"id": tenant}], "plans": [{"id": "pro", "limits": [ONE_PER_SECOND]}], "overrides": [over]}
    applied = admin.post("/apply", bundle, query={"dry_run": "true"})
    assert applied.status == 200, applied
    assert [warning["pointer"] for warning in applied.body["warnings"]] == ["/overrides/0/expires_at"], applied
