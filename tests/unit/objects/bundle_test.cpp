#include "common/objects/bundle_json.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/unit/objects/bundle_helpers.hpp"

using namespace sluice;
using namespace sluice::test;

namespace {

const std::string kSalt(32, 'a');
const std::string kDigest(64, 'b');

// Something of everything, as a person would write it.
std::string everything() {
  return R"({"format":"sluice/v1","mode":"shadow",
 "organizations":[{"id":"acme","name":"Acme"}],
 "tenants":[{"id":"shop","name":"Shop","organization_id":"acme","mode":"enforce","default":"deny","plan_calls":false},
            {"id":"bank"}],
 "plans":[{"tenant_id":"shop","id":"pro","key_by":[],"expose":"none","action":"sample","sample_rate":0.1,"limits":[
            {"name":"burst","algorithm":"token_bucket","capacity":100,"refill_per_sec":20},
            {"name":"monthly","algorithm":"quota","limit":1000000,"period":"month","anchor":"2027-03-31T00:00:00.25Z"},
            {"name":"calm","algorithm":"leaky","capacity":5,"leak":"1/s","key_by":["tag.env","subject"]},
            {"name":"first","algorithm":"fixed","limit":9,"window":"90s","align":"first","unit":"tokens"},
            {"name":"log","algorithm":"log","limit":9,"window":"1500ms"},
            {"name":"leases","algorithm":"concurrency","limit":3,"lease_ttl":"30s"}]},
          {"tenant_id":"bank","id":"pro","rate":"10/minute"}],
 "policies":[{"tenant_id":"shop","id":"orders","scope":{"resource":"GET:/orders","tag.env":["b","a"]},"plan_id":"pro",
              "key_by":["user"],"metadata":{"team":"a \"b\" ü"},"match_expr":"region==x","rollout_percent":12.34,
              "valid_from":"2027-01-01T00:00:00Z","valid_to":"2027-02-01T00:00:00.000001Z","enabled":false,
              "priority":-3,"version":9,"report_subjects":"off","failure_mode":"fail_degrade","degrade_share":0.3,"action":"downgrade","degrade_action":"downgrade",
              "downgrade_to":"basic","failure_mode_when_open":"fail_open","require_key_by":true,"expose":"remaining","name":"Orders"},
             {"tenant_id":"bank","endpoint":"/v1/pay","limit":100,"window":"10s","key_by":"api_key","fail_open":true},
             {"tenant_id":"bank","id":"slow","rate":"5/s","action":"delay","max_delay":"2s"}],
 "keys":[{"tenant_id":"shop","id":"k1","name":"prod-app","key_hash":"sha256:)" +
         kSalt + ":" + kDigest + R"(","expires_at":null},
         {"tenant_id":"bank","id":"k2","key_hash":"sha256:)" +
         kSalt + ":" + kDigest + R"(","expires_at":"2030-01-01T00:00:00Z"}],
 "overrides":[{"tenant_id":"shop","id":"vip","policy_id":"orders","limit_name":"burst","identity":{"user":"42"},
               "set":{"capacity":500,"refill":"7/3s"},"expires_at":"2027-06-01T00:00:00Z"},
              {"tenant_id":"shop","id":"vip2","plan_id":"pro","limit_name":"log","identity":{},
               "set":{"limit":7,"window":"2s"}},
              {"tenant_id":"shop","id":"vip3","plan_id":"pro","limit_name":"leases","identity":{},
               "set":{"lease_ttl":"5s"}},
              {"tenant_id":"shop","id":"vip4","plan_id":"pro","limit_name":"calm",
               "identity":{"subject":"s","tag.env":"e"},"set":{"leak":"2/s"}}]})";
}

std::string nested(std::string_view open, std::string_view close, std::size_t depth) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open;
  for (std::size_t i = 0; i < depth; ++i) text += close;
  return text;
}

}  // namespace

TEST_CASE("the smallest bundle is its format") {
  CHECK(parsed(R"({"format":"sluice/v1"})") == Bundle{});
  CHECK(parsed("\xEF\xBB\xBF {\"format\":\"sluice/v1\"}\n") == Bundle{});
}

TEST_CASE("a bundle without the known format is refused") {
  check_only_fault("{}", "/format", "format is missing");
  check_only_fault(R"({"format":"sluice/v2"})", "/format", "this version reads \"sluice/v1\"");
  check_only_fault(R"({"format":1})", "/format", "must be a string");
  check_only_fault("[]", "", "must be an object, not a list");
  check_only_fault("null", "", "must be an object, not null");
}

TEST_CASE("every part of a bundle is read") {
  const Bundle bundle = parsed(everything());
  CHECK(bundle.mode == Mode::shadow);
  CHECK(bundle.organizations == std::vector<Organization>{{"acme", "Acme"}});
  REQUIRE(bundle.tenants.size() == 2);
  CHECK(bundle.tenants[0] == Tenant{"shop", "Shop", "acme", Mode::enforce, true, false});
  CHECK(bundle.tenants[1] == Tenant{"bank", "", "", Mode::enforce, false, true});
  REQUIRE(bundle.plans.size() == 2);
  CHECK(bundle.plans[0].limits.size() == 6);
  REQUIRE(bundle.policies.size() == 3);
  CHECK(bundle.policies[1].tenant_id == "bank");
  REQUIRE(bundle.keys.size() == 2);
  CHECK(bundle.keys[0].name == "prod-app");
  CHECK_FALSE(bundle.keys[0].expires_at);
  CHECK(bundle.keys[1].expires_at == instant(1'893'456'000));
  CHECK(bundle.overrides.size() == 4);
}

TEST_CASE("a written bundle reads back as itself and is written the same again") {
  const Bundle bundle = parsed(everything());
  const std::string text = write_bundle(bundle);
  CHECK(parsed(text) == bundle);
  CHECK(write_bundle(parsed(text)) == text);
}

TEST_CASE("the canonical form has no shorthand, and no default but require_key_by") {
  const std::string text = write_bundle(parsed(shop(R"("policies":[{"id":"pay","endpoint":"/v1/pay","strategy":"token",
      "key_by":["subject","resource"],"limit":100,"window":"10s","fail_open":false,"mode":"on","enabled":true,
      "rollout_percent":100,"action":"deny","version":1}],
      "overrides":[{"id":"vip","policy_id":"pay","limit_name":"token_bucket","identity":{"subject":"a","resource":"b"},
      "set":{"bucket_capacity":7,"refill_per_sec":2}}])")));
  CHECK(text == R"({
  "format": "sluice/v1",
  "tenants": [
    {
      "id": "shop"
    }
  ],
  "policies": [
    {
      "tenant_id": "shop",
      "id": "pay",
      "scope": {
        "endpoint": "/v1/pay"
      },
      "limits": [
        {
          "name": "token_bucket",
          "algorithm": "token_bucket",
          "capacity": 100,
          "refill": "1/100ms"
        }
      ],
      "require_key_by": false
    }
  ],
  "overrides": [
    {
      "tenant_id": "shop",
      "id": "vip",
      "policy_id": "pay",
      "limit_name": "token_bucket",
      "identity": {
        "resource": "b",
        "subject": "a"
      },
      "set": {
        "capacity": 7,
        "refill": "1/500ms"
      }
    }
  ]
}
)");
}

TEST_CASE("the order of a bundle's parts does not matter") {
  CHECK(
      parsed(
          R"({"overrides":[{"id":"vip","policy_id":"p","limit_name":"token_bucket","identity":{},"set":{"capacity":7}}],
      "policies":[{"id":"p","plan_id":"pro","key_by":[]}],"plans":[{"id":"pro","rate":"1/s"}],
      "tenants":[{"id":"shop","organization_id":"acme"}],"organizations":[{"id":"acme"}],"format":"sluice/v1"})")
          .overrides.size() == 1);
}

TEST_CASE("all faults are reported at once, each with its place") {
  const Faults faults = faults_of(R"({"format":"sluice/v1","mode":"loud","tenant":[],
      "tenants":[{"id":"shop"}],
      "plans":[{"id":"pro","limits":[{"rate":"1/s"},{"algorithm":"fixed","limit":-1,"window":"1s"}]}],
      "policies":[{"id":"p","plan_id":"gone"},{"id":"q","plan_id":"pro","enabled":1}],
      "keys":[{"id":"k"}]})");
  const std::string seen = text_of(faults);
  CAPTURE(seen);
  CHECK(faults.size() == 6);
  CHECK(has_fault(faults, "/mode", "must be one of"));
  CHECK(has_fault(faults, "/tenant", "did you mean \"tenants\"?"));
  CHECK(has_fault(faults, "/plans/0/limits/1/limit", "whole number"));
  CHECK(has_fault(faults, "/policies/0/plan_id", "does not exist"));
  CHECK(has_fault(faults, "/policies/1/enabled", "true or false"));
  CHECK(has_fault(faults, "/keys/0/key_hash", "missing"));
}

TEST_CASE("a fault in the syntax is told by line and column, which are not in its text too") {
  const auto check_at = [](std::string_view json, std::uint32_t line, std::uint32_t column) {
    check_only_fault(json, "", "not valid JSON: ");
    const Faults faults = faults_of(json);
    CAPTURE(json);
    CHECK(faults[0].line == line);
    CHECK(faults[0].column == column);
    CHECK(faults[0].text.find("line") == std::string::npos);
  };
  check_at("{\"format\":\"sluice/v1\",\n \"mode\": }", 2, 10);
  check_at("{\"ü\":1 \"b\":2}", 1, 8);  // columns count characters
  check_at("", 1, 1);
  check_at("{\"format\":\"sluice/v1\"} x", 1, 24);
  check_at("\xEF\xBB\xBF{x}", 1, 2);
  check_at(std::string("{\"format\":\n\0}", 14), 2, 1);
  check_only_fault("{\"format\":\"sluice/v1\"", "", "not valid JSON");
  check_only_fault("{'format':1}", "", "not valid JSON");
  check_only_fault("{\"format\":01}", "", "not valid JSON");
  check_only_fault("{\"format\":NaN}", "", "not valid JSON");
}

TEST_CASE("what follows a byte NUL is not overlooked") {
  check_only_fault(std::string("{\"format\":\"sluice/v1\"}\0{", 24), "", "NUL");
  check_only_fault(std::string("\0", 1), "", "NUL");
}

TEST_CASE("text that is not UTF-8 is refused, escaped half surrogates too") {
  check_only_fault("{\"format\":\"sluice/v1\",\"mode\":\"\xFF\"}", "", "not valid JSON");
  check_only_fault("{\"format\":\"sluice/v1\",\"mode\":\"\xC0\x80\"}", "", "not valid JSON");
  check_only_fault("{\"format\":\"sluice/v1\",\"mode\":\"\xED\xA0\x80\"}", "", "not valid JSON");
  check_only_fault(R"({"format":"sluice/v1","mode":"\udc00"})", "", "surrogate");
  check_only_fault(R"({"format":"sluice/v1","mode":"\ud800"})", "", "not valid JSON");
  check_only_fault(R"({"format":"sluice/v1","\udfff":1})", "", "surrogate");
  CHECK(parsed(R"({"format":"sluice/v1","organizations":[{"id":"a","name":"\ud83d\ude00 \ud7ff"}]})")
            .organizations[0]
            .name == "\xF0\x9F\x98\x80 \xED\x9F\xBF");
}

TEST_CASE("a document nested beyond 64 levels is refused, however deep") {
  check_only_fault(R"({"format":"sluice/v1","x":)" + nested("[", "]", 63) + "}", "/x", "not a field");
  check_only_fault(R"({"format":"sluice/v1","x":)" + nested("[", "]", 64) + "}", "", "more than 64 deep");
  check_only_fault(nested("[", "]", 10'000), "", "more than 64 deep");
  check_only_fault(nested("{\"a\":", "}", 10'000), "", "more than 64 deep");
  check_only_fault(std::string(1'000'000, '['), "", "more than 64 deep");
}

TEST_CASE("a name given twice in an object is a fault, in small and large objects") {
  check_only_fault(R"({"format":"sluice/v1","mode":"off","mode":"enforce"})", "/mode", "given twice");
  check_only_fault(R"({"format":"sluice/v1","mode":"off","m\u006fde":"enforce"})", "/mode", "given twice");
  std::string metadata;
  for (int i = 0; i < 20; ++i) metadata += "\"m" + std::to_string(i) + "\":\"x\",";
  check_only_fault(shop(R"("policies":[{"id":"p","rate":"1/s","metadata":{)" + metadata + R"("m7":"y"}}])"),
                   "/policies/0/metadata/m7", "given twice");
}

TEST_CASE("ids have a shape") {
  for (const std::string bad : {"", "A", "a_b", "-a", ".a", "a b", "\xC3\xBC", "a\\u0000"}) {
    check_only_fault(R"({"format":"sluice/v1","organizations":[{"id":")" + bad + "\"}]}", "/organizations/0/id",
                     "a-z 0-9");
  }
  check_only_fault(R"({"format":"sluice/v1","organizations":[{"id":")" + std::string(64, 'a') + "\"}]}",
                   "/organizations/0/id", "1 to 63");
  CHECK(parsed(R"({"format":"sluice/v1","organizations":[{"id":")" + std::string(63, 'a') + "\"}]}")
            .organizations.size() == 1);
  CHECK(parsed(R"({"format":"sluice/v1","organizations":[{"id":"0a.b-c"}]})").organizations[0].id == "0a.b-c");
  check_only_fault(R"({"format":"sluice/v1","organizations":[{}]})", "/organizations/0/id", "id is missing");
}

TEST_CASE("ids of plans and policies are unique within a tenant, others in the bundle") {
  const std::string two = R"({"format":"sluice/v1","tenants":[{"id":"a"},{"id":"b"}],)";
  CHECK(parsed(two + R"("plans":[{"tenant_id":"a","id":"p","rate":"1/s"},{"tenant_id":"b","id":"p","rate":"1/s"}]})")
            .plans.size() == 2);
  check_only_fault(
      two + R"("plans":[{"tenant_id":"a","id":"p","rate":"1/s"},{"tenant_id":"a","id":"p","rate":"1/s"}]})",
      "/plans/1/id", "exists already in tenant \"a\"");
  check_only_fault(
      two + R"("policies":[{"tenant_id":"a","id":"p","rate":"1/s"},{"tenant_id":"a","id":"p","rate":"2/s"}]})",
      "/policies/1/id", "exists already");
  const std::string hash = R"("key_hash":"sha256:)" + kSalt + ":" + kDigest + "\"";
  check_only_fault(
      two + R"("keys":[{"tenant_id":"a","id":"k",)" + hash + R"(},{"tenant_id":"b","id":"k",)" + hash + "}]}",
      "/keys/1/id", "exists already");
  check_only_fault(R"({"format":"sluice/v1","tenants":[{"id":"a"},{"id":"a"}]})", "/tenants/1/id", "exists already");
  check_only_fault(R"({"format":"sluice/v1","organizations":[{"id":"a"},{"id":"a"}]})", "/organizations/1/id",
                   "exists already");
}

TEST_CASE("the tenant is implied only where there is exactly one") {
  CHECK(parsed(shop(R"("plans":[{"id":"p","rate":"1/s"}])")).plans[0].tenant_id == "shop");
  check_only_fault(R"({"format":"sluice/v1","tenants":[{"id":"a"},{"id":"b"}],"plans":[{"id":"p","rate":"1/s"}]})",
                   "/plans/0/tenant_id", "this bundle has 2");
  check_only_fault(R"({"format":"sluice/v1","plans":[{"id":"p","rate":"1/s"}]})", "/plans/0/tenant_id",
                   "this bundle has 0");
  check_only_fault(shop(R"("plans":[{"tenant_id":"bank","id":"p","rate":"1/s"}])"), "/plans/0/tenant_id",
                   "tenant \"bank\" does not exist");
}

TEST_CASE("a faulty tenant or plan is not reported again by what refers to it") {
  check_only_fault(
      R"({"format":"sluice/v1","tenants":[{"id":"Shop"}],"plans":[{"tenant_id":"Shop","id":"p","rate":"1/s"}],
      "policies":[{"id":"q","plan_id":"p"}]})",
      "/tenants/0/id", "a-z 0-9");
  check_only_fault(shop(R"("plans":[{"id":"p","rate":"fast"}],"policies":[{"id":"q","plan_id":"p"}])"), "/plans/0/rate",
                   "10/minute");
}

TEST_CASE("a policy sees only the plans of its own tenant") {
  check_only_fault(R"({"format":"sluice/v1","tenants":[{"id":"a"},{"id":"b"}],
      "plans":[{"tenant_id":"b","id":"p","rate":"1/s"}],"policies":[{"tenant_id":"a","id":"q","plan_id":"p"}]})",
                   "/policies/0/plan_id", "does not exist in tenant \"a\"");
}

TEST_CASE("a delay on a plan's policy is checked against the plan's limits") {
  check_only_fault(shop(R"("plans":[{"id":"p","capacity":1,"refill":"1000000000/us"}],
      "policies":[{"id":"q","plan_id":"p","action":"delay","max_delay":"1h"}])"),
                   "/policies/0/max_delay", "2^51");
}

TEST_CASE("tenants are checked") {
  const auto tenant = [](std::string_view members) {
    return R"({"format":"sluice/v1","tenants":[{"id":"a",)" + std::string(members) + "}]}";
  };
  check_only_fault(tenant(R"("organization_id":"acme")"), "/tenants/0/organization_id", "does not exist");
  check_only_fault(tenant(R"("default":"maybe")"), "/tenants/0/default", "allow or deny");
  check_only_fault(tenant(R"("plan_calls":"no")"), "/tenants/0/plan_calls", "true or false");
  check_only_fault(tenant(R"("modus":"off")"), "/tenants/0/modus", "did you mean \"mode\"?");
  check_only_fault(R"({"format":"sluice/v1","tenants":{"id":"a"}})", "/tenants", "must be a list, not an object");
  check_only_fault(R"({"format":"sluice/v1","tenants":["a"]})", "/tenants/0", "must be an object, not a string");
}

TEST_CASE("a key is a salted hash, never the key itself") {
  const auto key = [](const std::string& hash) { return shop(R"("keys":[{"id":"k","key_hash":")" + hash + "\"}]"); };
  CHECK(parsed(key("sha256:" + kSalt + ":" + kDigest)).keys[0].key_hash == "sha256:" + kSalt + ":" + kDigest);
  CHECK(parsed(key("sha256:" + std::string(32, 'A') + ":" + kDigest)).keys[0].key_hash ==
        "sha256:" + std::string(32, 'a') + ":" + kDigest);
  for (const std::string& bad :
       {std::string(), std::string("slk_k_secret"), "sha256:" + kSalt, "sha256:" + kDigest,
        "md5:" + kSalt + ":" + kDigest, "sha256:" + std::string(30, 'a') + ":" + kDigest,
        "sha256:" + std::string(33, 'a') + ":" + kDigest, "sha256:" + std::string(66, 'a') + ":" + kDigest,
        "sha256:" + std::string(32, 'g') + ":" + kDigest, "sha256:" + kSalt + ":" + kDigest + "bb",
        "sha256:" + kSalt + ":" + kDigest + ":"}) {
    CAPTURE(bad);
    check_only_fault(key(bad), "/keys/0/key_hash", "never the key itself");
  }
  check_only_fault(shop(R"("keys":[{"id":"k"}])"), "/keys/0/key_hash", "key_hash is missing");
}

TEST_CASE("a hostile document cannot cost more in faults than it is worth") {
  std::string items = "0";
  for (int i = 1; i < 20'000; ++i) items += ",0";
  const Faults faults = faults_of(R"({"format":"sluice/v1","tenants":[)" + items + "]}");
  CHECK(faults.size() == 10'001);
  CHECK(faults.back().text == "10000 more faults are not listed");
}

TEST_CASE("a long text in a fault is cut between characters") {
  // 63 bytes and then a character of two: cutting at 64 would halve it.
  check_only_fault(R"({"format":"sluice/v1","mode":")" + std::string(63, 'x') + "\xC3\xBC tail\"}", "/mode",
                   "\"" + std::string(63, 'x') + "…\"");
}

TEST_CASE("a tenant and an id are told apart even where they spell the same together") {
  CHECK(parsed(R"({"format":"sluice/v1","tenants":[{"id":"a"},{"id":"ab"}],
      "plans":[{"tenant_id":"a","id":"bc","rate":"1/s"},{"tenant_id":"ab","id":"c","rate":"1/s"}]})")
            .plans.size() == 2);
}
