// Scrapes that wait at the same time share a rendering, and a rendering is followed by a rest.
#include "common/program/metrics_page.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "tests/unit/http_asker.hpp"

namespace sluice::program {
namespace {

using std::chrono::steady_clock;

struct Rig {
  void run() {
    loop.restart();
    loop.run();
  }

  int renderings = 0;
  boost::asio::io_context loop;
  MetricsPage page{loop, [this] { return "rendering " + std::to_string(++renderings); }};
  http::Asker asker{page};
};

TEST_CASE("Scrapes that wait together share one rendering, which begins after they arrived") {
  Rig rig;
  for (int i = 0; i < 5; ++i) rig.asker.send("GET", "/metrics");
  CHECK(rig.renderings == 0);
  CHECK(rig.asker.answers.empty());
  rig.run();
  CHECK(rig.renderings == 1);
  CHECK(rig.asker.answers.size() == 5);
  for (const auto& [slot, answer] : rig.asker.answers) CHECK(answer.body == "rendering 1");
}

TEST_CASE("A later scrape gets a rendering of its own, after a rest") {
  Rig rig;
  rig.asker.send("GET", "/metrics");
  rig.run();
  const auto begin = steady_clock::now();
  const std::uint64_t later = rig.asker.send("GET", "/metrics");
  rig.run();
  CHECK(rig.asker.answers[later].body == "rendering 2");
  // The rest began before `begin`, so a little of it had passed.
  CHECK(steady_clock::now() - begin > MetricsPage::kLeastRest / 2);
}

TEST_CASE("After a long rendering the rest is longer") {
  boost::asio::io_context loop;
  static constexpr std::chrono::milliseconds kTook{20};
  MetricsPage page(loop, [] {
    const auto end = steady_clock::now() + kTook;
    while (steady_clock::now() < end) {
    }
    return std::string("done");
  });
  http::Asker asker(page);
  asker.send("GET", "/metrics");
  loop.run();
  const auto begin = steady_clock::now();
  asker.send("GET", "/metrics");
  loop.restart();
  loop.run();
  CHECK(steady_clock::now() - begin > kTook * (MetricsPage::kRestShare - 1) + kTook);
}

TEST_CASE("With a token, only its bearer may read the metrics") {
  boost::asio::io_context loop;
  MetricsPage page(loop, [] { return std::string("all"); }, [](std::string_view token) { return token == "good"; });
  http::Asker asker(page);
  for (const auto& headers : std::vector<http::Asker::Headers>{
           {}, {{"authorization", "good"}}, {{"authorization", "Bearer bad"}}, {{"authorization", "Bearer "}}}) {
    const http::Answer refused = asker.answers[asker.send("GET", "/metrics", "", headers)];
    CHECK(refused.status == 401);
    CHECK(refused.headers == "WWW-Authenticate: Bearer realm=\"sluice-metrics\"\r\n");
  }
  const std::uint64_t slot = asker.send("GET", "/metrics", "", {{"authorization", "bEARER good"}});
  loop.run();
  CHECK(asker.answers[slot].body == "all");
}

TEST_CASE("The page has one path, for GET and HEAD") {
  Rig rig;
  CHECK(rig.asker.ask("GET", "/livez").status == 404);
  CHECK(rig.asker.ask("GET", "/livez").has("/metrics only"));
  CHECK(rig.asker.ask("POST", "/metrics").status == 405);
  CHECK(rig.asker.ask("POST", "/metrics").headers == "Allow: GET, HEAD\r\n");
  const std::uint64_t head = rig.asker.send("HEAD", "/metrics");
  rig.run();
  CHECK(rig.asker.answers[head].status == 200);
}

}  // namespace
}  // namespace sluice::program
