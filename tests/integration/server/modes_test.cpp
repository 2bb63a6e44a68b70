// Modes, global and of tenants.
#include <doctest/doctest.h>

#include "tests/integration/server/admin_rig.hpp"

namespace sluice::server::test {
namespace {

constexpr std::string_view kGlobal = "/v1/admin/modes/global";
constexpr std::string_view kShop = "/v1/admin/modes/tenants/shop";

struct Acme : AdminRig {
  Acme() { found_acme(); }
};

}  // namespace

TEST_CASE_FIXTURE(Acme, "the global mode is set, and each tenant's results from both") {
  CHECK(at(ask("GET", kGlobal), "/mode") == "enforce");
  CHECK(at(ask("PUT", kShop, R"({"mode":"off"})"), "/effective") == "off");
  const admin::FinishedAnswer put = ask("PUT", kGlobal, R"({"mode":"monitor"})");
  CHECK(put.status == 200);
  CHECK(at(put, "/mode") == "shadow");
  CHECK_FALSE(header(put, "Sluice-Revision").empty());
  const admin::FinishedAnswer all = ask("GET", "/v1/admin/modes");
  CHECK(at(all, "/global/mode") == "shadow");
  CHECK(each(all, "tenant_id") == "bank kiosk shop");
  CHECK(each(all, "mode") == "enforce enforce off");
  CHECK(each(all, "effective") == "shadow shadow off");
  CHECK(each(ask("GET", "/v1/admin/modes?mode=off"), "tenant_id") == "shop");
  CHECK(each(ask("GET", "/v1/admin/modes?organization_id=other"), "tenant_id") == "kiosk");
  CHECK(execute("SELECT action, kind, after FROM audit ORDER BY revision DESC LIMIT 1") ==
        R"(mode|setting|{"mode":"shadow"})");
}

TEST_CASE_FIXTURE(Acme, "a tenant's mode is a change of the tenant, and of nothing else in it") {
  REQUIRE(ask("PATCH", "/v1/admin/tenants/shop", R"({"name":"Shop","default":"deny"})").status == 200);
  const admin::FinishedAnswer put = ask("PUT", kShop, R"({"mode":"shadow"})", {{"if-match", "\"2\""}});
  CHECK(put.status == 200);
  CHECK(at(put, "/version") == "3");
  CHECK(header(put, "ETag") == "\"3\"");
  const admin::FinishedAnswer tenant = ask("GET", "/v1/admin/tenants/shop");
  CHECK(at(tenant, "/mode") == "shadow");
  CHECK(at(tenant, "/name") == "Shop");
  CHECK(at(tenant, "/default") == "deny");
  CHECK(ask("PUT", kShop, R"({"mode":"off"})", {{"if-match", "\"2\""}}).status == 412);
  const admin::FinishedAnswer back = ask("PUT", kShop, ask("GET", kShop).body);
  CHECK(at(back, "/version") == "3");
  CHECK(at(ask("PUT", kShop, R"({"mode":"enforce"})"), "/mode") == "enforce");
}

TEST_CASE_FIXTURE(Acme, "an operator sets modes as far as he reaches") {
  const std::string everywhere = token("operator");
  const std::string acme = token("operator", R"("organization_id":"acme")");
  const std::string shop = token("operator", R"("organization_id":"acme","tenant_ids":["shop"])");
  const std::string auditor = token("auditor");
  CHECK(ask_as(everywhere, "PUT", kGlobal, R"({"mode":"off"})").status == 200);
  CHECK(ask_as(acme, "PUT", kGlobal, R"({"mode":"off"})").status == 403);
  CHECK(ask_as(auditor, "PUT", kGlobal, R"({"mode":"off"})").status == 403);
  CHECK(at(ask_as(shop, "GET", kGlobal), "/mode") == "off");
  CHECK(ask_as(shop, "PUT", kShop, R"({"mode":"off"})").status == 200);
  CHECK(ask_as(shop, "PUT", "/v1/admin/modes/tenants/bank", R"({"mode":"off"})").status == 404);
  CHECK(ask_as(acme, "PUT", "/v1/admin/modes/tenants/kiosk", R"({"mode":"off"})").status == 404);
  CHECK(each(ask_as(shop, "GET", "/v1/admin/modes"), "tenant_id") == "shop");
}

TEST_CASE_FIXTURE(Acme, "what is no mode is refused") {
  CHECK(faulty(ask("PUT", kGlobal, R"({"mode":"loud","volume":3})")) == "/mode /volume");
  CHECK(faulty(ask("PUT", kShop, "{}")) == "/mode");
  CHECK(ask("PUT", kGlobal, "[]").status == 400);
}

}  // namespace sluice::server::test
