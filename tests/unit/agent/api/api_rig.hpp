// The check API without sockets: a bundle in JSON, a clock that is set, counters in memory or a store that fails.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "agent/api/check_api.hpp"
#include "agent/api/refusals.hpp"
#include "common/limiter/memory_store.hpp"
#include "common/objects/bundle_json.hpp"
#include "engine/decide/overload_cause.hpp"
#include "engine/usage/recorder.hpp"
#include "tests/unit/http_asker.hpp"

namespace sluice::agent::api {

struct RigOptions {
  std::size_t max_in_flight = 10'000;
  std::size_t max_waiting = 1'000;
  std::chrono::nanoseconds max_wait = std::chrono::seconds(30);
  bool allow_without_snapshot = false;
  std::chrono::nanoseconds matching = std::chrono::milliseconds(200);
  std::chrono::nanoseconds redis_budget = std::chrono::milliseconds(500);
  AuthzOptions authz = {};
};

struct SetClock final : Clock {
  std::int64_t now = 1'800'000'000'000'000;
  std::int64_t now_us() const override { return now; }
};

// Passes calls on to memory, unless it is told to fail or to hold them back.
struct TestStore final : limiter::CounterStore {
  explicit TestStore(limiter::MemoryCounters& counters) : memory(counters) {}

  void judge(const limiter::Call& call, limiter::JudgeListener& listener) override {
    ++judgements;
    if (hold) return held.push_back({&call, &listener});
    if (failing) return listener.judged(std::unexpected(*failing));
    memory.judge(call, listener);
  }
  void judge_all(std::span<const limiter::RulebookCall> calls) override {
    if (hold || failing) {
      for (const limiter::RulebookCall& each : calls) judge(*each.call, *each.listener);
    } else {
      judgements += static_cast<int>(calls.size());
      memory.judge_all(calls);
    }
  }
  void release(std::span<const limiter::LeaseRef> leases, const limiter::Origin&,
               limiter::LeaseListener& listener) override {
    if (failing) return listener.settled(std::unexpected(*failing));
    memory.release(leases, {}, listener);
  }
  void renew(std::span<const limiter::LeaseRef> leases, const limiter::Origin&,
             limiter::LeaseListener& listener) override {
    if (failing) return listener.settled(std::unexpected(*failing));
    memory.renew(leases, {}, listener);
  }
  void put_overrides(std::string_view key, std::span<const limiter::OverrideEntry> entries,
                     limiter::OverrideListener& listener) override {
    memory.put_overrides(key, entries, listener);
  }
  bool busy(std::chrono::steady_clock::time_point) const override { return is_busy; }
  void let_go() {
    for (auto [call, listener] : std::exchange(held, {})) memory.judge(*call, *listener);
  }

  limiter::MemoryStore memory;
  std::optional<limiter::StoreError> failing;
  bool hold = false;
  bool is_busy = false;
  int judgements = 0;
  std::vector<std::pair<const limiter::Call*, limiter::JudgeListener*>> held;
};

using http::Answer;

class ApiRig {
 public:
  // `members`: what the bundle has beside the tenants `shop` and `rival`, each with a key.
  explicit ApiRig(const std::string& members, const std::string& tenant = "", RigOptions options = {},
                  usage::WorkerUsage* usage = nullptr)
      : store(counters),
        metrics(metrics_options(), clock),
        lines(STDOUT_FILENO),
        log({}, lines, clock),
        recorder(metrics, log, false, usage),
        in_flight(options.max_in_flight),
        waiting(options.max_waiting),
        waiting_room(waiting, options.max_wait, [this](decide::WaitingRoom::Time at) { alarm = at; }),
        decider(store, &local_limits, clock, in_flight, waiting_room, recorder,
                {.allow = options.allow_without_snapshot, .cause = [this] { return why_no_policies; }},
                decide::MatchingBudget(options.matching), decide::RedisTime(options.redis_budget, 1)),
        api({}, decider, metrics.http, metrics.refusals, options.authz) {
    load(members, tenant);
  }

  ~ApiRig() { waiting_room.close(); }  // answers those who wait

  void load(const std::string& members, const std::string& tenant = "") {
    std::string text = R"({"format":"sluice/v1","tenants":[{"id":"shop")" + tenant + R"(},{"id":"rival"}],"keys":[)" +
                       key_entry("shop", shop_key) + "," + key_entry("rival", rival_key) + "]" +
                       (members.empty() ? "" : ",") + members + "}";
    auto bundle = parse_bundle(text);
    if (!bundle) {
      for (const Fault& fault : bundle.error()) MESSAGE(fault.pointer, " ", fault.text);
    }
    REQUIRE(bundle);
    auto snapshot = policy::build_snapshot(*bundle, 1, clock.now);
    REQUIRE(snapshot);
    decider.set_snapshot(*snapshot);
    api.set_head(std::nullopt);
  }

  // Calls the API; the answer is in `answers` under the number returned (at once, unless the store holds it).
  std::uint64_t send(const std::string& method, const std::string& path, std::string body,
                     http::Asker::Headers headers) {
    return asker.send(method, path, std::move(body), std::move(headers));
  }
  Answer post(const std::string& path, const std::string& body) {
    return answers[send("POST", path, body, {{"x-api-key", shop_key}})];
  }
  Answer check(const std::string& body) { return post("/v1/check", body); }
  Answer get(const std::string& path) { return answers[send("GET", path, "", {})]; }

  std::string shop_key = mint_key("shop-key");
  std::string rival_key = mint_key("rival-key");
  SetClock clock;
  limiter::MemoryCounters counters{clock};
  TestStore store;
  telemetry::Metrics metrics;
  telemetry::LineWriter lines;
  telemetry::DecisionLog log;
  usage::Recorder recorder;
  limiter::MemoryCounters local_counters{clock};
  std::int64_t live_agents = 0;
  std::string why_no_policies;
  decide::LocalLimits local_limits{local_counters, [this](std::string_view) { return live_agents; }};
  decide::InFlight in_flight;
  decide::WaitingPlaces waiting;
  std::optional<decide::WaitingRoom::Time> alarm;  // that the waiting room asked for last
  decide::WaitingRoom waiting_room;
  decide::Decider decider;
  CheckApi api;
  http::Asker asker{api};
  std::map<std::uint64_t, Answer>& answers = asker.answers;

 private:
  static telemetry::MetricsOptions metrics_options() {
    telemetry::MetricsOptions options;
    for (const std::string_view cause : decide::kOverloadCauses) options.overload_causes.emplace_back(cause);
    for (const std::string_view outcome : decide::kWaitOutcomes) options.wait_outcomes.emplace_back(outcome);
    options.routes = route_templates();
    for (const RefusalCause& cause : refusal_causes()) options.refusal_codes.push_back(cause.code);
    return options;
  }
  static std::string key_entry(const std::string& tenant, const std::string& key) {
    auto presented = parse_key(key);
    return R"({"tenant_id":")" + tenant + R"(","id":")" + std::string(presented->id) + R"(","key_hash":")" +
           hash_secret(presented->secret) + "\"}";
  }
};

}  // namespace sluice::agent::api
