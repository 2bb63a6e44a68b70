// What the requests of one worker share: the configuration in force, the counter store, and the programs that judge.
//
// Thread: one worker's.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <boost/unordered/unordered_flat_map.hpp>

#include "agent/rls/counts.hpp"
#include "agent/rls/rule_metrics.hpp"
#include "agent/rls/verdict.hpp"
#include "common/limiter/counter_store.hpp"
#include "common/rls_config/config.hpp"
#include "engine/decide/check_spans.hpp"
#include "engine/decide/in_flight.hpp"
#include "engine/decide/redis_time.hpp"

namespace sluice::agent::rls {

struct Options {
  std::string tenant = "default";  // that all domains belong to
  bool stands_alone = false;       // the agent has neither a bundle nor a server, so no API keys
  bool atomic = false;             // charge all descriptors of a request or none
  ResponseParts parts = {};
  bool rule_metrics = false;  // count for each rule
};

// All references outlive the service.
struct Resources {
  limiter::CounterStore& store;
  decide::InFlight& in_flight;
  decide::RedisTime& redis_time;
  std::function<std::int64_t()> agents;  // that serve the tenant, at least 1
  std::function<bool()> is_only_tenant;  // whether the agent serves no other tenant
  Counts& counts;
  RuleMetrics* rule_metrics = nullptr;                // nullptr: nothing is counted for each rule
  const decide::TracedStore* traced_store = nullptr;  // for spans; nullptr: counters in memory
};

// The configuration in force.
struct InForce {
  std::shared_ptr<const rls_config::Config> config;        // nullptr: none is loaded
  std::shared_ptr<const RuleMetrics::Index> metrics = {};  // of its rules; nullptr without Resources::rule_metrics
};

class Service {
 public:
  Service(const Options& options, Resources resources);

  // Requests that are being judged keep their configuration.
  void set_config(InForce in_force) { in_force_ = std::move(in_force); }
  const InForce& in_force() const { return in_force_; }

  const Options& options() const { return options_; }
  const Resources& resources() const { return resources_; }
  limiter::Origin origin() const { return {tenant_hash_, 0, false}; }

  // The program of a limit; the same object for the same limit, as long as there are not too many.
  std::shared_ptr<const limiter::Program> program(std::uint32_t requests_per_unit, rls_config::Unit unit);

 private:
  static constexpr std::size_t kMaxPrograms = 4096;  // requests can bring limits of any number

  const Options options_;
  const Resources resources_;
  const std::uint64_t tenant_hash_;
  InForce in_force_;
  boost::unordered_flat_map<std::uint64_t, std::shared_ptr<const limiter::Program>> programs_;
};

}  // namespace sluice::agent::rls
