// The agent's side of policy sync: follows a server and reports to it.
//
// The client keeps a watch stream open and fetches the positions that the stream announces. It hands each new state to
// its host (SyncHost), and reports to the server which position is in force. After an error the client always tries
// again.
//
// Thread: everything runs on the io_context passed in.
// Invariant: at most one fetch runs, and none runs while the host has not answered a state.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "common/base/error.hpp"
#include "common/http_client/client.hpp"
#include "common/sync/report_queue.hpp"
#include "common/sync/scope_state.hpp"
#include "common/sync/watch_line.hpp"
#include "common/tracing/parent.hpp"

namespace sluice::follow {

struct SyncOptions {
  using Duration = std::chrono::milliseconds;

  http_client::Url server = {};
  net::TlsFiles tls = {};
  // agent_id, boot_id and version: 1 to kMaxAgentNameBytes visible ASCII characters. `pod` may also be "".
  std::string agent_id = {};
  std::string pod = {};
  std::string boot_id = {};  // names this run of the agent; "" is replaced by a random one
  std::string version = {};
  std::uint64_t seed = 0;               // of all random waits; 0 means a random seed
  Duration report_interval{5'000};      // > 0
  Duration silence{7'000};              // a stream counts as dead if no line arrives for so long; heartbeats: every 2 s
  Duration refresh{60'000};             // ± 25 %; time between fetches without an announcement
  Duration first_retry{200};            // after a failed fetch; doubles, with full jitter
  Duration refusal_retry{1'000};        // after a refused state; doubles up to 1 min
  Duration report_gap{500};             // the least time between the starts of two reports
  Duration last_report_timeout{1'000};  // how long stop() waits for the last report
  Duration head_timeout{30'000};        // until an answer begins; a busy server builds the snapshot first
  std::size_t max_snapshot = sync::kMaxSnapshotBytes;
  tracing::Tracer* tracer = nullptr;  // nullptr: no traces
  tracing::Parent trace = {};         // the parent of the first fetch
};

enum class FetchResult : std::uint8_t {
  full,
  delta,
  revision_only,  // nothing in the scope changed, only the position
  unchanged,      // 304
  resync,         // 410, or a delta that does not fit; a full snapshot is fetched next
  error,          // no valid answer, or an unexpected status
  unauthorized,   // 401 or 403
  refused,        // the agent cannot use the state
};
inline constexpr std::size_t kFetchResults = 8;
std::string_view to_string(FetchResult result);

struct SyncCounters {
  std::uint64_t announcements = 0;
  std::uint64_t fetches = 0;
  std::uint64_t merged = 0;  // announcements that needed no fetch of their own
  std::uint64_t results[kFetchResults] = {};
  std::uint64_t streams_opened = 0;
  std::uint64_t streams_lost = 0;
  std::uint64_t heartbeats = 0;
  std::uint64_t adopted = 0;  // positions taken from heartbeats
  std::uint64_t reports = 0;  // reports that the server has answered
  std::uint64_t reports_failed = 0;
  std::uint64_t connects = 0;
};

// The client's owner. Called on the loop. No function may destroy the client.
class SyncHost {
 public:
  // Puts a new state in force. The host answers once with SyncClient::accepted() or refused(), within the call or
  // later. `applied.changes` lists the differences from the state accepted last, even if `full` says that the state
  // comes from a full snapshot.
  virtual void on_state(const sync::Applied& applied, bool full) = 0;

  // Called before each request, because the token may have changed.
  virtual Result<std::string> token() = 0;

  // The server has confirmed that the state in force is its newest. `position` grows even if nothing in the scope
  // changes.
  virtual void on_confirmed(const sync::Position& position) { static_cast<void>(position); }

  virtual void on_live_agents(const sync::LiveAgents& live) { static_cast<void>(live); }

  // A question of what-if, once each. The host answers with SyncClient::answer(), within the call or later.
  virtual void on_question(const sync::WhatIfQuestion& question) { static_cast<void>(question); }

  // Returns one sentence for each problem outside the client, for the next report.
  virtual std::vector<std::string> other_degraded() const { return {}; }
  // AgentState::counters_generation, for the next report.
  virtual std::string counters_generation() const { return {}; }
  // Called once per report interval. Adds the usage since the last call.
  virtual void collect(sync::ReportQueue& queue) { static_cast<void>(queue); }

 protected:
  ~SyncHost() = default;
};

// Callbacks for logs, metrics and tests. Each may be empty. No callback may destroy the client.
struct SyncObserver {
  std::function<void()> stream_opened = {};                // the first line has arrived
  std::function<void(const Error& why)> stream_lost = {};  // also if the server ended it, or it could not be opened
  std::function<void(const sync::Position& head)> announced = {};
  std::function<void(const sync::Position& head)> heartbeat = {};
  std::function<void(const std::optional<sync::Position>& since)> fetch_begun = {};  // nullopt: a full snapshot
  // `text`: the error, or "".
  std::function<void(FetchResult result, const std::optional<sync::Position>& position, std::string_view text)>
      fetch_ended = {};
  std::function<void(const sync::Position& head)> adopted = {};
  std::function<void(const sync::SnapshotRefusal& refusal)> refused = {};
  std::function<void(const Error& why)> report_failed = {};
  std::function<void(std::int64_t stored)> reported = {};  // `stored`: the number of the newest stored report
};

class SyncClient {
 public:
  // REQUIRES: `host` outlives the client.
  SyncClient(boost::asio::io_context& context, SyncOptions options, SyncHost& host, SyncObserver observer = {});
  ~SyncClient();  // cancels all requests without calling back
  SyncClient(const SyncClient&) = delete;
  SyncClient& operator=(const SyncClient&) = delete;

  // `in_force`: the last good state, if it is in force already. REQUIRES: called once.
  void start(std::optional<sync::ScopeState> in_force = std::nullopt);

  // The host's answer to on_state(). The error code `invalid_snapshot` says that the policies themselves are invalid.
  // After any other error the client fetches a full snapshot.
  void accepted();
  void refused(const Error& why);

  // Sends the answer to a question. If it cannot be sent, it is dropped: the server counts the agent as silent.
  void answer(const sync::WhatIfAnswer& answer);

  // Call this when other_degraded() or counters_generation() has changed.
  void report_soon();

  // Sends a last report, which says that the agent leaves. Calls `done` when the server has answered, or after
  // options.last_report_timeout. REQUIRES: started.
  void stop(std::function<void()> done);

  const std::optional<sync::ScopeState>& state() const;  // the state in force
  std::optional<sync::Position> position() const;        // of the state in force
  const std::optional<sync::SnapshotRefusal>& refusal() const;
  bool connected() const;
  std::vector<std::string> degraded() const;  // one sentence for each problem with the server
  SyncCounters counters() const;
  const std::string& boot_id() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::follow
