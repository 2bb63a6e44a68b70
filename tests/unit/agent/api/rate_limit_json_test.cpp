// POST /json: who may ask, and what the answers are.
#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "common/domain/check_batch.hpp"
#include "common/rls_config/config_reader.hpp"
#include "tests/unit/agent/api/api_rig.hpp"

namespace sluice::agent::api {
namespace {

constexpr std::string_view kBody = R"({"domain":"d","descriptors":[{"entries":[{"key":"user","value":"ada"}]}]})";

struct Access {
  bool stands_alone = false;
  bool callers_have_certificates = false;
};

// The API with the service of the tenant `shop`: 2 requests an hour.
class Rig {
 public:
  explicit Rig(Access access = {}) {
    rls::Options options;
    options.tenant = "shop";
    options.stands_alone = access.stands_alone;
    service_.emplace(options, rls::Resources{.store = api.store,
                                             .in_flight = api.in_flight,
                                             .redis_time = api.decider.redis_time(),
                                             .agents = [] { return 1; },
                                             .is_only_tenant = [] { return false; },
                                             .counts = counts});
    const std::vector<rls_config::FileText> files{
        {"d.yaml", "domain: d\ndescriptors:\n  - {key: user, rate_limit: {unit: hour, requests_per_unit: 2}}\n"}};
    service_->set_config({.config = rls_config::read_config(files)->config});
    api.api.serve_rate_limits(*service_, access.callers_have_certificates);
  }

  Answer ask(std::string peer, const std::string& key = "") {
    api.asker.peer = std::move(peer);
    http::Asker::Headers headers;
    if (!key.empty()) headers["x-api-key"] = key;
    return api.answers[api.send("POST", "/json", std::string(kBody), std::move(headers))];
  }

  ApiRig api{""};
  rls::Counts counts;

 private:
  std::optional<rls::Service> service_;
};

TEST_CASE("callers on the same machine need no API key") {
  Rig rig;
  for (const std::string_view peer : {"", "127.0.0.1", "127.8.9.1", "::1"}) {
    const unsigned status = rig.ask(std::string(peer)).status;
    CHECK((status == 200 || status == 429));
  }
}

TEST_CASE("others need an API key of the tenant that the domains belong to") {
  Rig rig;
  CHECK(rig.ask("10.0.0.7").status == 401);
  CHECK(rig.ask("128.0.0.1").status == 401);
  CHECK(rig.ask("10.0.0.7", "slk_no_key").status == 401);
  const Answer of_rival = rig.ask("10.0.0.7", rig.api.rival_key);
  CHECK(of_rival.status == 401);
  CHECK(of_rival.has("another tenant"));
  CHECK(rig.api.store.judgements == 0);
  CHECK(rig.ask("10.0.0.7", rig.api.shop_key).status == 200);
}

TEST_CASE("a client certificate stands for an API key") {
  Rig rig({.callers_have_certificates = true});
  CHECK(rig.ask("10.0.0.7").status == 200);
}

TEST_CASE("an agent without API keys says how to come in") {
  Rig rig({.stands_alone = true});
  rig.api.decider.set_snapshot(nullptr);
  const Answer answer = rig.ask("10.0.0.7");
  CHECK(answer.status == 401);
  CHECK(answer.has("--tls-client-ca"));
  CHECK(answer.headers.find("WWW-Authenticate") != std::string::npos);
}

TEST_CASE("the status tells the decision, and each refusal has a problem") {
  Rig rig;
  CHECK(rig.ask("").status == 200);
  CHECK(rig.ask("").status == 200);
  const Answer denied = rig.ask("");
  CHECK(denied.status == 429);
  CHECK(denied.type == "application/json");
  CHECK(denied.has(R"("overallCode":"OVER_LIMIT")"));
  rig.api.store.failing = limiter::StoreError{limiter::StoreFault::timeout, true};
  const Answer failed = rig.ask("");
  CHECK(failed.status == 503);
  CHECK(failed.has("/problems/counters-unavailable"));
  CHECK(failed.headers.find("Retry-After: 1") != std::string::npos);
  rig.api.store.failing = limiter::StoreError{limiter::StoreFault::overload, false};
  CHECK(rig.ask("").has("/problems/overload"));
}

TEST_CASE("the answer has the caller's request id") {
  Rig rig;
  rig.api.asker.peer = "";
  const auto slot = rig.api.send("POST", "/json", std::string(kBody), {{"x-request-id", "r-1"}});
  CHECK(rig.api.answers[slot].request_id == "r-1");
}

TEST_CASE("without the service there is no such path") {
  ApiRig rig("");
  const Answer answer = rig.post("/json", std::string(kBody));
  CHECK(answer.status == 404);
  CHECK(rig.api.body_limit("POST", "/json") == sluice::kMaxCheckBytes);
  Rig with;
  CHECK(with.api.api.body_limit("POST", "/json") == rls::kMaxRequestBytes);
}

}  // namespace
}  // namespace sluice::agent::api
