// POST /v1/admin/apply: a bundle into the store.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "common/json/edit.hpp"
#include "tests/integration/server/admin_rig.hpp"

namespace sluice::server::test {
namespace {

constexpr std::string_view kBundle = R"({"format":"sluice/v1",
 "organizations":[{"id":"acme","name":"Acme"}],
 "tenants":[{"id":"shop","organization_id":"acme"}],
 "plans":[{"tenant_id":"shop","id":"pro","limits":[{"name":"burst","algorithm":"token_bucket","capacity":100,"refill_per_sec":20}]}],
 "policies":[{"tenant_id":"shop","id":"orders","scope":{"resource":"GET:/orders"},"plan_id":"pro"},
             {"tenant_id":"shop","id":"pay","scope":{"resource":"POST:/pay"},"plan_id":"pro"}],
 "keys":[{"tenant_id":"shop","id":"k1","name":"prod","key_hash":"sha256:00112233445566778899aabbccddeeff:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}]})";

// A bundle of tenant shop with these members.
std::string shop(std::string_view members, std::string_view tenant = R"({"id":"shop"})") {
  return fmt::format(R"({{"format":"sluice/v1","tenants":[{}],{}}})", tenant, members);
}

// "create policy orders, delete plan pro"
std::string changes_of(const admin::FinishedAnswer& answer) {
  json::Tree tree;
  const auto value = tree.parse(answer.body);
  REQUIRE(value);
  const json::Value* const list = value->find("changes");
  if (list == nullptr) return answer.body;
  std::string text;
  for (const json::Value& change : list->items()) {
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", change.text_of("action"), change.text_of("kind"),
                        change.text_of("id"));
  }
  return text;
}

struct Platform : AdminRig {
  admin::FinishedAnswer apply(std::string_view bundle, std::string_view query = "", const Headers& headers = {}) {
    return ask("POST", fmt::format("/v1/admin/apply{}", query), bundle, headers);
  }
  std::string revision() { return execute("SELECT revision FROM revision"); }
};

struct Applied : Platform {
  Applied() { REQUIRE(apply(kBundle).status == 200); }
};

constexpr std::string_view kOne = R"("limits":[{"name":"n","algorithm":"fixed_window","limit":5,"window":"1s"}])";

}  // namespace

TEST_CASE_FIXTURE(Platform,
                  "a bundle is created whole: one revision, a version, a change and an audit row for each object") {
  const long before = std::stol(revision());
  const admin::FinishedAnswer answer = apply(kBundle);
  REQUIRE_MESSAGE(answer.status == 200, answer.body);
  CHECK(changes_of(answer) ==
        "create organization acme, create tenant shop, create plan pro, create policy orders, "
        "create policy pay, create key k1");
  CHECK(at(answer, "/unchanged") == "0");
  CHECK(at(answer, "/revision") == std::to_string(before + 1));
  CHECK(header(answer, "Sluice-Revision") == std::to_string(before + 1));
  CHECK(revision() == std::to_string(before + 1));
  CHECK(execute(fmt::format("SELECT count(*), min(ordinal), max(ordinal) FROM changes WHERE revision = {}",
                            before + 1)) == "6|1|6");
  CHECK(execute(fmt::format("SELECT count(*) FROM audit WHERE revision = {} AND action = 'create'", before + 1)) ==
        "6");
  CHECK(execute(fmt::format("SELECT count(*) FROM versions WHERE revision = {} AND version = 1", before + 1)) == "6");
  CHECK(at(ask("GET", "/v1/admin/policies/orders?tenant_id=shop"), "/plan_id") == "pro");
  CHECK(execute("SELECT count(DISTINCT place) FROM policies WHERE NOT unindexed") == "2");
}

TEST_CASE_FIXTURE(Applied, "the same bundle a second time changes nothing and makes no revision") {
  const std::string before = revision();
  const admin::FinishedAnswer answer = apply(kBundle);
  CHECK(answer.status == 200);
  CHECK(at(answer, "/changes") == "[]");
  CHECK(at(answer, "/unchanged") == "6");
  CHECK(at(answer, "/revision") == "null");
  CHECK(revision() == before);
  CHECK(changes_of(apply(kBundle, "?prune=true")) == "");
}

TEST_CASE_FIXTURE(Applied, "what an export gives, applied again with prune, changes nothing") {
  const std::string text = ask("GET", "/v1/admin/export").body;
  const admin::FinishedAnswer again = apply(text, "?prune=true");
  REQUIRE_MESSAGE(again.status == 200, again.body);
  CHECK(changes_of(again) == "");
  REQUIRE(ask("DELETE", "/v1/admin/policies/pay?tenant_id=shop").status == 204);
  REQUIRE(ask("PATCH", "/v1/admin/plans/pro?tenant_id=shop", R"({"name":"Pro"})").status == 200);
  CHECK(changes_of(apply(text, "?prune=true")) == "update plan pro, create policy pay");
  // A version is never given twice.
  CHECK(at(ask("GET", "/v1/admin/policies/pay?tenant_id=shop"), "/version") == "3");
}

TEST_CASE_FIXTURE(Applied, "what differs is updated, and the answer says how") {
  std::string changed(kBundle);
  changed.replace(changed.find("\"capacity\":100"), 14, "\"capacity\":150");
  changed.replace(changed.find("\"name\":\"prod\","), 14, "");
  const admin::FinishedAnswer answer = apply(changed);
  REQUIRE_MESSAGE(answer.status == 200, answer.body);
  CHECK(changes_of(answer) == "update plan pro, update key k1");
  CHECK(at(answer, "/changes/0/diff/limits/0/capacity") == "150");
  CHECK(at(answer, "/changes/0/tenant_id") == "shop");
  CHECK(at(answer, "/changes/1/diff") == R"({"name":null})");
  CHECK(at(answer, "/unchanged") == "4");
  CHECK(at(ask("GET", "/v1/admin/plans/pro?tenant_id=shop"), "/version") == "2");
}

TEST_CASE_FIXTURE(Applied, "a dry run says what would be changed, and changes nothing, idempotent or not") {
  const std::string before = revision();
  const admin::FinishedAnswer answer =
      apply(shop(fmt::format(R"("policies":[{{"id":"new","scope":{{"resource":"r"}},{}}}])", kOne)),
            "?dry_run=true&prune=true", {{"idempotency-key", "once"}});
  REQUIRE_MESSAGE(answer.status == 200, answer.body);
  CHECK(changes_of(answer) == "create policy new, delete policy orders, delete policy pay");
  CHECK(at(answer, "/dry_run") == "true");
  CHECK(at(answer, "/revision") == "null");
  CHECK(revision() == before);
  CHECK(execute("SELECT string_agg(id, ' ' ORDER BY id) FROM policies") == "orders pay");
}

TEST_CASE_FIXTURE(Applied,
                  "prune removes what is missing from the lists there are, in the tenants there are, and no more") {
  REQUIRE(ask("POST", "/v1/admin/tenants", R"({"id":"bank","organization_id":"acme"})").status == 201);
  REQUIRE(
      ask("PUT", "/v1/admin/policies/loan?tenant_id=bank", fmt::format(R"({{"scope":{{"resource":"r"}},{}}})", kOne))
          .status == 201);
  const std::string only_policies =
      shop(fmt::format(R"("policies":[{{"id":"orders","scope":{{"resource":"r"}},{}}}])", kOne));
  CHECK(changes_of(apply(only_policies)) == "update policy orders");
  CHECK(changes_of(apply(only_policies, "?prune=true")) == "delete policy pay");
  CHECK(changes_of(apply(shop(R"("plans":[])"), "?prune=true")) == "delete plan pro");
  CHECK(execute("SELECT count(*) FROM keys") == "1");
  CHECK(execute("SELECT count(*) FROM policies WHERE tenant_id = 'bank'") == "1");
}

TEST_CASE_FIXTURE(Applied,
                  "prune removes tenants only of the organization that the call names, with all that is theirs") {
  REQUIRE(ask("POST", "/v1/admin/tenants", R"({"id":"bank","organization_id":"acme"})").status == 201);
  REQUIRE(ask("PUT", "/v1/admin/plans/b?tenant_id=bank", fmt::format("{{{}}}", kOne)).status == 201);
  const std::string bank = R"({"format":"sluice/v1","tenants":[{"id":"bank"}]})";
  CHECK(changes_of(apply(bank, "?prune=true")) == "");
  const admin::FinishedAnswer answer = apply(bank, "?prune=true&organization_id=acme");
  CHECK(changes_of(answer) ==
        "delete policy orders, delete policy pay, delete plan pro, delete key k1, delete tenant shop");
  CHECK(execute("SELECT string_agg(id, ' ') FROM tenants") == "bank");
  CHECK(execute("SELECT count(*) FROM plans") == "1");
}

TEST_CASE_FIXTURE(Applied, "a tenant that a token is for is not pruned") {
  token("operator", R"("organization_id":"acme","tenant_ids":["shop"])");
  const admin::FinishedAnswer answer =
      apply(R"({"format":"sluice/v1","tenants":[]})", "?prune=true&organization_id=acme");
  CHECK(answer.status == 409);
  CHECK(execute("SELECT count(*) FROM policies") == "2");
}

TEST_CASE_FIXTURE(Applied,
                  "what is used outside of the bundle is not removed, and not changed so that it breaks its user") {
  const admin::FinishedAnswer removed = apply(shop(R"("plans":[])"), "?prune=true");
  CHECK(removed.status == 422);
  CHECK(removed.body.find("policy orders uses it") != std::string::npos);
  // The policies count by subject already.
  const admin::FinishedAnswer changed = apply(shop(
      R"("plans":[{"id":"pro","key_by":[],"limits":[{"name":"n","algorithm":"fixed_window","limit":5,"window":"1s","key_by":["subject"]}]}])"));
  CHECK(changed.status == 422);
  CHECK(changed.body.find("policy pay of tenant shop, which is not in the bundle, would become invalid") !=
        std::string::npos);
  CHECK(
      apply(
          shop(
              R"("plans":[{"id":"pro","limits":[{"name":"burst","algorithm":"token_bucket","capacity":5,"refill_per_sec":1}]}])"))
          .status == 200);
}

TEST_CASE_FIXTURE(Applied, "all faults of a bundle are named at once, with lines and columns, and nothing is changed") {
  const std::string before = revision();
  const admin::FinishedAnswer answer = apply(R"({"format":"sluice/v1","tenants":[{"id":"shop"}],
"plans":[{"id":"p","algorithm":"dice"}],
"policies":[{"id":"q","plan_id":"none"},{"id":"good","scope":{"resource":"r"},"plan_id":"p","mode":"loud"}]})");
  CHECK(answer.status == 422);
  const std::string found = faulty(answer);
  for (const std::string_view pointer : {"/plans/0/algorithm", "/policies/0/plan_id", "/policies/1/mode"}) {
    CHECK_MESSAGE(found.find(pointer) != std::string::npos, found);
  }
  CHECK(at(answer, "/errors/0/line") == "2");
  CHECK(revision() == before);
  CHECK(apply("{").status == 400);
  CHECK(faulty(apply(R"({"format":"sluice/v2"})")) == "/format");
  CHECK(faulty(apply(kBundle, "?dry_run=yes")) == "?dry_run");
}

TEST_CASE_FIXTURE(Applied,
                  "a tenant of many policies that no index can use is refused, counting what stays beside the bundle") {
  const auto unindexed = [](int from, int to) {
    std::string list;
    for (int i = from; i < to; ++i) {
      list += fmt::format(R"({}{{"id":"u{}","priority":{},{}}})", list.empty() ? "" : ",", i, i, kOne);
    }
    return shop(fmt::format(R"("policies":[{}])", list));
  };
  CHECK(apply(unindexed(0, 64)).status == 200);
  const admin::FinishedAnswer more = apply(unindexed(64, 65));
  CHECK(more.status == 422);
  CHECK(faulty(more) == "/policies");
  CHECK(apply(unindexed(1, 65), "?prune=true").status == 200);
  CHECK(apply(unindexed(0, 65), "?prune=true").status == 422);
}

TEST_CASE_FIXTURE(Applied,
                  "what a bundle does not say of a tenant's organization follows from where it is, or who calls") {
  CHECK(changes_of(apply(shop(R"("plans":[])"))) == "");
  const std::string acme = token("org_admin", R"("organization_id":"acme")");
  const admin::FinishedAnswer made =
      ask_as(acme, "POST", "/v1/admin/apply", R"({"format":"sluice/v1","tenants":[{"id":"bank"}]})");
  CHECK(changes_of(made) == "create tenant bank");
  CHECK(at(ask("GET", "/v1/admin/tenants/bank"), "/organization_id") == "acme");
  CHECK(faulty(apply(R"({"format":"sluice/v1","tenants":[{"id":"lone"}]})")) == "/tenants/0/organization_id");
  CHECK(changes_of(apply(R"({"format":"sluice/v1","tenants":[{"id":"lone"}]})", "?organization_id=acme")) ==
        "create tenant lone");
  CHECK(faulty(apply(R"({"format":"sluice/v1","tenants":[{"id":"t"}]})", "?organization_id=none")) ==
        "?organization_id");
}

TEST_CASE_FIXTURE(Applied, "nobody applies beyond his scope: what is foreign is as what is not there") {
  REQUIRE(
      apply(
          R"({"format":"sluice/v1","organizations":[{"id":"other"}],"tenants":[{"id":"kiosk","organization_id":"other"}]})")
          .status == 200);
  const std::string acme = token("org_admin", R"("organization_id":"acme")");
  const auto as = [&](const std::string& who, std::string_view body) {
    return ask_as(who, "POST", "/v1/admin/apply", body);
  };
  for (const std::string_view id : {"other", "nobody"}) {
    const admin::FinishedAnswer answer =
        as(acme, fmt::format(R"({{"format":"sluice/v1","organizations":[{{"id":"{}"}}]}})", id));
    CHECK(answer.status == 422);
    CHECK(faulty(answer) == "/organizations/0/id");
    CHECK(at(answer, "/errors/0/detail").find("only platform_admin can create one") != std::string::npos);
  }
  const std::string shop_only = token("org_admin", R"("organization_id":"acme","tenant_ids":["shop"])");
  for (const std::string_view id : {"kiosk", "nobody"}) {
    const admin::FinishedAnswer answer =
        as(shop_only, fmt::format(R"({{"format":"sluice/v1","tenants":[{{"id":"{}"}}]}})", id));
    CHECK(answer.status == 422);
    CHECK(faulty(answer) == "/tenants/0/id");
  }
  CHECK(changes_of(as(shop_only, shop(fmt::format(R"("plans":[{{"id":"mini",{}}}])", kOne)))) == "create plan mini");
  // The id of somebody else's tenant cannot be had, nor his key's.
  const admin::FinishedAnswer taken = as(acme, R"({"format":"sluice/v1","tenants":[{"id":"kiosk"}]})");
  CHECK(taken.status == 422);
  CHECK(faulty(taken) == "/tenants/0/id");
  CHECK(at(ask("GET", "/v1/admin/tenants/kiosk"), "/organization_id") == "other");
  for (const std::string_view role : {"operator", "auditor"}) {
    CHECK(as(token(role, R"("organization_id":"acme")"), kBundle).status == 403);
  }
}

TEST_CASE_FIXTURE(Applied, "a key or a tenant does not move to another owner") {
  REQUIRE(apply(R"({"format":"sluice/v1","organizations":[{"id":"other"}]})").status == 200);
  const std::string hash =
      "sha256:00112233445566778899aabbccddeeff:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
  CHECK(
      faulty(apply(fmt::format(
          R"({{"format":"sluice/v1","tenants":[{{"id":"bank","organization_id":"acme"}}],"organizations":[{{"id":"acme","name":"Acme"}}],"keys":[{{"tenant_id":"bank","id":"k1","key_hash":"{}"}}]}})",
          hash))) == "/keys/0/tenant_id");
  CHECK(
      faulty(apply(
          R"({"format":"sluice/v1","organizations":[{"id":"other"}],"tenants":[{"id":"shop","organization_id":"other"}]})")) ==
      "/tenants/0/organization_id");
}

TEST_CASE_FIXTURE(Applied, "the mode of a bundle is the platform's to set") {
  const std::string acme = token("org_admin", R"("organization_id":"acme")");
  const auto mode = [](std::string_view name) { return fmt::format(R"({{"format":"sluice/v1","mode":"{}"}})", name); };
  CHECK(faulty(ask_as(acme, "POST", "/v1/admin/apply", mode("shadow"))) == "/mode");
  CHECK(ask_as(acme, "POST", "/v1/admin/apply", mode("enforce")).status == 200);
  const admin::FinishedAnswer answer = apply(mode("shadow"));
  CHECK(changes_of(answer) == "update setting global");
  CHECK(at(answer, "/changes/0/diff/mode") == "shadow");
  CHECK(at(ask("GET", "/v1/admin/export"), "/mode") == "shadow");
  CHECK(changes_of(apply(R"({"format":"sluice/v1"})")) == "");
}

TEST_CASE_FIXTURE(Platform, "a bundle in YAML is applied, and its faults have the places in the YAML") {
  const admin::FinishedAnswer answer = apply(R"(format: sluice/v1
organizations: [{id: acme}]
tenants:
  - {id: shop, organization_id: acme}
plans:
  - id: pro
    limits: &limits
      - {name: burst, algorithm: token_bucket, capacity: 100, refill_per_sec: 0.333333}
  - {id: max, limits: *limits}
)",
                                             "", {{"content-type", "application/yaml"}});
  REQUIRE_MESSAGE(answer.status == 200, answer.body);
  CHECK(changes_of(answer) == "create organization acme, create tenant shop, create plan pro, create plan max");
  const admin::FinishedAnswer faults =
      apply("format: sluice/v1\ntenants:\n- id: shop\n  organization_id: none\n  mode: loud\n", "",
            {{"content-type", "application/yaml"}});
  CHECK(faults.status == 422);
  CHECK(faulty(faults) == "/tenants/0/organization_id /tenants/0/mode");
  CHECK(at(faults, "/errors/1/line") == "5");
  CHECK(at(faults, "/errors/1/column") == "9");
}

TEST_CASE_FIXTURE(Platform, "a repeated apply with the same key answers the same, and is done once") {
  const admin::FinishedAnswer first = apply(kBundle, "", {{"idempotency-key", "a"}});
  const admin::FinishedAnswer second = apply(kBundle, "", {{"idempotency-key", "a"}});
  CHECK(second.body == first.body);
  CHECK(header(second, "Idempotency-Replayed") == "true");
  CHECK(execute("SELECT count(*) FROM audit WHERE action = 'create' AND kind = 'policy'") == "2");
}

TEST_CASE_FIXTURE(Platform, "thousands of objects are one revision, numbered without a gap, and so is their removal") {
  constexpr int kMany = 4500;
  std::string list;
  for (int i = 0; i < kMany; ++i) {
    list += fmt::format(R"({}{{"id":"p{}","scope":{{"resource":"r{}"}},{}}})", i == 0 ? "" : ",", i, i, kOne);
  }
  const std::string head =
      R"({"format":"sluice/v1","organizations":[{"id":"acme"}],"tenants":[{"id":"shop","organization_id":"acme"}],)";
  const admin::FinishedAnswer made = apply(fmt::format(R"({}"policies":[{}]}})", head, list));
  REQUIRE(made.status == 200);
  const std::string revision_made = at(made, "/revision");
  CHECK(execute(fmt::format("SELECT count(*), max(ordinal) FROM changes WHERE revision = {}", revision_made)) ==
        "4502|4502");
  CHECK(execute("SELECT count(*), max(seq) FROM audit WHERE organization_id = 'acme'") == "4502|4502");
  CHECK(at(apply(fmt::format(R"({}"policies":[{}]}})", head, list)), "/unchanged") == "4502");
  CHECK(apply(head + R"("policies":[]})", "?prune=true").status == 200);
  CHECK(execute("SELECT count(*) FROM policies") == "0");
  CHECK(execute("SELECT count(*) FROM versions WHERE kind = 'policy' AND version = 2 AND document IS NULL") ==
        std::to_string(kMany));
}

}  // namespace sluice::server::test
