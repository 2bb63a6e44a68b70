// The admin port: probes and metrics, and nothing else. GET /v1/health, /livez, /readyz, /metrics.
//
// Readiness is "the listener is up and not draining": it gates the whole pod, so it does not depend on Redis or on the
// server; what is degraded is said in its body.
// Thread: the admin loop's; what it reads of workers is atomic.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/http/server.hpp"
#include "common/telemetry/metrics.hpp"

namespace sluice::agent {

struct Health {
  std::function<bool()> alive;                         // every worker's loop turns
  std::function<std::vector<std::string>()> degraded;  // one sentence for each thing that is
};

class AdminApi final : public http::Handler {
 public:
  AdminApi(telemetry::Metrics& metrics, Health health) : metrics_(metrics), health_(std::move(health)) {}

  void set_ready() { ready_ = true; }
  void set_draining() { draining_ = true; }

  // Bodies are of no use here; one that a check may have is taken, to say 404 or 405.
  std::size_t body_limit(std::string_view, std::string_view) const override { return 16UL * 1024; }
  void handle(http::Request& request, http::Reply reply) override;

 private:
  void show_readiness(http::Reply& reply) const;

  telemetry::Metrics& metrics_;
  Health health_;
  bool ready_ = false;
  bool draining_ = false;
};

}  // namespace sluice::agent
