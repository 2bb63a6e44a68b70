// Stores the reports of agents in PostgreSQL, and counts live agents. A thread stores the agents' state and usage, and
// reads the agents of all servers. Reports of agents beyond a quota (agent_census.hpp) are refused. Usage above its
// share of Options::max_rows is not accepted, and agents send it again later.
//
// Thread safety: the functions of FleetPort are for the server's loop, and do no I/O. Any thread may call the others.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include <pqxx/connection>

#include "common/base/clock.hpp"
#include "common/base/timed_join_thread.hpp"
#include "common/telemetry/log.hpp"
#include "common/telemetry/outage_log.hpp"
#include "server/fleet/agent_table.hpp"
#include "server/fleet/usage_pending.hpp"
#include "server/postgres/pool.hpp"
#include "server/sync/fleet_port.hpp"

namespace sluice::server::fleet {

class Fleet final : public sync::FleetPort {
 public:
  struct Options {
    std::chrono::milliseconds store_every{1'000};   // the agents' state
    std::chrono::milliseconds read_every{2'000};    // the agents of all servers
    std::chrono::milliseconds batch_every{60'000};  // usage
    AgentLimits agents{};
    std::size_t max_rows = UsagePending::kMaxRows;  // of usage, in memory
    std::function<FleetTime()> now = [] { return std::chrono::steady_clock::now(); };
  };

  Fleet(postgres::DatabaseOptions database, Options options, const Clock& clock, telemetry::Log& log);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  void start();
  // Stores everything that waits, then stops. Returns false if PostgreSQL does not answer within `timeout`; the thread
  // then ends with the process.
  bool stop_within(std::chrono::milliseconds timeout);
  void stop();
  // From now on, additional agents are held to these quotas. Any thread.
  void set_quotas(const auth::KnownQuotasPtr& quotas);

  std::expected<std::int64_t, sync::QuotaExceeded> report(const sync::AgentCaller& caller, std::string_view source,
                                                          sluice::sync::ReportDocument report) override;
  void watch_began(const sync::AgentCaller& caller, std::string_view agent_id,
                   const std::optional<sluice::sync::Position>& held) override;
  void watch_ended(const sync::AgentCaller& caller, std::string_view agent_id) override;
  sluice::sync::LiveAgents live_agents(const sync::AgentCaller& caller) override;
  std::size_t live() const override;
  // See AgentTable. Any thread.
  std::set<std::string, std::less<>> tokens_with_other_logins(std::string_view generation) const;

  struct Statistics {
    std::atomic<std::int64_t> live{0};           // agents
    std::atomic<std::int64_t> missing{0};        // agents that were not heard from for kLiveFor (agent_table.hpp)
    std::atomic<std::uint64_t> replayed{0};      // reports that were accepted or stored before
    std::atomic<std::uint64_t> dropped{0};       // reports that were not accepted
    std::atomic<std::uint64_t> stored{0};        // reports
    std::atomic<std::uint64_t> out_of_scope{0};  // decisions and denials; see UsageBatch in usage_batch.hpp
    std::atomic<std::uint64_t> unlisted{0};      // reports and watches of agents beyond a quota
    std::atomic<std::uint64_t> batches{0};       // transactions that stored usage
    std::atomic<std::uint64_t> statements{0};
    std::atomic<std::uint64_t> failures{0};     // attempts to store or to read
    std::atomic<std::int64_t> waiting_rows{0};  // usage
  };
  const Statistics& statistics() const { return statistics_; }

 private:
  using Time = std::chrono::steady_clock::time_point;

  void request_stop();
  void run();
  bool wait();  // returns false if the thread must stop
  void run_once(bool last);
  void store_state(pqxx::connection& connection);
  void read_fleet(pqxx::connection& connection);
  void store_batch(pqxx::connection& connection);
  void update_counts();
  void on_failure(const std::exception& error);
  void note_unlisted(const sync::QuotaExceeded& exceeded, FleetTime now);

  const postgres::DatabaseOptions database_;
  const Options options_;
  const Clock& clock_;
  telemetry::Log& log_;
  telemetry::OutageLog outage_;  // of PostgreSQL, as the fleet sees it
  const std::string replica_;    // a random name for this server process
  Statistics statistics_;

  // Only the thread uses these.
  std::unique_ptr<pqxx::connection> connection_;
  bool failing_ = false;
  Time next_state_;
  Time next_read_;
  Time next_batch_;

  mutable std::mutex mutex_;  // guards the members below, except thread_
  std::condition_variable changed_;
  AgentTable agents_;
  UsagePending usage_;
  bool stopping_ = false;
  std::optional<FleetTime> quota_logged_at_;
  TimedJoinThread thread_;
};

}  // namespace sluice::server::fleet
