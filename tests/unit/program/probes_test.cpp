#include "common/program/probes.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>

#include "common/base/version.hpp"
#include "tests/unit/http_asker.hpp"

namespace sluice::program {
namespace {

struct Rig {
  http::Answer get(const std::string& path) {
    const std::uint64_t slot = asker.send("GET", path);
    loop.restart();
    loop.run();
    return asker.answers[slot];
  }

  bool alive = true;
  std::vector<std::string> degraded;
  boost::asio::io_context loop;
  MetricsPage page{loop, [] { return "# TYPE things counter\nthings 3\n"; }};
  Probes probes{"The admin port", {.alive = [this] { return alive; }, .degraded = [this] { return degraded; }}, &page};
  http::Asker asker{probes};
};

TEST_CASE("Ready is what has been set ready and does not drain") {
  Rig rig;
  CHECK(rig.get("/readyz").status == 503);
  CHECK(rig.get("/readyz").body == R"({"status":"starting","degraded":[]})");
  rig.probes.set_ready();
  CHECK(rig.get("/readyz").status == 200);
  CHECK(rig.get("/readyz").body == R"({"status":"ready","degraded":[]})");
  rig.probes.set_draining();
  CHECK(rig.get("/readyz").status == 503);
  CHECK(rig.get("/readyz").body == R"({"status":"draining","degraded":[]})");
}

TEST_CASE("A program that lacks what it needs is not ready") {
  bool equipped = false;
  Probes probes{"The admin port",
                {.alive = [] { return true; },
                 .degraded = [] { return std::vector<std::string>{"no policies"}; },
                 .equipped = [&] { return equipped; }},
                nullptr};
  http::Asker asker{probes};
  probes.set_ready();
  CHECK(asker.ask("GET", "/readyz").status == 503);
  CHECK(asker.ask("GET", "/readyz").body == R"({"status":"starting","degraded":["no policies"]})");
  CHECK(asker.ask("GET", "/livez").status == 200);
  equipped = true;
  CHECK(asker.ask("GET", "/readyz").status == 200);
  probes.set_draining();
  CHECK(asker.ask("GET", "/readyz").status == 503);
}

TEST_CASE("What is degraded is said, and does not make unready") {
  Rig rig;
  rig.probes.set_ready();
  rig.degraded = {"the store is away", "a \"file\" is bad"};
  CHECK(rig.get("/readyz").status == 200);
  CHECK(rig.get("/readyz").body == R"({"status":"ready","degraded":["the store is away","a \"file\" is bad"]})");
}

TEST_CASE("A loop that is stuck fails liveness only") {
  Rig rig;
  const std::string good = R"({"status":"ok","version":")" + std::string(version()) + "\"}";
  CHECK(rig.get("/livez").body == good);
  rig.alive = false;
  CHECK(rig.get("/livez").status == 503);
  CHECK(rig.get("/livez").body == R"({"status":"stuck"})");
  CHECK(rig.get("/v1/health").status == 200);
  CHECK(rig.get("/v1/health").body == good);
}

TEST_CASE("Metrics are in Prometheus' text format") {
  Rig rig;
  const http::Answer answer = rig.get("/metrics");
  CHECK(answer.status == 200);
  CHECK(answer.type == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(answer.body == "# TYPE things counter\nthings 3\n");
}

TEST_CASE("A port without metrics says so") {
  Probes probes("The admin port", {.alive = [] { return true; }, .degraded = [] { return std::vector<std::string>(); }},
                nullptr);
  http::Asker asker(probes);
  CHECK(asker.ask("GET", "/metrics").status == 404);
  CHECK(asker.ask("GET", "/metrics")
            .has("The admin port has /v1/health, /livez and /readyz; another port has /metrics."));
}

TEST_CASE("Everything else is 404 with what there is, and other methods are 405") {
  Rig rig;
  CHECK(rig.get("/v1/check").status == 404);
  CHECK(
      rig.get("/v1/check")
          .has("The admin port has /v1/health, /livez, /readyz and /metrics. The API is at the address of --listen."));
  const http::Answer refused = rig.asker.ask("POST", "/livez");
  CHECK(refused.status == 405);
  CHECK(refused.headers == "Allow: GET, HEAD\r\n");
  CHECK(rig.asker.ask("HEAD", "/livez").status == 200);
}

}  // namespace
TEST_CASE("A program that has a start says what it waits for, and another has no such path") {
  std::vector<std::string> waits_for{"policies"};
  Probes probes("The admin port",
                {.alive = [] { return true; },
                 .degraded = [] { return std::vector<std::string>(); },
                 .starting = [&] { return waits_for; }},
                nullptr);
  http::Asker asker(probes);
  CHECK(asker.ask("GET", "/startupz").status == 503);
  CHECK(asker.ask("GET", "/startupz").body == R"({"status":"starting","waits_for":["policies","the listeners"]})");
  waits_for.clear();
  CHECK(asker.ask("GET", "/startupz").status == 503);
  probes.set_ready();
  CHECK(asker.ask("GET", "/startupz").status == 200);
  CHECK(asker.ask("GET", "/startupz").body == R"({"status":"started","waits_for":[]})");
  CHECK(asker.ask("POST", "/startupz").status == 405);
  CHECK(asker.ask("GET", "/other").body.find("/startupz") != std::string::npos);
  Rig without;
  CHECK(without.get("/startupz").status == 404);
  CHECK(without.get("/startupz").body.find("/startupz") == std::string::npos);
}

}  // namespace sluice::program
