// What is allowed in a bundle and most likely not meant.
#include "common/policy/warnings.hpp"
#include "common/objects/bundle_json.hpp"

#include "tests/unit/policy/policy_helpers.hpp"

namespace sluice::policy {
namespace {

Faults warnings_of(const std::string& members, std::int64_t now_us = 0) {
  auto bundle = parse_bundle(R"({"format":"sluice/v1","tenants":[{"id":"shop"},{"id":"rival"}],)" + members + "}");
  REQUIRE(bundle);
  return warnings(*bundle, now_us);
}

std::string tenants_policy(const std::string& tenant, const std::string& id, const std::string& more) {
  return R"({"tenant_id":")" + tenant + R"(","id":")" + id +
         R"(","limits":[{"algorithm":"fixed_window","limit":10,"window":"1m"}])" + (more.empty() ? "" : "," + more) +
         "}";
}
// How many warnings two policies of one tenant get.
std::size_t between(const std::string& one, const std::string& other) {
  return warnings_of(policies({tenants_policy("shop", "a", one), tenants_policy("shop", "b", other)})).size();
}

const std::string kScope = R"("scope":{"resource":"r","tag.env":["p","q"]})";

TEST_CASE("two policies that differ in nothing but id and limits conflict: the second is named, and what it meets") {
  Faults found = warnings_of(policies({tenants_policy("shop", "a", kScope), tenants_policy("shop", "other", ""),
                                       tenants_policy("shop", "b", R"("action":"drop","key_by":"user",)" + kScope)}));
  REQUIRE(found.size() == 1);
  CHECK(found[0].pointer == "/policies/2");
  CHECK(
      found[0].text ==
      "conflicts with policy a (/policies/0): both apply to the same requests with the same priority, so only version "
      "and id decide; give one a priority, or remove it");
}

TEST_CASE("the order in which a scope is written, its version and its name make no difference") {
  CHECK(between(kScope,
                R"("scope":{"tag.env":["q","p"],"resource":["r"]},"version":7,"name":"b","metadata":{"x":"y"})") == 1);
}

TEST_CASE("each of several that conflict is named") {
  Faults found = warnings_of(policies(
      {tenants_policy("shop", "a", kScope), tenants_policy("shop", "b", kScope), tenants_policy("shop", "c", kScope)}));
  REQUIRE(found.size() == 2);
  CHECK(found[0].pointer == "/policies/1");
  CHECK(found[1].pointer == "/policies/2");
}

TEST_CASE("policies do not conflict where anything says which of them applies") {
  for (const char* difference :
       {R"("priority":1)", R"("valid_from":"2026-01-01T00:00:00Z")", R"("valid_to":"2026-01-01T00:00:00Z")",
        R"("match_expr":"region==eu")", R"("rollout_percent":50)", R"("mode":"shadow")"}) {
    CAPTURE(difference);
    CHECK(between(kScope, kScope + "," + difference) == 0);
    CHECK(between(kScope + "," + difference, kScope + "," + difference) == 1);
  }
  CHECK(between(kScope, R"("scope":{"resource":"r","tag.env":["p"]})") == 0);
  CHECK(between(kScope, "") == 0);
}

TEST_CASE("a policy that is off conflicts with one that is not: both decide") {
  CHECK(between(kScope, kScope + R"(,"mode":"off")") == 1);
}

TEST_CASE("a disabled policy conflicts with nothing") {
  CHECK(between(kScope, kScope + R"(,"enabled":false)") == 0);
  CHECK(between(kScope + R"(,"enabled":false)", kScope + R"(,"enabled":false)") == 0);
}

TEST_CASE("policies of two tenants do not conflict") {
  CHECK(warnings_of(policies({tenants_policy("shop", "a", kScope), tenants_policy("rival", "a", kScope)})).empty());
}

// Policies and plans of a limit that adds a dimension.
std::string of_limits(const std::string& key_by, const std::string& added) {
  return "\"key_by\":" + key_by + R"(,"limits":[{"algorithm":"fixed_window","limit":10,"window":"1m","key_by":)" +
         added + "}]";
}
std::string of_policy(const std::string& more) { return R"("policies":[{"tenant_id":"shop","id":"a",)" + more + "}]"; }
std::string of_plan(const std::string& more) { return R"("plans":[{"tenant_id":"shop","id":"pro",)" + more + "}]"; }

TEST_CASE("counters of a whole tenant under one hash tag are told of, in a policy and in a plan") {
  for (bool plan : {false, true}) {
    const std::string members =
        plan ? of_plan(of_limits("[]", R"(["subject"])")) : of_policy(of_limits("[]", R"(["subject"])"));
    Faults found = warnings_of(members);
    REQUIRE(found.size() == 1);
    CHECK(found[0].pointer == (plan ? "/plans/0/key_by" : "/policies/0/key_by"));
    CHECK(found[0].text ==
          "key_by is empty and limits add dimensions of their own: all their counters share one slot, and so one node, "
          "of a Redis Cluster");
  }
}

TEST_CASE("a policy without key_by on a plan whose limits add dimensions gets a warning, whatever the plan counts by") {
  Faults found = warnings_of(of_plan(of_limits(R"(["user"])", R"(["subject"])")) + "," +
                             of_policy(R"("plan_id":"pro","key_by":[])"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].pointer == "/policies/0/key_by");
}

TEST_CASE("one counter for a tenant, or one slot for an identity, is nothing to tell of") {
  for (const std::string& limits :
       {of_limits("[]", "[]"), of_limits(R"(["user"])", R"(["subject"])"), of_limits(R"(["user"])", "[]")}) {
    CAPTURE(limits);
    CHECK(warnings_of(of_policy(limits)).empty());
    CHECK(warnings_of(of_plan(limits)).empty());
  }
}

TEST_CASE("a warning names each field of a policy that is in its metadata, and no other name") {
  const Faults found = warnings_of(of_policy(
      R"("metadata":{"action":"drop","team":"pay","window":"10s","region":"eu","priority":"1"},"rate":"1/s")"));
  REQUIRE(found.size() == 3);
  CHECK(found[0].pointer == "/policies/0/metadata/action");
  CHECK(found[1].pointer == "/policies/0/metadata/priority");
  CHECK(found[2].pointer == "/policies/0/metadata/window");
  CHECK(found[0].text ==
        "action in metadata has no effect, it only comes back with the decision: move it beside metadata, or give it "
        "another name");
}

// Returns the warning about a policy with this scope; "" if there is none.
std::string doubt_about(const std::string& scope) {
  const Faults found = warnings_of(policies({tenants_policy("shop", "a", R"("scope":{)" + scope + "}")}));
  if (found.empty()) return {};
  CHECK(found.size() == 1);
  CHECK(found[0].pointer.starts_with("/policies/0/scope/"));
  return found[0].text;
}

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_CASE("a value of a scope that looks like another program's pattern gets a warning with the fix") {
  CHECK(says(doubt_about(R"("resource":"GET:/users/:id/orders")"), R"(the segment ":id" is compared as it is)"));
  CHECK(says(doubt_about(R"("resource":"GET:/users/*/orders")"), "only a * at the end"));
  CHECK(says(doubt_about(R"("resource":"GET /kd/**")"), "only a * at the end"));
  CHECK(says(doubt_about(R"("resource":"~^/users/[0-9]+$")"), "resource =~ '…'"));
  CHECK(says(doubt_about(R"("resource":"*:/ke")"), R"(["GET:/orders", "POST:/orders"])"));
  CHECK(says(doubt_about(R"("resource":"GET,POST:/kg")"), "one value for each method"));
  CHECK(says(doubt_about(R"("endpoint":"/inv/{id}")"), "patterns are for resource"));
  CHECK(says(doubt_about(R"("endpoint":"/pay","method":"get")"), R"(write "GET")"));
}

TEST_CASE("a value of a scope that means what it says gets no warning") {
  for (const char* scope : {R"("resource":"GET:/users/{id}")", R"("resource":"/users/{id}")",
                            R"("resource":"GET:/a/*")", R"("resource":"*")", R"("resource":"urn:a:b")",
                            R"("resource":"http://a/b")", R"("method":["GET","purge"])", R"("tag.path":"/a/:b/*/c")"}) {
    CHECK_MESSAGE(doubt_about(scope).empty(), std::string(scope));
  }
}

TEST_CASE("an override for a pattern gets a warning, because an override is for one exact identity") {
  const auto doubts = [](const std::string& dimension, const std::string& value) {
    return warnings_of(R"("policies":[{"id":"p","tenant_id":"shop","key_by":")" + dimension +
                       R"(","limits":[{"name":"burst","algorithm":"fixed_window","limit":10,"window":"1m"}]}],)" +
                       R"("overrides":[{"id":"vip","tenant_id":"shop","policy_id":"p","limit_name":"burst",)" +
                       R"("identity":{")" + dimension + R"(":")" + value + R"("},"set":{"limit":500}}])");
  };
  const Faults found = doubts("subject", "user:*");
  REQUIRE(found.size() == 1);
  CHECK(found[0].pointer == "/overrides/0/identity/subject");
  CHECK(says(found[0].text, "an override is for one exact subject, not for a pattern"));
  CHECK(says(found[0].text, "write a policy whose scope"));
  CHECK(doubts("resource", "GET:/orders/*").size() == 1);
  CHECK(says(doubts("source_ip", "10.0.0.0/8").at(0).text, "block of addresses"));
  CHECK(doubts("subject", "user:42").empty());
  CHECK_MESSAGE(doubts("resource", "GET:/users/{id}").empty(), "the counter of a pattern in a scope has this name");
  CHECK_MESSAGE(doubts("source_ip", "2001:db8::/64").empty(), "the counter of an IPv6 address has this name");
}

TEST_CASE("an expired policy, key or override gets a warning that names the field, from the moment of its end") {
  const std::string bundle =
      R"("policies":[{"tenant_id":"shop","id":"sale","rate":"1/s","valid_to":"1970-01-01T00:00:10Z"}],)"
      R"("keys":[{"tenant_id":"shop","id":"old","key_hash":"sha256:00112233445566770011223344556677:)" +
      std::string(64, 'a') + R"(","expires_at":"1970-01-01T00:00:10Z"}],)" +
      R"("overrides":[{"tenant_id":"shop","id":"vip","policy_id":"sale","limit_name":"token_bucket",)"
      R"("identity":{"resource":"r","subject":"u"},"set":{"capacity":5},"expires_at":"1970-01-01T00:00:10Z"}])";
  CHECK(warnings_of(bundle, 9'999'999).empty());
  const Faults found = warnings_of(bundle, 10'000'000);
  REQUIRE(found.size() == 3);
  CHECK(found[0].pointer == "/policies/0/valid_to");
  CHECK(found[0].text ==
        "1970-01-01T00:00:10Z is in the past, so the policy matches no request any more: write a later time, or remove "
        "valid_to");
  CHECK(found[1].pointer == "/keys/0/expires_at");
  CHECK(found[2].pointer == "/overrides/0/expires_at");
  CHECK(found[2].text ==
        "1970-01-01T00:00:10Z is in the past, so the override replaces no number any more: write a later time, or "
        "remove expires_at");
}

}  // namespace
}  // namespace sluice::policy
