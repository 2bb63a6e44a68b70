// Answers the probes and metrics of a program: GET /v1/health, /livez, /readyz, /metrics, and /startupz if the program
// has it. The port that serves them has no other routes.
//
// /readyz answers 200 while the listeners are up, the program can do its work, and it does not drain. Once ready, the
// program stays ready when Redis, PostgreSQL or another program is away, because readiness gates the whole pod; the body
// lists what is degraded.
//
// Thread safety: runs on the HTTP server's thread and calls the functions of ProbeSources there. Values that these
// functions read from workers must be atomic.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/http/server.hpp"

namespace sluice::program {

struct ProbeSources {
  std::function<bool()> alive;                         // whether the loops of all workers respond
  std::function<std::vector<std::string>()> degraded;  // a sentence for each degraded part
  std::function<std::string()> metrics;                // in Prometheus' text format 0.0.4
  // What the start still waits for, a few words each. If this function is set, /startupz exists. It answers 200 once
  // the list is empty and set_ready() was called.
  std::function<std::vector<std::string>()> starting = {};
  // Whether the program has what it needs to do its work; once true, it must stay true. Not set: it needs nothing.
  std::function<bool()> equipped = {};
};

class Probes final : public http::Handler {
 public:
  // `port`: what the text of a 404 calls this port, such as "The admin port".
  Probes(std::string_view port, ProbeSources sources) : port_(port), sources_(std::move(sources)) {}

  void set_ready() { ready_ = true; }
  void set_draining() { draining_ = true; }

  // No route takes a body. A body of up to 16 KiB is still read, so the answer is 404 or 405 and not 413.
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
