// Serves the admission webhook over HTTP: the API server sends POST /v1/inject with an AdmissionReview for each pod.
//
// The webhook allows every pod whose review it can read. Otherwise it answers with an error status.
// Thread: handle() on the loop; the counters may be read from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "common/http/server.hpp"
#include "common/telemetry/counters.hpp"
#include "common/telemetry/histogram.hpp"
#include "common/telemetry/log.hpp"
#include "common/tracing/tracer.hpp"
#include "server/injector/inject.hpp"

namespace sluice::server::injector {

class Webhook final : public sluice::http::Handler {
 public:
  static constexpr std::string_view kPath = "/v1/inject";
  // Larger than any stored pod: etcd's limit is 1.5 MiB.
  static constexpr std::size_t kMaxReview = 2UL << 20;

  // Called at each review, because CA certificates change. The reference is valid during that review.
  using Settings = std::function<const InjectorSettings&()>;
  // `tracer`: nullptr: no traces.
  Webhook(Settings settings, telemetry::Log& log, tracing::Tracer* tracer = nullptr);

  // For POST kPath the limit is far above kMaxReview, so that admit() can refuse larger bodies with an explanation.
  std::size_t body_limit(std::string_view method, std::string_view path) const override;
  void admit(sluice::http::Request& head, sluice::http::Admission admission) override;
  void handle(sluice::http::Request& request, sluice::http::Reply reply) override;

  telemetry::CounterVector reviews;  // by result
  telemetry::CounterVector skipped;  // by reason
  telemetry::DurationHistogram duration;

 private:
  unsigned answer(sluice::http::Request& request, sluice::http::Reply& reply, const tracing::ActiveSpan& span);
  void count(const Injection& made);

  const Settings settings_;
  telemetry::Log& log_;
  tracing::Tracer* const tracer_;
};

}  // namespace sluice::server::injector
