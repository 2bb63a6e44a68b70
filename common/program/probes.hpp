// Answers the probes of a program: GET /v1/health, /livez, /readyz and /startupz; and /metrics, if this port has them.
//
// /readyz answers 200 while the listeners are up, the program has what it needs, and it does not drain. A program that
// was ready stays ready without Redis or PostgreSQL. The body lists what is degraded.
//
// Calls the functions of ProbeSources on the HTTP server's thread. Any thread may call set_ready() and set_draining().
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/http/server.hpp"
#include "common/program/metrics_page.hpp"

namespace sluice::program {

struct ProbeSources {
  std::function<bool()> alive;                         // whether the loops of all workers respond
  std::function<std::vector<std::string>()> degraded;  // a sentence for each degraded part
  // What the start still waits for. Without this function there is no /startupz.
  std::function<std::vector<std::string>()> starting = {};
  // Whether the program has what it needs for its work. Once true, it must stay true. Without this function: true.
  std::function<bool()> equipped = {};
};

class Probes final : public http::Handler {
 public:
  // `port`: the port's name in the text of a 404, for example "The admin port". `metrics`: answers /metrics; nullptr:
  // another port does. REQUIRES: `metrics` outlives this object.
  Probes(std::string_view port, ProbeSources sources, MetricsPage* metrics)
      : port_(port), sources_(std::move(sources)), metrics_(metrics) {}

  void set_ready() { ready_ = true; }
  void set_draining() { draining_ = true; }

  // No route takes a body. A request with one gets 404 or 405 rather than 413.
  std::size_t body_limit(std::string_view, std::string_view) const override { return 16UL * 1024; }
  bool answers(std::string_view method, std::string_view) const override { return method == "GET" || method == "HEAD"; }
  void handle(http::Request& request, http::Reply reply) override;

 private:
  void show_readiness(http::Reply& reply) const;
  void show_start(http::Reply& reply) const;

  const std::string port_;
  ProbeSources sources_;
  MetricsPage* const metrics_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> draining_{false};
};

}  // namespace sluice::program
