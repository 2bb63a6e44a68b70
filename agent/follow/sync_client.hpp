// The agent's side of policy sync: follows a server and reports to it.
//
// The client keeps a watch stream open and fetches the positions that the stream announces. It fetches at once when
// idle, and merges a burst of announcements into few fetches (sync::Coalescer). It hands each new state to its host
// (SyncHost), and reports to the server which position is in force. The host compiles, logs and writes files. The
// client never gives up: it counts each error, calls the observer, and lists the error in degraded().
//
// Thread: everything runs on the io_context passed in, without locks. A thousand clients can run in one process.
// Invariants: at any time there is at most one running fetch, or one state that the host has not answered. position()
// belongs to a state that the host has accepted; it may be later than that state if nothing in the scope has changed.
// Reports name only position() as enforced.
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

namespace sluice::agent::follow {

struct SyncOptions {
  using Duration = std::chrono::milliseconds;

  http_client::Url server = {};
  net::TlsFiles tls = {};
  std::string agent_id = {};  // 1 to kMaxAgentNameBytes visible ASCII characters; so are boot_id and version
  std::string pod = {};       // as agent_id, or ""
  std::string boot_id = {};   // names this run of the agent in reports; "": make a random one
  std::string version = {};
  std::uint64_t seed = 0;               // of all random waits; 0: a random seed
  Duration report_interval{5'000};      // > 0
  Duration silence{7'000};              // a stream without a line for so long is dead: 3 heartbeats, 2 s apart, + 1 s
  Duration refresh{60'000};             // ± 25 %: time between fetches without an announcement, in case one was lost
  Duration first_retry{200};            // after a failed fetch; doubles, with full jitter
  Duration refusal_retry{1'000};        // after a refused state; doubles up to 1 min
  Duration report_gap{500};             // the least time between the starts of two reports
  Duration last_report_timeout{1'000};  // how long stop() waits for the last report
  Duration head_timeout{30'000};        // until an answer begins; a busy server builds the snapshot first
  std::size_t max_snapshot = sync::kMaxSnapshotBytes;
};

enum class FetchResult : std::uint8_t {
  full,           // a full snapshot, accepted
  delta,          // a delta, accepted
  revision_only,  // nothing in the scope changed, only the position
  unchanged,      // 304
  resync,         // 410, or a delta that does not fit; a full snapshot is fetched next
  error,          // no valid answer, or one with an unexpected status; retried
  unauthorized,   // 401 or 403; retried after reading the token file again
  refused,        // the agent cannot use the state; the former one stays in force
};
inline constexpr std::size_t kFetchResults = 8;
std::string_view to_string(FetchResult result);

struct SyncCounters {
  std::uint64_t announcements = 0;  // announcements received
  std::uint64_t fetches = 0;        // requests for a snapshot
  std::uint64_t merged = 0;         // announcements that needed no fetch of their own
  std::uint64_t results[kFetchResults] = {};
  std::uint64_t streams_opened = 0;
  std::uint64_t streams_lost = 0;
  std::uint64_t heartbeats = 0;
  std::uint64_t adopted = 0;  // positions taken from heartbeats
  std::uint64_t reports = 0;  // reports that the server answered
  std::uint64_t reports_failed = 0;
  std::uint64_t connects = 0;  // connections opened, of all kinds
};

// The owner's side. Called on the loop. No function may destroy the client. The host outlives the client.
class SyncHost {
 public:
  // A new state to put in force. The host answers once with SyncClient::accepted() or refused(), within the call or
  // later. The client fetches nothing meanwhile. `applied.changes` lists the differences from the state accepted last,
  // for a full snapshot too. `full`: the state comes from a full snapshot.
  virtual void on_state(const sync::Applied& applied, bool full) = 0;

  // Returns the token for the next request. Called before each request, because the token may have changed.
  virtual Result<std::string> token() = 0;

  // The server has confirmed, by a fetch or a heartbeat, that the state in force is its newest. `position` grows even
  // while nothing in the scope changes.
  virtual void on_confirmed(const sync::Position& position) { static_cast<void>(position); }

  // The numbers of live agents by tenant. Called when the server sends them.
  virtual void on_live_agents(const sync::LiveAgents& live) { static_cast<void>(live); }

  // Called before each report. Returns one sentence for each problem outside the client; the report has them beside the
  // client's own degraded().
  virtual std::vector<std::string> other_degraded() const { return {}; }
  // Called once per report interval. Adds the usage since the last call.
  virtual void collect(sync::ReportQueue& queue) { static_cast<void>(queue); }

 protected:
  ~SyncHost() = default;
};

// Callbacks for logs and metrics, and for tests that record what happens. Each may be empty. None may destroy the
// client.
struct SyncObserver {
  std::function<void()> stream_opened = {};                // the first line of the stream has arrived
  std::function<void(const Error& why)> stream_lost = {};  // lost, ended by the server, or not opened
  std::function<void(const sync::Position& head)> announced = {};
  std::function<void(const sync::Position& head)> heartbeat = {};
  std::function<void(const std::optional<sync::Position>& since)> fetch_begun = {};  // nullopt: a full snapshot
  // Once for each fetch that began. `text`: the error, or "".
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

  // Starts the client. `in_force`: the state that is in force already (the last good state). Without it, the first
  // fetch begins now. REQUIRES: called once.
  void start(std::optional<sync::ScopeState> in_force = std::nullopt);

  // The host's answer to on_state(). The code `invalid_snapshot` says that the policies themselves are invalid. After
  // any other code the client fetches a full snapshot, because the state to which it applied a delta may be wrong.
  void accepted();
  void refused(const Error& why);

  // Sends the next report soon, because the host's other_degraded() has changed.
  void report_soon();

  // Stops fetching and sends a last report, which says that the agent leaves. Calls `done` when the server has answered
  // the report, or after options.last_report_timeout. REQUIRES: started.
  void stop(std::function<void()> done);

  const std::optional<sync::ScopeState>& state() const;  // in force
  std::optional<sync::Position> position() const;        // of the state in force
  const std::optional<sync::SnapshotRefusal>& refusal() const;
  bool connected() const;                     // the stream is open and not silent for too long
  std::vector<std::string> degraded() const;  // one sentence for each problem with the server
  SyncCounters counters() const;
  const std::string& boot_id() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::agent::follow
