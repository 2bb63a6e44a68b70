// POST /v1/check/batch without sockets: each check on its own, in its place.
#include "common/domain/check_batch.hpp"
#include "common/json/tree.hpp"
#include "tests/unit/agent/api/api_rig.hpp"
#include "tests/unit/domain/allocations.hpp"

namespace sluice::agent::api {
namespace {

constexpr const char* kShop = R"("policies":[{"id":"p","tenant_id":"shop","scope":{"resource":"r"},"key_by":"subject",
    "limits":[{"algorithm":"fixed_window","limit":3,"window":"1m"}]}],
  "plans":[{"id":"pool","tenant_id":"shop","key_by":"subject",
    "limits":[{"name":"running","algorithm":"concurrency","limit":1,"lease_ttl":"30s"}]},
    {"id":"open","tenant_id":"shop","key_by":"subject","failure_mode":"fail_open",
    "limits":[{"name":"w","algorithm":"fixed_window","limit":3,"window":"1m"}]}])";

// A reply to a batch, taken apart.
struct Results {
  explicit Results(const Answer& answer) : body(answer.body) {
    REQUIRE(answer.status == 200);
    CHECK(answer.type == "application/json");
    CHECK(answer.headers.empty());
    const auto root = tree.parse(body);
    REQUIRE(root);
    REQUIRE(root->members().size() == 1);
    REQUIRE(root->members()[0].name == "results");
    items = root->members()[0].value.items();
  }
  std::string at(std::size_t slot, std::string_view name) const {
    for (const json::Member& member : items[slot].members()) {
      if (member.name != name) continue;
      if (member.value.type() == json::Type::boolean) return member.value.boolean() ? "true" : "false";
      return std::string(member.value.text());
    }
    return "(absent)";
  }
  std::string pointer(std::size_t slot) const {
    for (const json::Member& member : items[slot].members()) {
      if (member.name != "errors") continue;
      return std::string(member.value.items()[0].members()[0].value.text());
    }
    return "(none)";
  }
  // `name` of every result.
  std::vector<std::string> all(std::string_view name) const {
    std::vector<std::string> found;
    for (std::size_t slot = 0; slot < items.size(); ++slot) found.push_back(at(slot, name));
    return found;
  }

  std::string body;
  json::Tree tree;
  std::span<json::Value> items;
};

using Texts = std::vector<std::string>;

Answer ask(ApiRig& rig, const std::string& checks) {
  return rig.post("/v1/check/batch", R"({"checks":[)" + checks + "]}");
}

TEST_CASE("one subject several times in a batch is charged in the order of the checks") {
  ApiRig rig(kShop);
  const std::string once = R"({"resource":"r","subject":"u","request_id":"#"})";
  std::string checks;
  for (char c = '0'; c < '5'; ++c) {
    checks += (checks.empty() ? "" : ",") + std::string(once).replace(once.find('#'), 1, 1, c);
  }
  const Results results(ask(rig, checks));
  CHECK(results.all("request_id") == Texts{"0", "1", "2", "3", "4"});
  CHECK(results.all("remaining") == Texts{"2", "1", "0", "0", "0"});
  CHECK(results.all("allowed") == Texts{"true", "true", "true", "false", "false"});
  CHECK(rig.in_flight.count() == 0);
}

TEST_CASE("a result is the very body a single check would get") {
  ApiRig one(kShop);
  ApiRig other(kShop);
  for (const char* check :
       {R"({"resource":"r","subject":"u","explain":true,"request_id":"x"})", R"({"subject":"nobody"})"}) {
    CHECK(ask(one, check).body == R"({"results":[)" + other.check(check).body + "]}");
  }
}

TEST_CASE("bad checks get their errors in their places, the others are judged") {
  ApiRig rig(kShop);
  const std::string oversized = R"({"subject":"u")" + std::string(kMaxCheckBytes, ' ') + "}";
  const Results results(
      ask(rig, R"({"resource":"r","subject":"u"},7,{"resource":"r","cost":-1,"request_id":"r-2"},)"
               R"({"plan_id":"none","subject":"u"},)" +
                   oversized + R"(,{"resource":"r","subject":"u","colour":"red"},{"resource":"r","subject":"u"})"));
  CHECK(results.all("status") == Texts{"(absent)", "400", "422", "404", "413", "400", "(absent)"});
  CHECK(results.all("remaining") == Texts{"2", "(absent)", "(absent)", "(absent)", "(absent)", "(absent)", "1"});
  CHECK(results.pointer(1) == "/checks/1");
  CHECK(results.pointer(2) == "/checks/2/cost");
  CHECK(results.pointer(3) == "/checks/3/plan_id");
  CHECK(results.pointer(4) == "/checks/4");
  CHECK(results.pointer(5) == "/checks/5/colour");
  CHECK(results.at(2, "request_id") == "r-2");
  CHECK(results.at(2, "title") == "Unprocessable Content");
  CHECK(rig.store.judgements == 2);
  CHECK(rig.in_flight.count() == 0);
}

TEST_CASE("a check of 16 KiB is judged, one byte more is too large") {
  ApiRig rig(kShop);
  const auto padded = [](std::size_t size) {
    std::string check = R"({"resource":"r","subject":"u"})";
    check.insert(1, size - check.size(), ' ');
    return check;
  };
  const Results results(ask(rig, padded(kMaxCheckBytes) + "," + padded(kMaxCheckBytes + 1)));
  CHECK(results.all("status") == Texts{"(absent)", "413"});
}

TEST_CASE("what is no batch is refused as a whole, and nothing of it is judged") {
  ApiRig rig(kShop);
  const std::string good = R"({"resource":"r","subject":"u"})";
  for (const std::string& body :
       {std::string("{"), std::string("[]"), std::string("{}"), R"({"checks":[)" + good + "]}x",
        R"({"checks":[)" + good + R"(],"checks":[]})", R"({"checks":[)" + good + R"(],"x":1})"}) {
    const Answer answer = rig.post("/v1/check/batch", body);
    CHECK(answer.status == 400);
    CHECK(answer.type == "application/problem+json");
  }
  const Answer empty = ask(rig, "");
  CHECK(empty.status == 422);
  CHECK(empty.has(R"("pointer":"/checks")"));
  std::string many = good;
  for (std::size_t i = 1; i <= kMaxBatchChecks; ++i) many += "," + good;
  CHECK(ask(rig, many).status == 422);
  CHECK(rig.store.judgements == 0);
  CHECK(rig.in_flight.count() == 0);
}

TEST_CASE("a batch needs a key, which is asked for before the body is looked at") {
  ApiRig rig(kShop);
  const Answer answer = rig.answers[rig.send("POST", "/v1/check/batch", "{", {})];
  CHECK(answer.status == 401);
  CHECK(rig.get("/v1/check/batch").headers == "Allow: POST\r\n");
}

TEST_CASE("only the batch takes 1 MiB") {
  ApiRig rig(kShop);
  CHECK(rig.api.body_limit("POST", "/v1/check/batch") == std::size_t{1} << 20);
  for (const char* path : {"/v1/check", "/v1/release", "/v1/check/batch/", "/v1/check/batc", "/"}) {
    CHECK(rig.api.body_limit("POST", path) == 16 * 1024);
  }
  CHECK(rig.api.body_limit("PUT", "/v1/check/batch") == 16 * 1024);
}

TEST_CASE("a batch answers once all are judged, in its order whatever order they are judged in") {
  ApiRig rig(kShop);
  rig.store.hold = true;
  const auto slot = rig.send("POST", "/v1/check/batch",
                             R"({"checks":[{"resource":"r","subject":"a","request_id":"0"},7,
                             {"resource":"r","subject":"b","request_id":"2"},{"subject":"c","request_id":"3"}]})",
                             {{"x-api-key", rig.shop_key}});
  CHECK(rig.in_flight.count() == 2);
  REQUIRE(rig.store.held.size() == 2);
  std::swap(rig.store.held[0], rig.store.held[1]);
  const auto last = rig.store.held.back();
  rig.store.held.pop_back();
  rig.store.let_go();
  CHECK_FALSE(rig.answers.contains(slot));
  rig.store.memory.judge(*last.first, *last.second);
  const Results results(rig.answers[slot]);
  CHECK(results.all("request_id") == Texts{"0", "(absent)", "2", "3"});
  CHECK(results.all("reason") == Texts{"within_limit", "(absent)", "within_limit", "no_policy"});
  CHECK(rig.in_flight.count() == 0);
}

TEST_CASE("all checks of a batch are judged by the snapshot that was in force when it came") {
  ApiRig rig(kShop);
  rig.store.hold = true;
  const auto slot = rig.send("POST", "/v1/check/batch",
                             R"({"checks":[{"resource":"r","subject":"a"},{"resource":"r","subject":"b"}]})",
                             {{"x-api-key", rig.shop_key}});
  rig.load("");
  rig.store.let_go();
  CHECK(Results(rig.answers[slot]).all("policy_id") == Texts{"p", "p"});
}

TEST_CASE("checks of a batch that find no place are overload, the others are judged") {
  RigOptions options;
  options.max_in_flight = 2;
  ApiRig rig(kShop, "", options);
  rig.store.hold = true;
  const auto slot = rig.send("POST", "/v1/check/batch",
                             R"({"checks":[{"resource":"r","subject":"a"},{"resource":"r","subject":"b"},
                             {"resource":"r","subject":"c"},8,{"resource":"r","subject":"d"}]})",
                             {{"x-api-key", rig.shop_key}});
  rig.store.let_go();
  const Results results(rig.answers[slot]);
  CHECK(results.all("reason") == Texts{"within_limit", "within_limit", "overload", "overload", "overload"});
  CHECK(results.all("allowed") == Texts{"true", "true", "false", "false", "false"});
  CHECK(rig.in_flight.count() == 0);
  CHECK(rig.metrics.render().find(R"(outcome="denied",reason="overload"} 3)") != std::string::npos);
}

TEST_CASE("each check of a batch gets the failure mode of its own plan") {
  ApiRig rig(kShop);
  rig.store.failing = limiter::StoreError{};
  const Results results(ask(rig, R"({"resource":"r","subject":"u"},{"plan_id":"open","subject":"u"},{"subject":"u"})"));
  CHECK(results.all("reason") == Texts{"fail_closed", "fail_open", "no_policy"});
}

TEST_CASE("leases of a batch are taken one by one and given back one by one") {
  ApiRig rig(kShop);
  const Results results(ask(rig, R"({"plan_id":"pool","subject":"u"},{"plan_id":"pool","subject":"u"},)"
                                 R"({"plan_id":"pool","subject":"v"})"));
  CHECK(results.all("allowed") == Texts{"true", "false", "true"});
  CHECK(results.at(1, "lease_id") == "(absent)");
  const std::string body = R"({"lease_id":")" + results.at(0, "lease_id") + "\"}";
  CHECK(rig.post("/v1/release", body).body == R"({"released":true})");
  CHECK(Results(ask(rig, R"({"plan_id":"pool","subject":"u"},{"plan_id":"pool","subject":"v"})")).all("allowed") ==
        Texts{"true", "false"});
}

TEST_CASE("without a snapshot a batch is refused as one check is, or all of it allowed") {
  for (bool allow : {false, true}) {
    RigOptions options;
    options.allow_without_snapshot = allow;
    ApiRig rig("", "", options);
    rig.decider.set_snapshot(nullptr);
    const Answer answer = ask(rig, R"({"subject":"u"},{"subject":"v"})");
    if (allow) {
      CHECK(Results(answer).all("reason") == Texts{"no_snapshot", "no_snapshot"});
      CHECK(Results(answer).all("allowed") == Texts{"true", "true"});
      CHECK(rig.post("/v1/check/batch", "{").status == 400);
    } else {
      CHECK(answer.status == 503);
      CHECK(answer.has(R"("reason":"no_snapshot")"));
      CHECK(answer.headers.find("Retry-After: ") == 0);
    }
    CHECK(rig.in_flight.count() == 0);
  }
}

TEST_CASE("each check of a batch counts as a decision, and the batch as one request") {
  ApiRig rig(kShop);
  ask(rig,
      R"({"resource":"r","subject":"u"},{"resource":"r","subject":"u","cost":9},{"resource":"r","subject":"u"},7)");
  const std::string text = rig.metrics.render();
  CHECK(text.find(R"(sluice_decisions_total{tenant="shop",outcome="allowed",reason="within_limit"} 2)") !=
        std::string::npos);
  CHECK(text.find(R"(sluice_decisions_total{tenant="shop",outcome="denied",reason="limit_exceeded"} 1)") !=
        std::string::npos);
  CHECK(text.find("sluice_decision_duration_seconds_count 3") != std::string::npos);
  CHECK(text.find(R"(sluice_http_requests_total{route="/v1/check/batch",status="200"} 1)") != std::string::npos);
}

TEST_CASE("a word instead of JSON is not for batches") {
  ApiRig rig(kShop);
  const Results results(
      rig.answers[rig.send("POST", "/v1/check/batch", R"({"checks":[{"resource":"r","subject":"u"}]})",
                           {{"x-api-key", rig.shop_key}, {"accept", "text/plain"}})]);
  CHECK(results.items.size() == 1);
}

TEST_CASE("a batch that follows a larger one has its own results only") {
  ApiRig rig(kShop);
  ask(rig, R"({"resource":"r","subject":"a"},{"resource":"r","subject":"b"},{"resource":"r","subject":"c"})");
  CHECK(Results(ask(rig, R"({"resource":"r","subject":"a"})")).all("remaining") == Texts{"1"});
}

#ifdef SLUICE_COUNTS_ALLOCATIONS
TEST_CASE("a batch of 256 allocates nothing that a batch of one does not, once it was seen") {
  ApiRig rig(kShop);
  const auto batch_of = [](std::size_t count) {
    std::string body = R"({"checks":[)";
    for (std::size_t i = 0; i < count; ++i) {
      body +=
          (i == 0 ? "" : ",") + (R"({"resource":"r","subject":"user:)" + std::to_string(i) + R"(","tags":{"a":"b"}})");
    }
    return body + "]}";
  };
  const auto allocations = [&](const std::string& body) {
    rig.post("/v1/check/batch", body);
    const AllocationCount count;
    rig.post("/v1/check/batch", body);
    return count.so_far();
  };
  const std::size_t most = allocations(batch_of(256));
  CHECK(most == allocations(batch_of(1)));
}
#endif

}  // namespace
}  // namespace sluice::agent::api
