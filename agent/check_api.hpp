// The check listener's API: POST /v1/check, /v1/release, /v1/renew; GET /v1/health, /v1/snapshot, /openapi.json.
//
// bytes → CheckRequest → … → Decision → bytes, around the pure arrows of decision.hpp. Thread: one worker's.
// Requests in flight are pooled: in the steady state a decision allocates nothing here.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/api_replies.hpp"
#include "agent/decision.hpp"
#include "common/base/clock.hpp"
#include "common/http/server.hpp"
#include "common/telemetry/decision_log.hpp"
#include "common/telemetry/metrics.hpp"

namespace sluice::agent {

struct CheckApiOptions {
  HeaderFamilies headers;
  std::size_t max_in_flight = 10'000;   // of the whole process; above: 503 overload
  bool allow_without_snapshot = false;  // else 503 no_snapshot
  bool policy_label = false;            // count decisions by policy
};

// The routes' templates, as metrics name them; the last one is for paths that are none.
std::vector<std::string> route_templates();

class CheckApi final : public http::Handler {
 public:
  // `in_flight` is shared by all workers.
  CheckApi(CheckApiOptions options, limiter::CounterStore& store, const Clock& clock,
           std::atomic<std::size_t>& in_flight, telemetry::Metrics& metrics, telemetry::DecisionLog& log);
  ~CheckApi() override;

  // From here on requests are decided by this snapshot; those in flight keep theirs.
  void set_snapshot(std::shared_ptr<const policy::Snapshot> snapshot);

  std::size_t body_limit(std::string_view method, std::string_view path) const override;
  void handle(http::Request& request, http::Reply reply) override;

 private:
  class Check;
  class LeaseChange;
  enum class Change : std::uint8_t { release, renew };

  const policy::KeyView* authenticated(const http::Request& request) const;
  void check(http::Request& request, RouteReply reply);
  void change_lease(http::Request& request, RouteReply reply, Change change);
  void show_snapshot(RouteReply reply) const;
  void answer_unjudged(RouteReply& reply, Reason reason, bool allowed, bool as_text);
  telemetry::DecisionCounters& counters(const policy::TenantView& tenant, const policy::Rulebook* rulebook);

  const CheckApiOptions options_;
  limiter::CounterStore& store_;
  const Clock& clock_;
  std::atomic<std::size_t>& in_flight_;
  telemetry::Metrics& metrics_;
  telemetry::DecisionLog& log_;
  DecisionWriter writer_;
  std::shared_ptr<const policy::Snapshot> snapshot_;
  std::unordered_map<const void*, telemetry::DecisionCounters*> counters_;  // of this snapshot's tenants or rulebooks
  std::vector<std::unique_ptr<Check>> idle_;
};

}  // namespace sluice::agent
