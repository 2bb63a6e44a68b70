// The audit trail as it is read, and the newest revision.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "tests/integration/server/admin_rig.hpp"

namespace sluice::server::test {
namespace {

constexpr std::string_view kAudit = "/v1/admin/audit";

struct Acme : AdminRig {
  Acme() { found_acme(); }

  std::string ids(std::string_view query, std::string_view token = "") {
    return each(ask_as(token.empty() ? admin() : token, "GET", fmt::format("{}?{}", kAudit, query)), "object_id");
  }
};

}  // namespace

TEST_CASE_FIXTURE(Acme, "the trail says who changed what, from where, with which result") {
  const admin::FinishedAnswer patched = ask("PATCH", "/v1/admin/tenants/shop", R"({"name":"Shop"})");
  const admin::FinishedAnswer trail = ask("GET", fmt::format("{}?limit=1", kAudit));
  CHECK(trail.status == 200);
  CHECK(at(trail, "/items/0/organization_id") == "acme");
  CHECK(at(trail, "/items/0/tenant_id") == "shop");
  CHECK(at(trail, "/items/0/seq") == "4");
  CHECK(at(trail, "/items/0/actor_id") == at(ask("GET", "/v1/admin/whoami"), "/id"));
  CHECK(at(trail, "/items/0/actor_role") == "platform_admin");
  CHECK(at(trail, "/items/0/source") == "192.0.2.1");
  CHECK(at(trail, "/items/0/request_id") == "test-6");
  CHECK(at(trail, "/items/0/action") == "update");
  CHECK(at(trail, "/items/0/kind") == "tenant");
  CHECK(at(trail, "/items/0/object_id") == "shop");
  CHECK(at(trail, "/items/0/version") == "2");
  CHECK(at(trail, "/items/0/before") == R"({"id":"shop","organization_id":"acme","trailing_slash":"same"})");
  CHECK(at(trail, "/items/0/after/name") == "Shop");
  CHECK(at(trail, "/items/0/revision") == header(patched, "Sluice-Revision"));
  CHECK(at(trail, "/items/0/hash").size() == 64);
  const admin::FinishedAnswer first = ask("GET", fmt::format("{}?kind=token", kAudit));
  CHECK(at(first, "/items/0/actor_id") == "bootstrap");
  CHECK(at(first, "/items/0/organization_id") == "null");
  CHECK(at(first, "/items/0/before") == "null");
}

TEST_CASE_FIXTURE(Acme, "the trail comes newest first, in pages that miss nothing, filtered or not") {
  const std::string first = at(ask("GET", "/v1/admin/whoami"), "/id");
  const auto paged = [this](const std::string& query) {
    std::string all;
    std::string cursor;
    for (int pages = 0; cursor != "null"; ++pages) {
      REQUIRE(pages < 10);
      const admin::FinishedAnswer page =
          ask("GET", fmt::format("{}?limit=2&{}{}", kAudit, query, cursor.empty() ? "" : "&cursor=" + cursor));
      all.append(all.empty() ? "" : " ").append(each(page, "object_id"));
      cursor = at(page, "/next");
    }
    return all;
  };
  CHECK(paged("") == "kiosk bank shop other acme " + first);
  CHECK(paged("organization_id=acme") == "bank shop acme");
  CHECK(paged("kind=tenant") == "kiosk bank shop");
  CHECK(ids("tenant_id=bank") == "bank");
  CHECK(ids("object_id=other") == "other");
  CHECK(ids("actor_id=bootstrap") == first);
  CHECK(ids("actor_id=nobody").empty());
}

TEST_CASE_FIXTURE(Acme, "the trail of a time begins at since and ends before until") {
  const std::string at_bank = at(ask("GET", fmt::format("{}?object_id=bank", kAudit)), "/items/0/at");
  CHECK(ids("kind=tenant&since=" + at_bank) == "kiosk bank");
  CHECK(ids("kind=tenant&until=" + at_bank) == "shop");
  CHECK(ids("since=2999-01-01T00:00:00Z").empty());
  const admin::FinishedAnswer refused = ask("GET", fmt::format("{}?since=yesterday&until=0&kind=thing", kAudit));
  CHECK(refused.status == 400);
  CHECK(faulty(refused) == "?since ?until ?kind");
  CHECK(faulty(ask("GET", fmt::format("{}?cursor=YQph", kAudit))) == "?cursor");
}

TEST_CASE_FIXTURE(Acme, "the trail ends where a token's reach ends") {
  const std::string acme = token("auditor", R"("organization_id":"acme")");
  const std::string shop = token("operator", R"("organization_id":"acme","tenant_ids":["shop"])");
  CHECK(ids("kind=tenant", acme) == "bank shop");
  CHECK(ids("organization_id=other", acme).empty());
  CHECK(ids("kind=organization", acme) == "acme");
  CHECK(ids("", shop) == "shop");
  CHECK(ids("tenant_id=bank", shop).empty());
}

TEST_CASE_FIXTURE(Acme, "the revision counts up with every change, and its chain names the history") {
  const admin::FinishedAnswer before = ask("GET", "/v1/admin/revision");
  CHECK(at(before, "/chain").size() == 64);
  const admin::FinishedAnswer patched = ask("PATCH", "/v1/admin/tenants/shop", R"({"name":"Shop"})");
  const admin::FinishedAnswer after = ask("GET", "/v1/admin/revision");
  CHECK(at(after, "/revision") == header(patched, "Sluice-Revision"));
  CHECK(at(after, "/chain") != at(before, "/chain"));
  CHECK(at(after, "/at") == at(ask("GET", fmt::format("{}?limit=1", kAudit)), "/items/0/at"));
}

}  // namespace sluice::server::test
