// The admin port: probes and metrics, and nothing else. GET /v1/health, /livez, /readyz, /metrics, and /startupz of a
// program that has one.
//
// Readiness is "the listener is up and not draining": it gates the whole pod, so it does not depend on stores or on
// other programs; what is degraded is said in its body.
// Thread: its server's, where the sources are called too: what they read of workers is atomic.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/http/server.hpp"

namespace sluice::program {

struct ProbeSources {
  std::function<bool()> alive;                         // every worker's loop turns
  std::function<std::vector<std::string>()> degraded;  // one sentence for each thing that is
  std::function<std::string()> metrics;                // in Prometheus' text format 0.0.4
  // What a start still waits for, a few words each. Where it is set, there is /startupz: 200 once it is nothing.
  std::function<std::vector<std::string>()> starting = {};
};

class Probes final : public http::Handler {
 public:
  // `port`: what a 404 calls where this is served, "The admin port".
  Probes(std::string_view port, ProbeSources sources) : port_(port), sources_(std::move(sources)) {}

  void set_ready() { ready_ = true; }
  void set_draining() { draining_ = true; }

  // Bodies are of no use here; one of moderate size is taken, to say 404 or 405.
  std::size_t body_limit(std::string_view, std::string_view) const override { return 16UL * 1024; }
  void handle(http::Request& request, http::Reply reply) override;

 private:
  void show_readiness(http::Reply& reply) const;
  void show_start(http::Reply& reply) const;

  const std::string port_;
  ProbeSources sources_;
  bool ready_ = false;
  bool draining_ = false;
};

}  // namespace sluice::program
