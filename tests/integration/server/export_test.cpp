// GET /v1/admin/export: a scope's state as a bundle.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "common/objects/bundle_json.hpp"
#include "common/policy/match_expr.hpp"
#include "common/policy/snapshot.hpp"
#include "tests/integration/server/admin_rig.hpp"

namespace sluice::server::test {
namespace {

struct Shop : AdminRig {
  Shop() {
    found_acme();
    must("PUT", "/v1/admin/plans/pro?tenant_id=shop",
         R"({"algorithm":"token_bucket","capacity":10,"refill_per_sec":1})");
    must("PUT", "/v1/admin/policies/orders?tenant_id=shop",
         R"({"scope":{"resource":"GET:/orders"},"plan_id":"pro","match_expr":"region==eu"})");
    must("PUT", "/v1/admin/policies/orders?tenant_id=shop", R"({"scope":{"resource":"GET:/orders"},"plan_id":"pro"})");
    must("PUT", "/v1/admin/plans/till?tenant_id=kiosk", R"({"algorithm":"fixed_window","limit":5,"window":"1s"})");
    must("PUT", "/v1/admin/keys/k1", R"({"tenant_id":"shop","name":"prod"})");
  }
  admin::FinishedAnswer must(std::string_view method, std::string_view target, std::string_view body) {
    admin::FinishedAnswer answer = ask(method, target, body);
    if (answer.status >= 300) throw std::runtime_error(answer.body);
    return answer;
  }
};

Bundle bundle_of(const admin::FinishedAnswer& answer) {
  auto bundle = parse_bundle(answer.body, &policy::check_expression);
  REQUIRE_MESSAGE(bundle, answer.body);
  CHECK(policy::build_snapshot(*bundle, 1, 0));
  return std::move(*bundle);
}

std::string tenants_of(const Bundle& bundle) {
  std::string ids;
  for (const Tenant& tenant : bundle.tenants) ids += tenant.id + " ";
  return ids;
}

}  // namespace

TEST_CASE_FIXTURE(Shop,
                  "an export is a bundle that agents load: everything, keys as hashes, policies with their version") {
  const admin::FinishedAnswer answer = ask("GET", "/v1/admin/export");
  REQUIRE(answer.status == 200);
  const Bundle bundle = bundle_of(answer);
  CHECK(tenants_of(bundle) == "bank kiosk shop ");
  CHECK(bundle.organizations.size() == 2);
  CHECK(bundle.plans.size() == 2);
  REQUIRE(bundle.policies.size() == 1);
  CHECK(bundle.policies[0].version == 2);
  REQUIRE(bundle.keys.size() == 1);
  CHECK(bundle.keys[0].key_hash.starts_with("sha256:"));
  CHECK(bundle.mode == Mode::enforce);
}

TEST_CASE_FIXTURE(Shop, "an export lists every kind but overrides, also where there is none of it") {
  const admin::FinishedAnswer answer = ask("GET", "/v1/admin/export?tenant_id=bank");
  CHECK(at(answer, "/plans") == "[]");
  CHECK(at(answer, "/policies") == "[]");
  CHECK(at(answer, "/keys") == "[]");
  CHECK(at(answer, "/overrides") == "(absent)");
  CHECK(at(answer, "/organizations/0/id") == "acme");
  CHECK(at(ask("GET", "/v1/admin/export?include=overrides"), "/overrides") == "[]");
}

TEST_CASE_FIXTURE(Shop, "an export can be of one organization or one tenant") {
  CHECK(tenants_of(bundle_of(ask("GET", "/v1/admin/export?organization_id=acme"))) == "bank shop ");
  CHECK(tenants_of(bundle_of(ask("GET", "/v1/admin/export?tenant_id=kiosk"))) == "kiosk ");
  CHECK(tenants_of(bundle_of(ask("GET", "/v1/admin/export?organization_id=acme&tenant_id=shop"))) == "shop ");
  CHECK(ask("GET", "/v1/admin/export?organization_id=acme&tenant_id=kiosk").status == 404);
  CHECK(ask("GET", "/v1/admin/export?organization_id=nobody").status == 404);
  CHECK(faulty(ask("GET", "/v1/admin/export?include=keys")) == "?include");
}

TEST_CASE_FIXTURE(Shop, "an export holds nothing beyond the caller's scope") {
  const std::string acme = token("auditor", R"("organization_id":"acme")");
  const Bundle seen = bundle_of(ask_as(acme, "GET", "/v1/admin/export"));
  CHECK(tenants_of(seen) == "bank shop ");
  CHECK(seen.organizations.size() == 1);
  CHECK(ask_as(acme, "GET", "/v1/admin/export?tenant_id=kiosk").status == 404);
  CHECK(ask_as(acme, "GET", "/v1/admin/export?organization_id=other").status == 404);
  const std::string bank = token("operator", R"("organization_id":"acme","tenant_ids":["bank"])");
  const Bundle small = bundle_of(ask_as(bank, "GET", "/v1/admin/export"));
  CHECK(tenants_of(small) == "bank ");
  CHECK(small.keys.empty());
}

TEST_CASE_FIXTURE(Shop, "an export names its revision, and is not sent again to who has it") {
  const admin::FinishedAnswer first = ask("GET", "/v1/admin/export");
  const std::string revision = header(first, "Sluice-Revision");
  CHECK(header(first, "ETag") == fmt::format("\"{}\"", revision));
  const admin::FinishedAnswer same = ask("GET", "/v1/admin/export", "", {{"if-none-match", header(first, "ETag")}});
  CHECK(same.status == 304);
  CHECK(same.body.empty());
  must("PATCH", "/v1/admin/plans/pro?tenant_id=shop", R"({"name":"Pro"})");
  const admin::FinishedAnswer next = ask("GET", "/v1/admin/export", "", {{"if-none-match", header(first, "ETag")}});
  CHECK(next.status == 200);
  CHECK(header(next, "Sluice-Revision") == std::to_string(std::stol(revision) + 1));
}

TEST_CASE_FIXTURE(Shop, "an export of more rows than are read at once has each of them once") {
  execute(
      "INSERT INTO policies (organization_id, tenant_id, id, version, document, place, unindexed) "
      "SELECT 'acme', CASE WHEN i < 1500 THEN 'shop' ELSE 'bank' END, 'p-' || i, 1, "
      "('{\"tenant_id\":\"' || CASE WHEN i < 1500 THEN 'shop' ELSE 'bank' END || '\",\"id\":\"p-' || i || "
      "'\",\"scope\":{\"resource\":\"r-' || i || '\"},\"limits\":[{\"name\":\"quota\",\"algorithm\":\"fixed_window\","
      "\"limit\":5,\"window\":\"1s\"}]}')::json, sha256(convert_to(i::text, 'UTF8')), false FROM generate_series(1, "
      "3000) i");
  CHECK(bundle_of(ask("GET", "/v1/admin/export")).policies.size() == 3001);
  CHECK(bundle_of(ask("GET", "/v1/admin/export?tenant_id=bank")).policies.size() == 1501);
}

}  // namespace sluice::server::test
