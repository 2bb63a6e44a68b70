// The routes of the check listener: authentication, refusals, leases, state.
#include "tests/unit/agent/api/api_rig.hpp"

namespace sluice::agent::api {
namespace {

constexpr const char* kPool = R"("plans":[{"id":"pool","tenant_id":"shop","key_by":"subject",
  "limits":[{"name":"running","algorithm":"concurrency","limit":1,"lease_ttl":"30s"}]}])";

std::string lease_of(const Answer& answer) {
  auto from = answer.body.find(R"("lease_id":")") + 12;
  return answer.body.substr(from, answer.body.find('"', from) - from);
}

TEST_CASE("a 401 says what is wrong with the key, but not whether its id exists") {
  ApiRig rig("");
  const auto refused = [&rig](const std::string& key) {
    Answer answer = rig.answers[rig.send("POST", "/v1/check", R"({"subject":"u"})", {{"x-api-key", key}})];
    CHECK(answer.status == 401);
    CHECK(answer.headers.find("WWW-Authenticate: ") == 0);
    CHECK(answer.has(R"("type":"/problems/unauthorized")"));
    return answer;
  };
  std::string mistyped = rig.shop_key;
  char& digit = mistyped[mistyped.size() - 20];
  digit = digit == 'A' ? 'B' : 'A';
  CHECK(refused("").has(R"("code":"missing")"));
  CHECK(refused("nonsense").has(R"("code":"malformed")"));
  CHECK(refused(rig.shop_key.substr(0, rig.shop_key.size() - 1)).has(R"("code":"malformed")"));
  CHECK(refused(mistyped).has(R"("code":"malformed")"));
  CHECK(refused(mint_key("ops", CredentialKind::admin_token)).has(R"("code":"wrong_kind")"));
  CHECK(refused(mint_key("pod", CredentialKind::agent_token)).has(R"("code":"wrong_kind")"));
  const Answer unknown = refused(mint_key("nobody"));
  CHECK(unknown.has(R"("code":"unknown")"));
  CHECK(refused(mint_key("shop-key")).body == unknown.body);
}

TEST_CASE("a check that is not JSON is refused with the line and column, also behind an escaped line break") {
  ApiRig rig("");
  const Answer answer = rig.check("{\"subject\": \"a\\nb\",\n \"resource\": \"r\",\n}");
  CHECK(answer.status == 400);
  CHECK(answer.has("a comma before the closing bracket"));
  CHECK(answer.has(R"("line":2,"column":17)"));
}

TEST_CASE("the port of checks says where the metrics are") {
  ApiRig rig("");
  const Answer answer = rig.answers[rig.send("GET", "/metrics", "", {})];
  CHECK(answer.status == 404);
  CHECK(answer.has("--metrics-listen"));
  CHECK(answer.has("--admin"));
}

TEST_CASE("paths of the server and of the probes say where they are") {
  ApiRig rig("");
  for (const char* path : {"/v1/admin/plans", "/v1/admin", "/v1/sync/snapshot"}) {
    const Answer answer = rig.answers[rig.send("POST", path, "{}", {})];
    CHECK(answer.status == 404);
    CHECK(answer.has("This is an agent, which answers checks."));
    CHECK(answer.has("by default port 8080"));
  }
  for (const char* path : {"/livez", "/readyz", "/startupz"}) {
    const Answer answer = rig.get(path);
    CHECK(answer.status == 404);
    CHECK(answer.has(std::string("get ") + path + " at the address of --admin"));
  }
  CHECK(rig.get("/v1/nothing").has("There is nothing at /v1/nothing"));
}

TEST_CASE("JSON is read without a content type, with any JSON type, and with the type that curl sends") {
  ApiRig rig("");
  for (const char* type : {"", "application/json", "Application/JSON; charset=utf-8", "application/vnd.shop+json",
                           "application/x-www-form-urlencoded"}) {
    CAPTURE(type);
    const auto slot = rig.send("POST", "/v1/check", R"({"subject":"u"})",
                               {{"x-api-key", rig.shop_key}, {"content-type", type}, {"content-encoding", "identity"}});
    CHECK(rig.answers[slot].status == 200);
  }
}

TEST_CASE("a body that is coded or of another type gets 415") {
  ApiRig rig("");
  for (const char* path : {"/v1/check", "/v1/check/batch", "/v1/release", "/v1/renew"}) {
    CAPTURE(path);
    const auto typed =
        rig.answers[rig.send("POST", path, "{}", {{"x-api-key", rig.shop_key}, {"content-type", "text/plain"}})];
    CHECK(typed.status == 415);
    CHECK(typed.has(R"(got \"text/plain\")"));
    const auto coded =
        rig.answers[rig.send("POST", path, "{}", {{"x-api-key", rig.shop_key}, {"content-encoding", "gzip"}})];
    CHECK(coded.status == 415);
    CHECK(coded.headers == "Accept-Encoding: identity\r\n");
    CHECK(coded.has(R"("type":"/problems/unsupported-media-type")"));
  }
}

TEST_CASE("the caller's request id comes back if it is short and plain") {
  ApiRig rig("");
  const auto asked_with = [&rig](const std::string& id, const std::string& body) {
    return rig.answers[rig.send("POST", "/v1/check", body, {{"x-api-key", rig.shop_key}, {"x-request-id", id}})];
  };
  Answer answer = asked_with("r-1", R"({"subject":"u"})");
  CHECK(answer.request_id == "r-1");
  CHECK(answer.has(R"("request_id":"r-1")"));
  answer = asked_with("r-1", R"({"subject":"u","request_id":"own"})");
  CHECK(answer.request_id == "r-1");
  CHECK_MESSAGE(answer.has(R"("request_id":"own")"), "the body's id is the check's");
  CHECK(asked_with("r-2", R"({"subject":7})").has(R"("request_id":"r-2")"));
  for (const std::string& bad : {std::string("a b"), std::string("a\"b"), std::string(129, 'x')}) {
    answer = asked_with(bad, R"({"subject":"u"})");
    CHECK(answer.status == 200);
    CHECK_MESSAGE(answer.request_id.size() == 24, "another id is made, and the caller sees it");
    CHECK(answer.has(R"("request_id":")" + answer.request_id));
  }
  answer = asked_with("", R"({"subject":"u"})");
  CHECK(answer.request_id.empty());
  CHECK_FALSE(answer.has("request_id"));
}

TEST_CASE("a query that a route would ignore is refused, and fields of a check are sent to the body") {
  ApiRig rig("");
  for (const char* path : {"/v1/check", "/v1/check/batch", "/v1/release", "/v1/renew"}) {
    CAPTURE(path);
    const Answer answer = rig.answers[rig.send("POST", std::string(path) + "?explain=true&secret=%73lk_x", "{}",
                                               {{"x-api-key", rig.shop_key}})];
    CHECK(answer.status == 400);
    CHECK(answer.has(R"("pointer":"?explain")"));
    CHECK(answer.has("it is a field of a check, so send it in the body"));
    CHECK(answer.has(R"(got \"secret\": leave it out)"));
    CHECK_MESSAGE(!answer.has("slk_x"), "values may be secrets");
  }
  CHECK(rig.answers[rig.send("POST", "/v1/check?a=%zz", "{}", {{"x-api-key", rig.shop_key}})].status == 400);
  CHECK(rig.answers[rig.send("POST", "/v1/check?", R"({"subject":"u"})", {{"x-api-key", rig.shop_key}})].status == 200);
  CHECK(rig.answers[rig.send("GET", "/v1/health?at=7", "", {})].status == 200);
  CHECK(rig.answers[rig.send("GET", "/openapi.json?v=1", "", {})].status == 200);
}

TEST_CASE("a key in Authorization is missing, and the answer says where it was found but not what it is") {
  ApiRig rig("");
  for (const char* path : {"/v1/check", "/v1/check/batch", "/v1/release", "/v1/renew"}) {
    CAPTURE(path);
    const auto sent_in = [&](const std::string& authorization) {
      return rig.answers[rig.send("POST", path, "{}", {{"authorization", authorization}})];
    };
    const Answer key = sent_in("Bearer " + rig.shop_key);
    CHECK(key.status == 401);
    CHECK(key.has(R"("code":"missing")"));
    CHECK(key.has("an API key in Authorization, which checks do not read: move it to x-api-key"));
    CHECK_FALSE(key.has("slk_shop"));
    const Answer other = sent_in("Basic dXNlcjpodW50ZXIy");
    CHECK(other.has("the header Authorization, which checks do not read"));
    CHECK_FALSE(other.has("dXNlcjpodW50ZXIy"));
    CHECK_FALSE(sent_in("").has("Authorization"));
  }
  const Answer wrong = rig.answers[rig.send("POST", "/v1/check", "{}", {{"x-api-key", "x"}, {"authorization", "y"}})];
  CHECK(wrong.has(R"("code":"malformed")"));
  CHECK_FALSE(wrong.has("Authorization"));
}

TEST_CASE("a held check keeps the request id until it is decided") {
  ApiRig rig(R"("policies":[{"id":"p","tenant_id":"shop","scope":{},"key_by":"subject",
                "limits":[{"algorithm":"fixed_window","limit":5,"window":"1m"}]}])");
  rig.store.hold = true;
  const auto slot =
      rig.send("POST", "/v1/check", R"({"subject":"u"})", {{"x-api-key", rig.shop_key}, {"x-request-id", "r-1"}});
  rig.store.let_go();
  CHECK(rig.answers[slot].request_id == "r-1");
}

TEST_CASE("the page of a problem is served, and of no other name") {
  ApiRig rig("");
  CHECK(rig.answers[rig.send("GET", "/problems/unauthorized", "", {})].type == "text/html; charset=utf-8");
  const Answer none = rig.answers[rig.send("GET", "/problems/none", "", {})];
  CHECK(none.status == 404);
  CHECK(none.has(R"("type":"/problems/not-found")"));
  CHECK(rig.answers[rig.send("POST", "/problems/unauthorized", "", {})].status == 405);
}

TEST_CASE("an expired key is refused from the instant it expires") {
  ApiRig rig("");
  policy::Snapshot snapshot;
  auto key = std::make_shared<policy::KeyView>();
  auto presented = parse_key(rig.shop_key);
  key->id = "shop-key";
  key->hash = *parse_key_hash(hash_secret(presented->secret));
  key->expires_at_us = 1000;
  snapshot.keys.put(key);
  CHECK(decide::authenticate(snapshot, rig.shop_key, 999) == key.get());
  CHECK(decide::authenticate(snapshot, rig.shop_key, 1000).error() == CredentialFault::expired);
  CHECK(decide::authenticate(snapshot, mint_key("shop-key"), 1000).error() == CredentialFault::unknown);
  decide::VerifiedKeys verified;
  CHECK(decide::authenticate(snapshot, rig.shop_key, 999, &verified) == key.get());
  CHECK(decide::authenticate(snapshot, rig.shop_key, 1000, &verified).error() == CredentialFault::expired);
}

TEST_CASE("a faulty body names every fault and never reaches the store") {
  ApiRig rig(kPool);
  Answer answer = rig.check(R"({"subjct":"u","cost":-1})");
  CHECK(answer.status == 400);
  CHECK(answer.type == "application/problem+json");
  CHECK(answer.has("/subjct"));
  CHECK(answer.has("/cost"));
  CHECK(rig.check(R"({"subject":"u","cost":-1})").status == 422);
  CHECK(rig.store.judgements == 0);
}

TEST_CASE("text/plain gets a word with the same status and headers") {
  ApiRig rig(
      R"("policies":[{"id":"p","tenant_id":"shop","scope":{},"limits":[{"algorithm":"fixed_window","limit":1,"window":"1m"}]}])");
  auto ask = [&] {
    return rig.answers[rig.send("POST", "/v1/check", R"({"subject":"u"})",
                                {{"x-api-key", rig.shop_key}, {"accept", "text/plain"}})];
  };
  Answer allowed = ask();
  CHECK(allowed.status == 200);
  CHECK(allowed.body == "OK");
  CHECK(allowed.headers.find("X-RateLimit-Limit: 1") != std::string::npos);
  Answer denied = ask();
  CHECK(denied.status == 429);
  CHECK(denied.body == "Rate limit exceeded");
}

TEST_CASE("a lease is taken, given back once, and then free again") {
  ApiRig rig(kPool);
  Answer taken = rig.check(R"({"plan_id":"pool","subject":"u"})");
  CHECK(taken.has(R"("lease_expires_at":1800000030)"));
  CHECK(rig.check(R"({"plan_id":"pool","subject":"u"})").status == 429);
  const std::string body = R"({"lease_id":")" + lease_of(taken) + "\"}";
  CHECK(rig.post("/v1/release", body).body == R"({"released":true})");
  CHECK(rig.post("/v1/release", body).body == R"({"released":false})");
  CHECK(rig.check(R"({"plan_id":"pool","subject":"u"})").status == 200);
}

TEST_CASE("a renewed lease lives its ttl anew; one that has expired cannot be renewed") {
  ApiRig rig(kPool);
  const std::string body = R"({"lease_id":")" + lease_of(rig.check(R"({"plan_id":"pool","subject":"u"})")) + "\"}";
  rig.clock.now += 20'000'000;
  CHECK(rig.post("/v1/renew", body).body == R"({"renewed":true,"lease_expires_at":1800000050})");
  rig.clock.now += 30'000'000;
  CHECK(rig.post("/v1/renew", body).body == R"({"renewed":false})");
}

TEST_CASE("cost 0 reads a concurrency plan without taking a lease") {
  ApiRig rig(kPool);
  CHECK_FALSE(rig.check(R"({"plan_id":"pool","subject":"u","cost":0})").has("lease_id"));
  CHECK(rig.check(R"({"plan_id":"pool","subject":"u"})").status == 200);
}

TEST_CASE("another tenant's lease is not found, a malformed id is unprocessable") {
  ApiRig rig(kPool);
  const std::string body = R"({"lease_id":")" + lease_of(rig.check(R"({"plan_id":"pool","subject":"u"})")) + "\"}";
  Answer foreign = rig.answers[rig.send("POST", "/v1/release", body, {{"x-api-key", rig.rival_key}})];
  CHECK(foreign.status == 404);
  CHECK(rig.post("/v1/release", R"({"lease_id":"nonsense"})").status == 422);
  CHECK(rig.post("/v1/release", R"({"lease":"x"})").status == 400);
  CHECK(rig.post("/v1/release", "{").status == 400);
  CHECK(rig.post("/v1/release", body).body == R"({"released":true})");
}

TEST_CASE("leases need a key, and a store that answers") {
  ApiRig rig(kPool);
  const std::string body = R"({"lease_id":")" + lease_of(rig.check(R"({"plan_id":"pool","subject":"u"})")) + "\"}";
  CHECK(rig.answers[rig.send("POST", "/v1/release", body, {})].status == 401);
  rig.store.failing = limiter::StoreError{};
  CHECK(rig.post("/v1/release", body).status == 503);
  CHECK(rig.post("/v1/renew", body).status == 503);
}

TEST_CASE("above max_in_flight checks are refused as overload") {
  RigOptions options;
  options.max_in_flight = 1;
  ApiRig rig(
      R"("policies":[{"id":"p","tenant_id":"shop","scope":{},"limits":[{"algorithm":"fixed_window","limit":9,"window":"1m"}]}])",
      "", options);
  rig.store.hold = true;
  auto waiting = rig.send("POST", "/v1/check", R"({"subject":"u"})", {{"x-api-key", rig.shop_key}});
  CHECK_FALSE(rig.answers.contains(waiting));
  Answer refused = rig.check(R"({"subject":"u"})");
  CHECK(refused.status == 503);
  CHECK(refused.has(R"("reason":"overload")"));
  rig.store.let_go();
  CHECK(rig.answers[waiting].status == 200);
  CHECK(rig.in_flight.count() == 0);
}

TEST_CASE("a request in flight is decided by the snapshot it met") {
  const std::string members = R"("policies":[{"id":"p","tenant_id":"shop","scope":{},"metadata":{"v":"old"},
    "limits":[{"algorithm":"fixed_window","limit":9,"window":"1m"}]}])";
  ApiRig rig(members);
  rig.store.hold = true;
  auto waiting = rig.send("POST", "/v1/check", R"({"subject":"u"})", {{"x-api-key", rig.shop_key}});
  rig.load("");
  rig.store.let_go();
  CHECK(rig.answers[waiting].has(R"("metadata":{"v":"old"})"));
  CHECK(rig.check(R"({"subject":"u"})").has(R"("reason":"no_policy")"));
}

TEST_CASE("before a snapshot was loaded checks are no_snapshot") {
  for (bool allow : {false, true}) {
    RigOptions options;
    options.allow_without_snapshot = allow;
    ApiRig rig("", "", options);
    rig.decider.set_snapshot(nullptr);
    Answer answer = rig.check(R"({"subject":"u"})");
    CHECK(answer.status == (allow ? 200 : 503));
    CHECK(answer.has(R"("reason":"no_snapshot")"));
    CHECK_FALSE(answer.has("cause"));
    rig.why_no_policies = "the server refuses the \"token\"";
    CHECK(rig.check(R"({"subject":"u"})").has(R"("cause":"the server refuses the \"token\"")"));
    CHECK(rig.post("/v1/check/batch", R"({"checks":[{"subject":"u"}]})").has("the server refuses"));
    CHECK(rig.post("/v1/release", "{}").status == 503);
    CHECK(rig.get("/v1/snapshot").body == R"({"loaded":false})");
  }
}

TEST_CASE("unknown paths are 404, known paths with another method 405 with what is allowed") {
  ApiRig rig("");
  CHECK(rig.get("/v1/nothing").status == 404);
  Answer wrong = rig.get("/v1/check");
  CHECK(wrong.status == 405);
  CHECK(wrong.headers == "Allow: POST\r\n");
  CHECK(rig.answers[rig.send("TRACE", "/v1/health", "", {})].headers == "Allow: GET, HEAD\r\n");
}

TEST_CASE("health, snapshot state and the API's description need no key and tell no secret") {
  ApiRig rig(kPool);
  CHECK(rig.get("/v1/health").has(R"("status":"ok")"));
  Answer state = rig.get("/v1/snapshot");
  CHECK(state.has(R"("revision":1)"));
  CHECK(state.has(R"("plans":1,"policies":0,"keys":2)"));
  CHECK_FALSE(state.has("sha256"));
  CHECK(rig.get("/openapi.json").has("/v1/check"));
  CHECK(rig.answers[rig.send("HEAD", "/v1/health", "", {})].status == 200);
}

TEST_CASE("decisions by reason add up to the checks answered") {
  ApiRig rig(
      R"("policies":[{"id":"p","tenant_id":"shop","scope":{},"limits":[{"algorithm":"fixed_window","limit":2,"window":"1m"}]}])");
  for (int i = 0; i < 5; ++i) rig.check(R"({"subject":"u"})");
  std::string text = rig.metrics.render();
  CHECK(text.find(R"(sluice_decisions_total{tenant="shop",outcome="allowed",reason="within_limit"} 2)") !=
        std::string::npos);
  CHECK(text.find(R"(sluice_decisions_total{tenant="shop",outcome="denied",reason="limit_exceeded"} 3)") !=
        std::string::npos);
  CHECK(text.find(R"(sluice_http_requests_total{route="/v1/check",status="429"} 3)") != std::string::npos);
}

}  // namespace
}  // namespace sluice::agent::api
