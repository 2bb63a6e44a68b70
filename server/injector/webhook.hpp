// The webhook over HTTP: POST /v1/inject with an AdmissionReview.
//
// It keeps no pod from being made: what it can read it allows. What it cannot read it refuses with a Status object, and
// the failure policy of the webhook's configuration says what becomes of the pod then.
// Thread: handle() on the loop; the counters may be read from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "common/http/server.hpp"
#include "common/telemetry/counters.hpp"
#include "common/telemetry/histogram.hpp"
#include "common/telemetry/log.hpp"
#include "server/injector/inject.hpp"

namespace sluice::server::injector {

class Webhook final : public sluice::http::Handler {
 public:
  static constexpr std::string_view kPath = "/v1/inject";
  // No pod that large is stored: etcd takes 1.5 MiB.
  static constexpr std::size_t kMaxReview = 2UL << 20;

  // Asked anew for each pod: authorities change. The settings stay where they are while a pod is looked at.
  using Settings = std::function<const InjectorSettings&()>;
  Webhook(Settings settings, telemetry::Log& log);

  // More than is taken, so that what is too large is refused here, in words that the API server passes on.
  std::size_t body_limit(std::string_view method, std::string_view path) const override;
  void admit(sluice::http::Request& head, sluice::http::Admission admission) override;
  void handle(sluice::http::Request& request, sluice::http::Reply reply) override;

  telemetry::CounterVector reviews;  // by result
  telemetry::CounterVector skipped;  // by reason
  telemetry::DurationHistogram duration;

 private:
  void answer(sluice::http::Request& request, sluice::http::Reply& reply);
  void count(const Injection& made);

  const Settings settings_;
  telemetry::Log& log_;
};

}  // namespace sluice::server::injector
