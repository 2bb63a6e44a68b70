#include "common/domain/bundle_object.hpp"

#include <doctest/doctest.h>

namespace sluice {
namespace {

const std::string kPlan =
    R"({"tenant_id":"shop","id":"pro","limits":[{"name":"a","algorithm":"fixed_window","limit":1,"window":"1m"}]})";
const std::string kPolicy =
    R"({"tenant_id":"shop","id":"p","scope":{"resource":"r"},"plan_id":"pro","match_expr":"region==eu"})";
const std::string kKey =
    R"({"tenant_id":"shop","id":"k","key_hash":"sha256:00112233445566778899aabbccddeeff:)" + std::string(64, 'a') + "\"}";
const std::string kTenant = R"({"id":"shop","organization_id":"acme","default":"deny"})";
const std::string kOrganization = R"({"id":"acme","name":"Acme"})";

std::string fault_of(const ObjectName& name, std::string_view document) {
  Bundle bundle;
  const Faults faults = read_object(name, document, bundle);
  CHECK(bundle == Bundle{});
  REQUIRE(faults.size() == 1);
  return faults[0].pointer + ": " + faults[0].text;
}

TEST_CASE("objects read one by one, in any order, make the bundle that they make together") {
  const auto whole = parse_bundle(R"({"format":"sluice/v1","mode":"shadow","organizations":[)" + kOrganization +
                                  R"(],"tenants":[)" + kTenant + R"(],"plans":[)" + kPlan + R"(],"policies":[)" +
                                  kPolicy + R"(],"keys":[)" + kKey + "]}");
  REQUIRE(whole);
  Bundle bundle;
  CHECK(read_object({ObjectKind::key, "shop", "k"}, kKey, bundle).empty());
  CHECK(read_object({ObjectKind::policy, "shop", "p"}, kPolicy, bundle).empty());
  CHECK(read_object({ObjectKind::plan, "shop", "pro"}, kPlan, bundle).empty());
  CHECK(read_object({ObjectKind::tenant, "", "shop"}, kTenant, bundle).empty());
  CHECK(read_object({ObjectKind::organization, "", "acme"}, kOrganization, bundle).empty());
  CHECK(read_object({}, R"({"mode":"shadow"})", bundle).empty());
  CHECK(bundle == *whole);
}

TEST_CASE("an object that is another than it is said to be is refused") {
  CHECK(fault_of({ObjectKind::policy, "shop", "q"}, kPolicy) == "/id: this is not the policy shop/q that it is said to be");
  CHECK(fault_of({ObjectKind::policy, "lab", "p"}, kPolicy) == "/id: this is not the policy lab/p that it is said to be");
  CHECK(fault_of({ObjectKind::tenant, "", "lab"}, kTenant) == "/id: this is not the tenant lab that it is said to be");
}

TEST_CASE("a faulty object is refused with pointers that begin at it") {
  CHECK(fault_of({ObjectKind::organization, "", "acme"}, R"({"id":"acme","nme":"Acme"})").starts_with("/nme: "));
  CHECK(fault_of({ObjectKind::key, "shop", "k"}, R"({"tenant_id":"shop","id":"k","key_hash":"x"})").starts_with("/key_hash: "));
  CHECK(fault_of({ObjectKind::tenant, "", "shop"}, "{").starts_with(": "));
  CHECK(fault_of({ObjectKind::tenant, "", "shop"}, "[]").starts_with(": "));
  CHECK(fault_of({}, "{}").starts_with("/mode: "));
}

TEST_CASE("kinds have names") {
  for (ObjectKind kind : {ObjectKind::settings, ObjectKind::organization, ObjectKind::tenant, ObjectKind::plan,
                          ObjectKind::policy, ObjectKind::key}) {
    CHECK(object_kind_from(to_string(kind)) == kind);
  }
  CHECK_FALSE(object_kind_from("override"));
  CHECK(list_name(ObjectKind::policy) == "policies");
}

}  // namespace
}  // namespace sluice
