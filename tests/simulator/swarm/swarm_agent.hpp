// One agent of a swarm: the real sync client, and of an agent's own work what shows whether sync is right. It holds the
// state in force, takes each new one (where it is told to: by compiling it, late, or not at all), and writes down
// everything that happens.
//
// Thread: its io_context's, all of it but the constructor. It may be destroyed only when its io_context does not run.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/policy/snapshot.hpp"
#include "engine/follow/sync_client.hpp"
#include "tests/simulator/swarm/event_log.hpp"

namespace sluice::sync_test {

struct AgentPlan {
  std::size_t number = 0;
  std::string id;
  std::string token;
  std::uint64_t seed = 0;
  bool compiles = false;  // policies, as a real agent: what does not compile is refused
  std::chrono::milliseconds report_interval{5'000};
};

class SwarmAgent final : public follow::SyncHost {
 public:
  SwarmAgent(boost::asio::io_context& context, http_client::Url server, AgentPlan plan, EventLog& log);
  SwarmAgent(const SwarmAgent&) = delete;

  // A new boot. `kept`: with the state that was in force last, as from a last-known-good file; else with none.
  void start(bool kept);
  void kill();   // at once, nobody is told
  void leave();  // in order: the server is told

  void refuse_next(int states) { refusals_ = states; }
  void take_late(std::chrono::milliseconds by) { late_ = by; }

  bool alive() const { return client_ != nullptr; }
  bool connected() const { return client_ && client_->connected(); }
  std::optional<sync::Position> position() const;
  // {"agent":…,"id":"…","alive":true,"connected":true,"revision":…,"chain":"…","checksum":"…","counters":{…}}
  std::string describe() const;

 private:
  void on_state(const sync::Applied& applied, bool whole) override;
  Result<std::string> token() override { return plan_.token; }

  void take(const sync::ScopeState& state, bool whole);
  std::optional<Error> compile(const sync::ScopeState& state);
  follow::SyncObserver observer();
  Event event(std::string_view what) const { return {plan_.number, what}; }

  boost::asio::io_context& context_;
  http_client::Url server_;
  AgentPlan plan_;
  EventLog& log_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<follow::SyncClient> client_;
  std::shared_ptr<const policy::Snapshot> snapshot_;
  std::optional<sync::ScopeState> kept_;
  std::optional<sync::Position> fetch_since_;
  int refusals_ = 0;
  std::chrono::milliseconds late_{0};
  std::uint64_t boots_ = 0;
};

}  // namespace sluice::sync_test
