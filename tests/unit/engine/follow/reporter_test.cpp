// When an agent reports, what it reports again, and what its last report says.
#include <algorithm>

#include "tests/unit/engine/follow/sync_rig.hpp"

namespace sluice::follow::test {
namespace {

constexpr std::size_t kIntervals = 40;  // of which one request takes sync::ReportQueue::kMaxSentReports

// Usage of as many intervals, in each as many decisions as its number says.
void add_intervals(sync::ReportQueue& queue, std::size_t intervals = kIntervals) {
  for (std::size_t i = 1; i <= intervals; ++i) {
    const WallTime begin{std::chrono::seconds(5 * i)};
    queue.add(begin, begin + 5s,
              {{.tenant_id = "shop", .policy_id = "p", .outcome = "allowed", .count = static_cast<std::int64_t>(i)}});
  }
}

// A client whose first collection brings usage; the others bring nothing.
struct Reporting : SyncRig {
  explicit Reporting(std::chrono::milliseconds interval, std::size_t intervals = kIntervals)
      : SyncRig([&](SyncOptions& options) { options.report_interval = interval; }) {
    host.on_collect = [this, intervals](sync::ReportQueue& queue) {
      if (++collections == 1) add_intervals(queue, intervals);
    };
    client->start();
    REQUIRE(in_step());
  }

  // The decisions of each report that came, by its number; a report that comes again must be the same.
  std::map<std::int64_t, std::int64_t> decisions() const {
    std::map<std::int64_t, std::int64_t> found;
    for (const sync::ReportDocument& document : server.reports) {
      for (const sync::UsageReport& report : document.reports) {
        const auto [known, is_new] = found.try_emplace(report.number, report.counts.at(0).count);
        CHECK(known->second == report.counts.at(0).count);
      }
    }
    return found;
  }
  bool all_came() const {
    const auto found = decisions();
    for (std::size_t i = 1; i <= kIntervals; ++i) {
      const auto report = found.find(static_cast<std::int64_t>(i));
      if (report == found.end() || report->second != report->first) return false;
    }
    return found.size() == kIntervals;
  }

  int collections = 0;
};

TEST_CASE("what does not fit into one report is sent at once with the next ones, not lost") {
  Reporting rig(2s);
  REQUIRE(rig.until([&] { return rig.all_came(); }));
  CHECK(rig.collections == 1);
}

TEST_CASE("what the server has not stored waits for the next interval, and is then sent again") {
  Reporting rig(300ms, 1);
  rig.server.stored = 0;
  REQUIRE(rig.until([&] { return rig.collections == 1; }));
  const std::uint64_t before = rig.counters().reports;
  REQUIRE(rig.until([&] { return rig.collections == 4; }));
  CHECK(rig.counters().reports - before <= 4);
  CHECK(std::ranges::count_if(rig.server.reports, [](const auto& report) { return !report.reports.empty(); }) >= 3);
}

TEST_CASE("a report that fails is sent again with the same numbers, and the client is degraded until it arrives") {
  Reporting rig(200ms);
  rig.server.token = "slg_2";
  REQUIRE(rig.until([&] { return rig.counters().reports_failed >= 2; }));
  REQUIRE_FALSE(rig.client->degraded().empty());
  CHECK(rig.client->degraded().back().starts_with("reports do not reach the server: a report: "));
  rig.server.token = "slg_1";
  REQUIRE(rig.until([&] { return rig.all_came(); }));
  CHECK(rig.until([&] { return rig.client->degraded().empty(); }));
}

TEST_CASE("an answer that names a report that was never sent is a failure, and nothing counts as stored") {
  Reporting rig(100ms);
  rig.server.stored = 1'000;
  REQUIRE(rig.until([&] { return rig.counters().reports_failed >= 2; }));
  rig.server.stored.reset();
  CHECK(rig.until([&] { return rig.all_came(); }));
}

TEST_CASE("the last report brings what was decided since the one before") {
  Reporting rig(1h, 3);
  bool done = false;
  rig.client->stop([&] { done = true; });
  REQUIRE(rig.until([&] { return done; }));
  CHECK(rig.server.reports.back().agent.leaving);
  CHECK(rig.decisions().size() == 3);
}

TEST_CASE("a new state is reported without waiting for the interval") {
  Reporting rig(1h);
  CHECK(rig.until(
      [&] { return !rig.server.reports.empty() && rig.server.reports.back().agent.enforced == rig.server.head(); }));
}

}  // namespace
}  // namespace sluice::follow::test
