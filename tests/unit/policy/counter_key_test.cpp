#include "common/policy/counter_key.hpp"

#include "tests/unit/policy/policy_helpers.hpp"

namespace sluice::policy {
namespace {

// The keys of the only policy for one request.
std::vector<std::string> keys_of(const std::string& key_by, const std::string& request,
                                 const std::string& limits = "") {
  std::string body = R"("policies":[{"id":"p","scope":{},"key_by":)" + key_by + R"(,"limits":[)" +
                     (limits.empty() ? R"({"name":"m","algorithm":"fixed_window","limit":10,"window":"1m"})" : limits) +
                     "]}]";
  auto snapshot = snapshot_of(body);
  TestRequest test(request);
  std::vector<std::string> keys;
  const Rulebook& rulebook = in_order(shop(*snapshot))[0]->rulebook;
  counter_keys(shop(*snapshot).key_head, rulebook, test.request, keys);
  keys.resize(rulebook.program->groups.size());
  return keys;
}
std::string key_of(const std::string& key_by, const std::string& request) { return keys_of(key_by, request)[0]; }

TEST_CASE("a counter is named by tenant, identity in fixed order, and policy") {
  CHECK(key_of(R"(["subject","resource"])", R"({"subject":"u1","resource":"orders"})") ==
        "sl:{shop|resource=orders|subject=u1}:p=p");
  CHECK(key_of(R"(["resource","subject"])", R"({"subject":"u1","resource":"orders"})") ==
        "sl:{shop|resource=orders|subject=u1}:p=p");
}

TEST_CASE("without key_by there is one counter for the tenant") {
  CHECK(key_of("[]", R"({"subject":"u1"})") == "sl:{shop|}:p=p");
}

TEST_CASE("an empty dimension is an absent one") {
  CHECK(key_of(R"(["subject"])", R"({"resource":"r"})") == "sl:{shop|subject}:p=p");
  CHECK(key_of(R"(["subject"])", R"({"resource":"r","subject":""})") == "sl:{shop|subject}:p=p");
}

TEST_CASE("every byte that could be read as structure is escaped") {
  CHECK(key_of(R"(["subject"])", R"({"subject":"a}{|:=%/é"})") == "sl:{shop|subject=a%7D%7B%7C%3A%3D%25%2F%C3%A9}:p=p");
  CHECK(key_of(R"(["subject"])", R"({"subject":"\u0000\r\n "})") == "sl:{shop|subject=%00%0D%0A%20}:p=p");
}

TEST_CASE("values that look like each other's escapes stay apart") {
  CHECK(key_of(R"(["subject"])", R"({"subject":"a:b"})") != key_of(R"(["subject"])", R"({"subject":"a%3Ab"})"));
  CHECK(key_of(R"(["subject","resource"])", R"({"resource":"a|subject=b"})") !=
        key_of(R"(["subject","resource"])", R"({"resource":"a","subject":"b"})"));
}

TEST_CASE("tags and attributes are named by their names, escaped") {
  CHECK(key_of(R"(["tag.env"])", R"({"tags":{"env":"prod"}})") == "sl:{shop|tag.env=prod}:p=p");
  CHECK(key_of(R"(["attr.a=b"])", R"({"attributes":{"a=b":"c"}})") == "sl:{shop|attr.a%3Db=c}:p=p");
}

TEST_CASE("an identity above 200 bytes is hashed, the tenant stays in clear, and no short identity looks like it") {
  std::string at_limit(200 - std::string("subject=").size(), 'x');
  CHECK(key_of(R"(["subject"])", R"({"subject":")" + at_limit + R"("})") == "sl:{shop|subject=" + at_limit + "}:p=p");
  std::string hashed = key_of(R"(["subject"])", R"({"subject":")" + at_limit + R"(x"})");
  CHECK(hashed.size() == std::string("sl:{shop|#}:p=p").size() + 64);
  CHECK(hashed.starts_with("sl:{shop|#"));
  CHECK(hashed != key_of(R"(["subject"])", R"({"subject":")" + at_limit + R"(y"})"));
}

TEST_CASE("a limit that adds dimensions has a key of its own in the same slot") {
  auto keys = keys_of(R"(["subject"])", R"({"subject":"u","source_ip":"10.0.0.1"})",
                      R"({"name":"all","algorithm":"fixed_window","limit":10,"window":"1m"},
                         {"name":"per_ip","algorithm":"fixed_window","limit":5,"window":"1m","key_by":["source_ip"]})");
  REQUIRE(keys.size() == 2);
  CHECK(keys[0] == "sl:{shop|subject=u}:p=p");
  CHECK(keys[1] == "sl:{shop|subject=u}:p=p:k=per_ip|source_ip=10.0.0.1");
}

TEST_CASE("keys are filled into memory that is used again") {
  std::vector<std::string> keys(3, "old");
  auto snapshot = snapshot_of(policies({policy("p", "{}", R"("key_by":"subject")")}));
  TestRequest test(R"({"subject":"u"})");
  counter_keys(shop(*snapshot).key_head, in_order(shop(*snapshot))[0]->rulebook, test.request, keys);
  CHECK(keys[0] == "sl:{shop|subject=u}:p=p");
  CHECK(keys.size() == 3);
}

TEST_CASE("an IPv4 address has a counter of its own, and its mapped form has the same") {
  CHECK(key_of(R"(["source_ip"])", R"({"source_ip":"203.0.113.7"})") == "sl:{shop|source_ip=203.0.113.7}:p=p");
  CHECK(key_of(R"(["source_ip"])", R"({"source_ip":"[::ffff:203.0.113.7]:443"})") ==
        "sl:{shop|source_ip=203.0.113.7}:p=p");
}

TEST_CASE("all IPv6 addresses of a /64 share a counter, however they are written") {
  const std::string key = "sl:{shop|source_ip=2001%3Adb8%3A0%3A1%3A%3A%2F64}:p=p";
  for (const char* address :
       {"2001:db8:0:1::1", "2001:DB8::1:0:0:0:2", "[2001:0db8:0000:0001:ffff:ffff:ffff:ffff]:80"}) {
    CHECK(key_of(R"(["source_ip"])", std::string(R"({"source_ip":")") + address + "\"}") == key);
  }
  CHECK(key_of(R"(["source_ip"])", R"({"source_ip":"2001:db8:0:2::1"})") != key);
}

TEST_CASE("ipv6_prefix says how many bits of an IPv6 address name a counter") {
  const std::string address = R"({"source_ip":"2001:db8:1:2:3:4:5:6"})";
  CHECK(key_of(R"(["source_ip"],"ipv6_prefix":128)", address) ==
        "sl:{shop|source_ip=2001%3Adb8%3A1%3A2%3A3%3A4%3A5%3A6}:p=p");
  CHECK(key_of(R"(["source_ip"],"ipv6_prefix":48)", address) == "sl:{shop|source_ip=2001%3Adb8%3A1%3A%3A%2F48}:p=p");
}

TEST_CASE("a limit that adds source_ip counts by the same network") {
  const auto keys =
      keys_of(R"([],"ipv6_prefix":56)", R"({"source_ip":"2001:db8:1:2ff::1"})",
              R"({"name":"a","algorithm":"fixed_window","limit":1,"window":"1m","key_by":["source_ip"]})");
  CHECK(keys == std::vector<std::string>{"sl:{shop|}:p=p:k=a|source_ip=2001%3Adb8%3A1%3A200%3A%3A%2F56"});
}

TEST_CASE("an override names the counter of the network that its address is in") {
  const auto snapshot = snapshot_of(
      R"("policies":[{"id":"p","scope":{},"key_by":["source_ip"],
          "limits":[{"name":"m","algorithm":"fixed_window","limit":10,"window":"1m"}]}])");
  const Rulebook& rulebook = in_order(shop(*snapshot))[0]->rulebook;
  const auto named = [&](const char* text) {
    const std::vector<std::pair<DimensionRef, std::string>> identity{{{Dimension::source_ip, ""}, text}};
    return counter_key(shop(*snapshot).key_head, rulebook, 0, identity);
  };
  CHECK(named("2001:db8::7") == key_of(R"(["source_ip"])", R"({"source_ip":"2001:db8::9"})"));
  CHECK_MESSAGE(named("proxy:1") == "sl:{shop|source_ip=proxy%3A1}:p=p", "written as it is");
}

}  // namespace
}  // namespace sluice::policy
