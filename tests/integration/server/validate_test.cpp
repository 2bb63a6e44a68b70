// POST /v1/admin/validate: what storing a body would say.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "tests/integration/server/admin_rig.hpp"

namespace sluice::server::test {
namespace {

struct Acme : AdminRig {
  Acme() { found_acme(); }
  admin::FinishedAnswer validate(std::string_view body) { return ask("POST", "/v1/admin/validate", body); }
};

constexpr std::string_view kTwins = R"({"format":"sluice/v1","tenants":[{"id":"shop"}],"policies":[
  {"id":"a","scope":{"resource":"r"},"limits":[{"algorithm":"fixed_window","limit":1,"window":"1s"}]},
  {"id":"b","scope":{"resource":"r"},"limits":[{"algorithm":"fixed_window","limit":2,"window":"1s"}]}]})";

}  // namespace

TEST_CASE_FIXTURE(Acme, "a good body is answered in canonical form and changes nothing") {
  const std::string before = execute("SELECT revision FROM revision");
  const admin::FinishedAnswer answer = validate(
      R"({"kind":"plan","tenant_id":"shop","object":{"name":"pro","algorithm":"token_bucket","bucket_capacity":100,"refill_rate_per_sec":20}})");
  CHECK(answer.status == 200);
  CHECK(at(answer, "/valid") == "true");
  CHECK(at(answer, "/canonical/id") == "pro");
  CHECK(at(answer, "/canonical/limits/0/capacity") == "100");
  CHECK(at(answer, "/warnings") == "[]");
  CHECK(ask("GET", "/v1/admin/plans/pro?tenant_id=shop").status == 404);
  CHECK(execute("SELECT revision FROM revision") == before);
}

TEST_CASE_FIXTURE(Acme, "all faults of a body are named, in the body of the call") {
  const admin::FinishedAnswer answer =
      validate(R"({"kind":"policy","tenant_id":"shop","object":{"id":"p","plan_id":"none",
      "mode":"loud","priority":"high","match_expr":"region=","colour":"red"}})");
  CHECK(answer.status == 422);
  const std::string found = faulty(answer);
  for (const std::string_view field : {"plan_id", "mode", "priority", "match_expr", "colour"}) {
    CHECK_MESSAGE(found.find(fmt::format("/object/{}", field)) != std::string::npos, found);
  }
  CHECK(faulty(validate(R"({"kind":"cheese","object":{}})")) == "/kind");
  CHECK(faulty(validate(R"({"object":[]})")) == "/kind /object");
  CHECK(faulty(validate(R"({"kind":"key","tenant_id":"","object":{}})")) == "/tenant_id");
}

TEST_CASE_FIXTURE(Acme, "conflicts, and a tenant put into one slot, are warned of") {
  const std::string_view limits = R"("limits":[{"algorithm":"fixed_window","limit":1,"window":"1s"}])";
  REQUIRE(ask("PUT", "/v1/admin/policies/a?tenant_id=shop", fmt::format(R"({{"scope":{{"resource":"r"}},{}}})", limits))
              .status == 201);
  const admin::FinishedAnswer twin = validate(fmt::format(
      R"({{"kind":"policy","tenant_id":"shop","object":{{"id":"b","scope":{{"resource":"r"}},{}}}}})", limits));
  CHECK(twin.status == 200);
  CHECK(at(twin, "/warnings/0/detail").find("conflicts with policy a") != std::string::npos);
  const admin::FinishedAnswer slot = validate(
      R"({"kind":"plan","tenant_id":"shop","object":{"id":"p","key_by":[],"limits":[{"algorithm":"fixed_window","limit":1,"window":"1s","key_by":["subject"]}]}})");
  CHECK(at(slot, "/warnings/0/pointer") == "/key_by");
}

TEST_CASE_FIXTURE(Acme, "every kind can be validated, a key without a secret that nobody has") {
  CHECK(at(validate(R"({"kind":"organization","object":{"name":"New one"}})"), "/canonical/id") == "new-one");
  CHECK(at(validate(R"({"kind":"tenant","object":{"id":"t","organization_id":"acme"}})"), "/canonical/id") == "t");
  const admin::FinishedAnswer key = validate(R"({"kind":"key","tenant_id":"shop","object":{"name":"prod"}})");
  CHECK(key.status == 200);
  CHECK(at(key, "/canonical/key_hash") == "(absent)");
  CHECK(key.body.find("slk_") == std::string::npos);
}

TEST_CASE_FIXTURE(Acme, "a bundle is validated whole, with the lines of its faults and warnings") {
  const admin::FinishedAnswer good = validate(kTwins);
  CHECK(good.status == 200);
  CHECK(at(good, "/canonical/policies/1/id") == "b");
  CHECK(at(good, "/warnings/0/pointer") == "/policies/1");
  CHECK(at(good, "/warnings/0/line") == "3");
  const admin::FinishedAnswer bad = validate(R"({"format":"sluice/v1","tenants":[{"id":"shop"}],
"plans":[{"id":"p","algorithm":"dice"}],
"keys":[{"id":"k"}]})");
  CHECK(bad.status == 422);
  CHECK(faulty(bad).find("/plans/0/algorithm") != std::string::npos);
  CHECK(faulty(bad).find("/keys/0") != std::string::npos);
  CHECK(at(bad, "/errors/0/line") == "2");
}

TEST_CASE_FIXTURE(Acme, "a bundle in YAML is validated with the places in the YAML") {
  const admin::FinishedAnswer bad =
      ask("POST", "/v1/admin/validate", "format: sluice/v1\ntenants:\n  - id: shop\n    mode: loud\n",
          {{"content-type", "application/yaml"}});
  CHECK(bad.status == 422);
  CHECK(faulty(bad) == "/tenants/0/mode");
  CHECK(at(bad, "/errors/0/line") == "4");
  CHECK(at(bad, "/errors/0/column") == "11");
  const admin::FinishedAnswer broken =
      ask("POST", "/v1/admin/validate", "format: [", {{"content-type", "application/yaml"}});
  CHECK(broken.status == 400);
}

}  // namespace sluice::server::test
