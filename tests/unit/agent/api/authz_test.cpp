// How the sub-request of a proxy becomes a check, and what it is answered with.
#include "agent/api/authz.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "tests/unit/agent/api/api_rig.hpp"
#include "tests/unit/agent/api/sub_request.hpp"

namespace sluice::agent::api {
namespace {

struct Reading {
  explicit Reading(std::string_view map = "", std::string_view proxies = "loopback")
      : options{.proxies = *parse_trusted_proxies(proxies), .map = *parse_authz_map(map)} {}

  std::vector<RequestFault> read(const SubRequest& request) {
    return read_authz(options, request, find_peer(request.peer, options.proxies), text, check);
  }
  std::string field(const char* dimension) const {
    const Value* value = check.find(*parse_dimension(dimension));
    return value == nullptr ? "absent" : std::string(value->text);
  }
  std::string fault_of(const SubRequest& request) {
    const auto faults = read(request);
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].status == 422);
    CHECK(faults[0].pointer == "/resource");
    return faults[0].text;
  }

  AuthzOptions options;
  std::string text;
  CheckRequest check;
};

const std::map<std::string, std::string> kForwarded{{"x-forwarded-uri", "/orders?page=2"},
                                                    {"x-forwarded-method", "POST"},
                                                    {"x-forwarded-host", "Shop.example:443"},
                                                    {"x-forwarded-for", "203.0.113.9"}};
const std::map<std::string, std::string> kOriginal{{"x-original-uri", "/orders?page=2"},
                                                   {"x-original-method", "PUT"},
                                                   {"x-forwarded-for", "203.0.113.9"},
                                                   {"host", "shop.example"}};

std::map<std::string, std::string> with(std::map<std::string, std::string> fields, const std::string& name,
                                        const std::string& value) {
  fields[name] = value;
  return fields;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("X-Forwarded-* of a trusted proxy become the dimensions of a check") {
  Reading reading;
  REQUIRE(reading.read({"GET", "/v1/authz", kForwarded}).empty());
  CHECK(reading.field("resource") == "POST:/orders");
  CHECK(reading.field("method") == "POST");
  CHECK(reading.field("endpoint") == "/orders");
  CHECK(reading.field("service") == "shop.example");
  CHECK(reading.field("source_ip") == "203.0.113.9");
  CHECK(reading.field("subject") == "203.0.113.9");
}

TEST_CASE("X-Original-* do the same, and a URL has the host") {
  Reading reading;
  REQUIRE(reading.read({"GET", "/v1/authz", kOriginal}).empty());
  CHECK(reading.field("resource") == "PUT:/orders");
  CHECK(reading.field("service") == "shop.example");
  REQUIRE(reading.read({"GET", "/v1/authz", {{"x-original-url", "https://Pay.example/bills?a=1"}}}).empty());
  CHECK(reading.field("resource") == "GET:/bills");
  CHECK(reading.field("service") == "pay.example");
  CHECK(reading.field("subject") == "127.0.0.1");
}

TEST_CASE("Under /v1/authz/ the sub-request is the request, and headers with another path change nothing") {
  Reading reading;
  auto fields = with(kForwarded, "x-original-uri", "/cheap");
  fields["host"] = "real.example";
  REQUIRE(reading.read({"DELETE", "/v1/authz/orders/7?headers=x", fields}).empty());
  CHECK(reading.field("resource") == "DELETE:/orders/7");
  CHECK(reading.field("service") == "real.example");
  CHECK(reading.field("subject") == "203.0.113.9");
  REQUIRE(reading.read({"GET", "/v1/authz/", {}}).empty());
  CHECK(reading.field("resource") == "GET:/");
}

TEST_CASE("A client cannot choose the headers that are read") {
  const auto both = with(kForwarded, "x-original-uri", "/cheap");
  Reading reading;
  CHECK(has(reading.fault_of({"GET", "/v1/authz", both}), "?headers=forwarded or /v1/authz?headers=original"));
  REQUIRE(reading.read({"GET", "/v1/authz?headers=forwarded", both}).empty());
  CHECK(reading.field("resource") == "POST:/orders");
  REQUIRE(reading.read({"GET", "/v1/authz?headers=original", both}).empty());
  CHECK(reading.field("resource") == "GET:/cheap");
  // The method of the other headers is not read either.
  auto forged = with(kOriginal, "x-forwarded-method", "DELETE");
  forged.erase("x-original-method");
  REQUIRE(reading.read({"GET", "/v1/authz", forged}).empty());
  CHECK(reading.field("method") == "GET");
}

TEST_CASE("Headers of an untrusted peer change nothing") {
  Reading reading("x-user-id=subject");
  SubRequest request("GET", "/v1/authz/orders", with(kForwarded, "x-user-id", "user:1"));
  request.peer = "198.51.100.4";
  REQUIRE(reading.read(request).empty());
  CHECK(reading.field("resource") == "GET:/orders");
  CHECK(reading.field("source_ip") == "198.51.100.4");
  CHECK(reading.field("subject") == "198.51.100.4");
  SubRequest bare("GET", "/v1/authz", kForwarded);
  bare.peer = "198.51.100.4";
  CHECK(has(reading.fault_of(bare), "198.51.100.4 is not a trusted proxy"));
  bare.peer = "";
  CHECK(has(reading.fault_of(bare), "the Unix socket is not a trusted proxy"));
}

TEST_CASE("A faulty configuration of the proxy is named") {
  Reading reading;
  CHECK(has(reading.fault_of({"GET", "/v1/authz", {}}), "X-Forwarded-Uri is required"));
  CHECK(has(reading.fault_of({"GET", "/v1/authz?headers=original", kForwarded}), "X-Original-URI or X-Original-URL"));
  CHECK(has(reading.fault_of({"GET", "/v1/authz", {{"x-forwarded-uri", "orders"}}}),
            "X-Forwarded-Uri must be a path such as /orders?page=2, or a URL; got \"orders\""));
  CHECK(has(reading.fault_of({"GET", "/v1/authz?header=original", kForwarded}), "got \"header=original\""));
}

TEST_CASE("Mapped headers become fields, and only those that are there") {
  Reading reading("X-User-Id=subject,x-plan=plan_id,x-team=tag.team,x-route=endpoint");
  auto fields = with(kForwarded, "x-user-id", "user:42");
  fields["x-plan"] = "gold";
  fields["x-team"] = "sales";
  REQUIRE(reading.read({"GET", "/v1/authz", fields}).empty());
  CHECK(reading.field("subject") == "user:42");
  CHECK(reading.field("source_ip") == "203.0.113.9");
  CHECK(reading.field("tag.team") == "sales");
  CHECK(reading.field("endpoint") == "/orders");
  CHECK(reading.check.plan_id == "gold");
  REQUIRE(reading.read({"GET", "/v1/authz", kForwarded}).empty());
  CHECK(reading.field("subject") == "203.0.113.9");
  CHECK(reading.field("tag.team") == "absent");
  CHECK(reading.check.plan_id.empty());
}

TEST_CASE("A value that no check can have is counted by its digest") {
  Reading reading("authorization=subject");
  std::map<std::string, std::string> seen;
  for (const std::string& value : {std::string(300, 'a'), std::string(300, 'a') + "b", std::string("\xff")}) {
    REQUIRE(reading.read({"GET", "/v1/authz/", {{"authorization", value}}}).empty());
    const std::string subject = reading.field("subject");
    CHECK(subject.size() == 71);
    CHECK(subject.starts_with("sha256:"));
    CHECK(seen.emplace(subject, value).second);
  }
  REQUIRE(reading.read({"GET", "/v1/authz/", {{"authorization", std::string(256, 'a')}}}).empty());
  CHECK(reading.field("subject") == std::string(256, 'a'));
}

TEST_CASE("What is read stays valid when the text has grown") {
  Reading reading("x-a=subject,x-b=user,x-c=tag.c");
  for (const std::size_t size : {1UL, 200UL, 2'000UL, 3UL}) {
    auto fields = with(kForwarded, "x-forwarded-uri", "/" + std::string(size, '\xe9'));
    fields["x-a"] = std::string(size, 'a');
    fields["x-b"] = std::string(size, 'b');
    fields["x-c"] = std::string(size, 'c');
    REQUIRE(reading.read({"GET", "/v1/authz", fields}).empty());
    CHECK(reading.field("resource").starts_with("POST:/%E9"));
    CHECK(reading.field("source_ip") == "203.0.113.9");
    CHECK(reading.field("user").starts_with(size > 256 ? "sha256:" : "b"));
  }
}

TEST_CASE("A faulty list of mappings is refused with the entry") {
  for (const char* list : {"x-user", "=subject", "x user=subject", "x-user=", "x-user=org", "x-user=api_key", "x=tag.",
                           "x-user=subjet", "x-user=subject,"}) {
    CAPTURE(list);
    const auto map = parse_authz_map(list);
    REQUIRE_FALSE(map);
    CHECK(has(map.error(), "must be a list of HEADER=FIELD"));
  }
  CHECK(has(parse_authz_map("a=subject,b=subject").error(), "names \"subject\" twice"));
  CHECK(parse_authz_map("")->empty());
  std::string many;
  for (std::size_t i = 0; i <= kMaxAuthzMappings; ++i)
    many += "x" + std::to_string(i) + "=tag.t" + std::to_string(i) + ",";
  many.pop_back();
  CHECK(has(parse_authz_map(many).error(), "at most 32 headers"));
}

namespace {

constexpr const char* kOneAnHour =
    R"("plans":[{"tenant_id":"shop","id":"one","key_by":["subject"],"limits":[{"name":"burst","algorithm":"token_bucket",)"
    R"("capacity":1,"refill":"1/1h"}]}],"policies":[{"tenant_id":"shop","id":"secret-name","scope":{"method":"GET"},)"
    R"("plan_id":"one","key_by":["subject"]}])";

RigOptions trusting_unix() {
  RigOptions options;
  options.authz.proxies.unix_socket = true;
  return options;
}

}  // namespace

TEST_CASE("A denial shows a proxy's client the wait, but no names") {
  ApiRig rig(kOneAnHour, "", trusting_unix());
  const http::Asker::Headers headers{{"x-api-key", rig.shop_key}, {"x-forwarded-for", "203.0.113.9"}};
  const Answer allowed = rig.answers[rig.send("GET", "/v1/authz/a", "", headers)];
  CHECK(allowed.status == 200);
  CHECK(allowed.body.empty());
  CHECK(has(allowed.headers, "X-RateLimit-Remaining: 0\r\n"));
  const Answer denied = rig.answers[rig.send("GET", "/v1/authz/a", "", headers)];
  CHECK(denied.status == 429);
  CHECK(denied.body == R"({"allowed":false,"reason":"limit_exceeded","retry_after_ms":3600000})");
  CHECK(has(denied.headers, "Retry-After: 3600\r\n"));
  auto text = headers;
  text["accept"] = "text/plain";
  CHECK(rig.answers[rig.send("GET", "/v1/authz/a", "", text)].body == "Rate limit exceeded");
}

TEST_CASE("The agent's own key stands in for the one of a trusted proxy, and for no other's") {
  ApiRig rig(kOneAnHour, "", trusting_unix());
  CHECK(rig.answers[rig.send("GET", "/v1/authz/a", "", {})].status == 401);
  rig.api.set_authz_key(rig.shop_key);
  CHECK(rig.answers[rig.send("POST", "/v1/authz/a", "", {})].status == 200);
  CHECK(rig.answers[rig.send("POST", "/v1/authz/a", "", {{"x-api-key", "a-client-s own"}})].status == 200);
  ApiRig untrusting(kOneAnHour);
  untrusting.api.set_authz_key(untrusting.shop_key);
  CHECK(untrusting.answers[untrusting.send("POST", "/v1/authz/a", "", {})].status == 401);
  CHECK(untrusting.answers[untrusting.send("POST", "/v1/check", "{}", {})].status == 401);
}

}  // namespace sluice::agent::api
