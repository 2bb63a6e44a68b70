// The rate limit service without a front end: files as texts, a clock that is set, counters in memory or a store that
// fails or holds its answers back.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/rls/call.hpp"
#include "common/limiter/memory_store.hpp"
#include "common/rls_config/config_reader.hpp"

namespace sluice::agent::rls {

struct SetClock final : Clock {
  std::int64_t now = 1'800'000'000'000'000;  // the beginning of an hour
  std::int64_t now_us() const override { return now; }
  void advance(std::chrono::seconds time) { now += std::chrono::microseconds(time).count(); }
};

struct TestStore final : limiter::CounterStore {
  explicit TestStore(limiter::MemoryCounters& counters) : memory(counters) {}

  void judge(const limiter::Call& call, limiter::JudgeListener& listener) override {
    keys.push_back(call.keys[0]);
    if (hold) return held.push_back({&call, &listener});
    if (failing) return listener.judged(std::unexpected(*failing));
    memory.judge(call, listener);
  }
  void judge_all(std::span<const limiter::RulebookCall> calls) override {
    ++together;
    for (const limiter::RulebookCall& each : calls) keys.push_back(each.call->keys[0]);
    memory.judge_all(calls);
  }
  void release(std::span<const limiter::LeaseRef>, const limiter::Origin&, limiter::LeaseListener&) override {}
  void renew(std::span<const limiter::LeaseRef>, const limiter::Origin&, limiter::LeaseListener&) override {}
  void put_overrides(std::string_view, std::span<const limiter::OverrideEntry>, limiter::OverrideListener&) override {}

  void answer_held() {
    for (const auto& [call, listener] : std::exchange(held, {})) memory.judge(*call, *listener);
  }

  limiter::MemoryStore memory;
  std::optional<limiter::StoreError> failing;
  bool hold = false;
  std::vector<std::pair<const limiter::Call*, limiter::JudgeListener*>> held;
  std::vector<std::string> keys;  // of all calls
  int together = 0;               // calls of judge_all()
};

// The last answer.
struct Heard final : Listener {
  void answered(const Response& its_response) override {
    response = its_response;
    names.clear();
    for (Status& status : response->statuses) {  // the texts are valid during the call only
      names.emplace_back(status.limit ? status.limit->name : "");
      if (status.limit) status.limit->name = {};
    }
    refusal.reset();
    ++count;
  }
  void refused(const Refusal& its_refusal) override {
    refusal = its_refusal;
    response.reset();
    ++count;
  }
  std::optional<Response> response;
  std::optional<Refusal> refusal;
  std::vector<std::string> names;  // of the limits, by descriptor
  int count = 0;
};

class Rig {
 public:
  // `descriptors`: those of the domain `d`.
  explicit Rig(std::string descriptors, Options options = {}, std::size_t max_in_flight = 100)
      : in_flight_(max_in_flight), service_(options, resources()) {
    load(std::move(descriptors));
  }

  void load(std::string descriptors) {
    const std::vector<rls_config::FileText> files{{"d.yaml", "domain: d\ndescriptors:\n" + std::move(descriptors)}};
    auto read = rls_config::read_config(files);
    REQUIRE(read);
    service_.set_config({.config = read->config, .metrics = metrics.index(*read->config)});
  }

  // Returns the response. REQUIRES: the store answers at once.
  Response ask(const Request& request) {
    call_.start(request, heard);
    REQUIRE(heard.response);
    return *heard.response;
  }
  Refusal refusal_of(const Request& request) {
    call_.start(request, heard);
    REQUIRE(heard.refusal);
    return *heard.refusal;
  }
  void start(const Request& request) { call_.start(request, heard); }

  std::uint64_t counted(DescriptorOutcome outcome) const {
    return counts.descriptors[static_cast<std::size_t>(outcome)];
  }
  std::uint64_t counted(RequestOutcome outcome) const { return counts.requests[static_cast<std::size_t>(outcome)]; }
  decide::InFlight& in_flight() { return in_flight_; }

  SetClock clock;
  Counts counts;
  RuleMetrics metrics;
  Heard heard;

 private:
  limiter::MemoryCounters counters_{clock, 4};

 public:
  TestStore store{counters_};

 private:
  Resources resources() {
    return {.store = store,
            .in_flight = in_flight_,
            .redis_time = redis_time_,
            .agents = [] { return 1; },
            .is_only_tenant = [] { return true; },
            .counts = counts,
            .rule_metrics = &metrics};
  }

  decide::InFlight in_flight_;
  decide::RedisTime redis_time_{std::chrono::seconds(1), 1};
  Service service_;
  Call call_{service_};
};

inline Descriptor of(const std::vector<rls_config::Entry>& entries) {
  Descriptor descriptor;
  descriptor.entries.assign(entries.begin(), entries.end());
  return descriptor;
}

inline Request request(std::vector<Descriptor> descriptors, std::uint32_t hits = 0, std::string_view domain = "d") {
  Request made;
  made.domain = domain;
  made.descriptors = std::move(descriptors);
  made.hits_addend = hits;
  return made;
}

// A rule as a line of YAML.
inline std::string rule(std::string_view fields, int requests, std::string_view unit = "hour",
                        std::string_view limit_fields = "") {
  return "  - {" + std::string(fields) + ", rate_limit: {unit: " + std::string(unit) +
         ", requests_per_unit: " + std::to_string(requests) + (limit_fields.empty() ? "" : ", ") +
         std::string(limit_fields) + "}}\n";
}

}  // namespace sluice::agent::rls
