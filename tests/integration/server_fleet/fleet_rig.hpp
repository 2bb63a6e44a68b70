// Replicas of the fleet on one database, and agents that report to them.
//
//   FleetRig rig;
//   auto a = rig.replica();
//   a->report(rig.shop, "10.0.0.1", rig.document("agent-1", {rig.usage(1, "allowed", 3)}));
//   CHECK(eventually([&] { return rig.counted() == 3; }));
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/fleet/fleet.hpp"
#include "tests/integration/server/counter_rig.hpp"

namespace sluice::server::test {

class FleetRig : public AdminRig {
 public:
  FleetRig() { found_acme(); }

  // A replica that stores quickly; `started` false: one that takes everything and stores nothing, as if it died soon.
  std::unique_ptr<fleet::Fleet> replica(bool started = true) {
    using std::chrono::milliseconds;
    return replica({.store_every = milliseconds(50), .read_every = milliseconds(50), .batch_every = milliseconds(50)},
                   started);
  }
  std::unique_ptr<fleet::Fleet> replica(fleet::Fleet::Options options, bool started = true) {
    auto made = std::make_unique<fleet::Fleet>(database_options(), std::move(options), wall_, log_);
    if (started) made->start();
    return made;
  }

  sluice::sync::ReportDocument document(const std::string& agent, std::vector<sluice::sync::UsageReport> reports = {},
                                        std::optional<sluice::sync::Position> enforced = std::nullopt) const {
    return {.agent = {.agent_id = agent,
                      .pod = "pod-of-" + agent,
                      .boot_id = "boot",
                      .version = "0.1.0",
                      .enforced = std::move(enforced),
                      .degraded = {},
                      .refusal = std::nullopt},
            .reports = std::move(reports)};
  }

  // Of the tenant shop, by the policy orders, now.
  sluice::sync::UsageReport usage(std::int64_t number, const std::string& outcome, std::int64_t count) const {
    const WallTime now(Micros(wall_.now_us()));
    return {.number = number,
            .from = now - std::chrono::seconds(5),
            .to = now,
            .counts = {{"shop", "orders", outcome, count}},
            .subjects = {}};
  }

  std::int64_t counted() const { return count(execute("SELECT coalesce(sum(count), 0) FROM usage")); }

  // Where the data are.
  sluice::sync::Position head() {
    const admin::FinishedAnswer answer = ask("GET", "/v1/admin/revision");
    return {.revision = count(at(answer, "/revision")), .chain = at(answer, "/chain")};
  }

  const sync::AgentCaller platform{.token_id = "t0", .organization_id = "", .tenant_ids = {}};
  const sync::AgentCaller acme{.token_id = "t1", .organization_id = "acme", .tenant_ids = {}};
  const sync::AgentCaller shop{.token_id = "t2", .organization_id = "acme", .tenant_ids = {"shop"}};

 private:
  telemetry::LineWriter lines_{STDERR_FILENO};
  telemetry::Log log_{lines_, telemetry::LogLevel::error};
  SystemClock wall_;
};

}  // namespace sluice::server::test
