// Names that two plans or policies of one tenant have.
#include "common/policy/shared_names.hpp"

#include <doctest/doctest.h>

#include "common/objects/bundle_json.hpp"

namespace sluice::policy {
namespace {

Faults shared_in(const std::string& members) {
  const auto bundle = parse_bundle(R"({"format":"sluice/v1","tenants":[{"id":"shop"},{"id":"bank"}],)" + members + "}");
  REQUIRE(bundle);
  return shared_names(*bundle);
}

std::string plan(std::string_view tenant, std::string_view id, std::string_view name) {
  return R"({"tenant_id":")" + std::string(tenant) + R"(","id":")" + std::string(id) + R"(","rate":"1/s","name":")" +
         std::string(name) + "\"}";
}

TEST_CASE("each of two plans of one name is a fault that names the other one") {
  const Faults found = shared_in(R"("plans":[)" + plan("shop", "a", "Pro") + "," + plan("shop", "b", "Pro") + "]");
  REQUIRE(found.size() == 2);
  CHECK(found[0].pointer == "/plans/0/name");
  CHECK(found[0].text ==
        R"(plan "b" of tenant "shop" has the name "Pro" already: choose another name, or change that plan)");
  CHECK(found[1].pointer == "/plans/1/name");
  CHECK(found[1].text.starts_with(R"(plan "a" of tenant)"));
}

TEST_CASE("policies share names with policies only") {
  const std::string policies = R"("policies":[)" + plan("shop", "x", "Pro") + "," + plan("shop", "y", "Pro") + "]";
  CHECK(shared_in(policies).size() == 2);
  CHECK(shared_in(R"("plans":[)" + plan("shop", "a", "Pro") + R"(],"policies":[)" + plan("shop", "x", "Pro") + "]")
            .empty());
}

TEST_CASE("names are compared byte by byte, in one tenant, and absent names never") {
  CHECK(shared_in(R"("plans":[)" + plan("shop", "a", "Pro") + "," + plan("shop", "b", "pro") + "]").empty());
  CHECK(shared_in(R"("plans":[)" + plan("shop", "a", "Pro") + "," + plan("bank", "b", "Pro") + "]").empty());
  CHECK(shared_in(R"("plans":[)" + plan("shop", "a", "") + "," + plan("shop", "b", "") + "]").empty());
}

}  // namespace
}  // namespace sluice::policy
