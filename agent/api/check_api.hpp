// The check listener's API: POST /v1/check, /v1/check/batch, /v1/release, /v1/renew; GET /v1/health, /v1/snapshot,
// /openapi.json.
//
// Thread: one worker's. Requests in flight are pooled: in the steady state a decision allocates nothing here.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/api/api_replies.hpp"
#include "agent/api/batch.hpp"
#include "agent/api/pool.hpp"
#include "agent/decide/check.hpp"
#include "common/base/clock.hpp"
#include "common/http/server.hpp"
#include "common/telemetry/decision_log.hpp"
#include "common/telemetry/metrics.hpp"

namespace sluice::agent::api {

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
  // `in_flight` is shared by all workers; `usage` is this worker's, or none.
  CheckApi(CheckApiOptions options, limiter::CounterStore& store, const Clock& clock,
           std::atomic<std::size_t>& in_flight, telemetry::Metrics& metrics, telemetry::DecisionLog& log,
           usage::WorkerUsage* usage = nullptr);
  ~CheckApi() override;

  // From here on requests are decided by this snapshot; those in flight keep theirs.
  void set_snapshot(std::shared_ptr<const policy::Snapshot> snapshot);

  // Where the snapshot's history has come to meanwhile, nothing in it having changed, and when that was known.
  struct Head {
    std::uint64_t revision = 0;
    std::string chain;
    std::int64_t as_of_us = 0;
  };
  void set_head(Head head) { head_ = std::move(head); }

  std::size_t body_limit(std::string_view method, std::string_view path) const override;
  void handle(http::Request& request, http::Reply reply) override;

 private:
  class Single;
  class LeaseChange;
  enum class Change : std::uint8_t { release, renew };

  const policy::KeyView* authenticated(const http::Request& request) const;
  void check(http::Request& request, RouteReply reply);
  void check_batch(http::Request& request, RouteReply reply);
  void change_lease(http::Request& request, RouteReply reply, Change change);
  void show_snapshot(RouteReply reply) const;

  const CheckApiOptions options_;
  decide::CheckContext context_;
  DecisionWriter writer_;
  std::shared_ptr<const policy::Snapshot> snapshot_;
  std::optional<Head> head_;  // of the snapshot; absent: its own
  Pool<Single> singles_;
  Pool<Batch> batches_;
};

}  // namespace sluice::agent::api
