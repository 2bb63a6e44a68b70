// The agent's HTTP API for callers (--listen). routes.hpp lists its routes.
//
// Thread: one worker's. Request objects are reused: in the steady state, this class allocates nothing for a decision.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/api/api_replies.hpp"
#include "agent/api/authz.hpp"
#include "agent/api/batch.hpp"
#include "agent/api/rate_limit_json.hpp"
#include "common/base/pool.hpp"
#include "common/http/server.hpp"
#include "common/telemetry/counters.hpp"
#include "engine/decide/check.hpp"

namespace sluice::agent::api {

// Route labels for metrics. The last one, `other`, counts requests whose path matches no route.
std::vector<std::string> route_templates();

class CheckApi final : public http::Handler {
 public:
  CheckApi(HeaderFamilies headers, decide::Decider& decider, telemetry::HttpCounters& counters,
           telemetry::CounterVector& refusals, AuthzOptions authz = {}, tracing::Tracer* tracer = nullptr);
  ~CheckApi() override;

  // The newest position for which the server has confirmed that the snapshot in force is up to date. A change outside
  // the agent's scope moves the position, but not the snapshot. `as_of_us`: time of the confirmation, Unix time in µs.
  struct Head {
    std::uint64_t revision = 0;
    std::string chain;
    std::int64_t as_of_us = 0;
  };
  // Sets the position that /v1/snapshot shows. nullopt means the snapshot's own position.
  void set_head(std::optional<Head> head) { head_ = std::move(head); }
  // Sets the API key of all sub-requests of trusted proxies. "": they bring their own.
  void set_authz_key(std::string key) { authz_key_ = std::move(key); }
  const std::string& authz_key() const { return authz_key_; }

  // Serves /json too. REQUIRES: called before the first request; both outlive this object.
  void serve_rate_limits(rls::Service& service, bool callers_have_certificates) {
    rate_limits_.emplace(service, decider_, callers_have_certificates);
  }

  std::size_t body_limit(std::string_view method, std::string_view path) const override;
  bool answers(std::string_view method, std::string_view path) const override;
  void handle(http::Request& request, http::Reply reply) override;
  void refused(const http::Refusal& refusal) override;

 private:
  class Single;
  class LeaseChange;
  enum class Change : std::uint8_t { release, renew };

  void check(http::Request& request, RouteReply reply);
  void authorize(http::Request& request, RouteReply reply);
  template <class Read>
  void start(http::Request& request, RouteReply reply, std::string_view api_key, DecisionForm form, Read read);
  void check_batch(http::Request& request, RouteReply reply);
  void change_lease(http::Request& request, RouteReply reply, Change change);
  void refuse_caller(const http::Request& request, RouteReply& reply, const decide::Refusal& why);
  void show_snapshot(RouteReply reply) const;

  decide::Decider& decider_;
  telemetry::HttpCounters& counters_;
  telemetry::CounterVector& refusals_;  // see count_refusal()
  DecisionWriter writer_;
  const AuthzOptions authz_;
  tracing::Tracer* const tracer_;  // nullptr: requests are not traced
  std::string authz_key_;
  std::string made_request_id_;  // of the request that is handled, if its own is none
  const std::string_view openapi_;
  std::optional<Head> head_;
  Pool<Single> singles_;
  Pool<Batch> batches_;
  std::optional<RateLimitJson> rate_limits_;  // only with --ratelimit-config
};

}  // namespace sluice::agent::api
