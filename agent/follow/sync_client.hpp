// One agent's side of policy sync: follows its server and reports to it.
//
// It holds the watch stream, fetches what the stream speaks of (Coalescer: at once when idle, a burst in few fetches),
// hands each new state to its host, and tells the server what is in force here. It does not compile, count, log or
// touch files: its host does. It never gives up, and whatever goes wrong is counted, told to the observer and said by
// degraded().
//
// Thread: everything happens on the io_context given; nothing is locked. A thousand of them run in one process.
// Invariants: one fetch, or one state with the host, at a time; position() is that of a state that the host has
// accepted, or of its scope unchanged under a later head; reports say position() and nothing else.
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
  std::string agent_id = {};  // 1 to kMaxAgentNameBytes visible ASCII characters, as are boot_id and version
  std::string pod = {};       // the same, or ""
  std::string boot_id = {};   // "": a random one
  std::string version = {};
  std::uint64_t seed = 0;           // of all jitter; 0: a random one
  Duration report_interval{5'000};  // > 0
  Duration silence{7'000};          // of a stream: three heartbeats of 2 s missed, and some slack
  Duration refresh{60'000};         // ± a quarter: covers a stream that is alive and says nothing
  Duration first_retry{200};        // of fetches and reports that failed: doubling, full jitter
  Duration refusal_retry{1'000};    // of a state that was refused, doubling to a minute
  Duration report_gap{500};         // between two reports that are sent because of a change
  Duration farewell{1'000};         // how long stop() waits for the last report
  Duration head_timeout{30'000};    // of a snapshot: a busy server builds it first
  std::size_t max_snapshot = sync::kMaxSnapshotBytes;
};

enum class FetchResult : std::uint8_t {
  whole,         // a whole state, accepted
  delta,         // accepted
  moved,         // nothing of the scope changed, only the head
  not_modified,  // 304
  resync,        // 410, or a delta that does not fit: a whole state is asked for next
  failed,        // no answer, or not one to use: tried again
  unauthorized,  // 401, 403: tried again with the token read anew
  refused,       // a state that this agent does not take: the one before stays
};
inline constexpr std::size_t kFetchResults = 8;
std::string_view to_string(FetchResult result);

struct SyncCounters {
  std::uint64_t invalidations = 0;  // received
  std::uint64_t fetches = 0;        // requests for a snapshot
  std::uint64_t folded = 0;         // invalidations that had no fetch of their own
  std::uint64_t results[kFetchResults] = {};
  std::uint64_t streams_opened = 0;
  std::uint64_t streams_lost = 0;
  std::uint64_t heartbeats = 0;
  std::uint64_t adopted = 0;  // heads, from heartbeats
  std::uint64_t reports = 0;  // answered
  std::uint64_t reports_failed = 0;
  std::uint64_t connects = 0;  // connections made, of all kinds
};

// What the client works for. Called on the loop; never destroys the client within a call. Outlives it.
class SyncHost {
 public:
  // A new state to put in force. The host answers once with SyncClient::accepted() or refused(), within the call or
  // later; nothing else is fetched meanwhile. `applied.changes` leads there from the state accepted last, also where
  // `whole`; `whole`: it is not a continuation of it.
  virtual void on_state(const sync::Applied& applied, bool whole) = 0;

  // The agent token for the next request: read anew where it may have changed.
  virtual Result<std::string> token() = 0;

  // The server has said that what is in force is its newest: by a fetch, or by a heartbeat. `position`: where, which
  // moves on while the scope does not change.
  virtual void on_confirmed(const sync::Position& position) { static_cast<void>(position); }

  // How many agents are live, by tenant; only when the server has named them anew.
  virtual void on_live_agents(const sync::LiveAgents& live) { static_cast<void>(live); }

  // Before each report: what is degraded beside the client's own, and what was decided since the last time.
  virtual std::vector<std::string> degraded_beside() const { return {}; }
  virtual void collect(sync::ReportQueue& queue) { static_cast<void>(queue); }

 protected:
  ~SyncHost() = default;
};

// Told as it happens, for logs, metrics and histories; each may be empty. None may destroy the client.
struct SyncObserver {
  std::function<void()> stream_opened = {};                // its first line has come
  std::function<void(const Error& why)> stream_lost = {};  // or could not be opened; also where it ended as it should
  std::function<void(const sync::Position& head)> invalidated = {};
  std::function<void(const sync::Position& head)> heartbeat = {};
  std::function<void(const std::optional<sync::Position>& since)> fetch_begun = {};  // absent: a whole state
  // Each that was begun, once. `text`: what went wrong.
  std::function<void(FetchResult result, const std::optional<sync::Position>& position, std::string_view text)>
      fetch_ended = {};
  std::function<void(const sync::Position& head)> adopted = {};
  std::function<void(const sync::SnapshotRefusal& refusal)> refused = {};
  std::function<void(const Error& why)> report_failed = {};
  std::function<void(std::int64_t stored)> reported = {};
};

class SyncClient {
 public:
  // REQUIRES: host outlives it.
  SyncClient(boost::asio::io_context& context, SyncOptions options, SyncHost& host, SyncObserver observer = {});
  ~SyncClient();  // drops everything under way; nobody is told
  SyncClient(const SyncClient&) = delete;
  SyncClient& operator=(const SyncClient&) = delete;

  // Once. `in_force`: a state that is in force already (the last-known-good); without one the first fetch begins now.
  void start(std::optional<sync::ScopeState> in_force = std::nullopt);

  // The host's answer to on_state(). Error codes of a refusal: `invalid_snapshot`, if nothing else fits.
  void accepted();
  void refused(const Error& why);

  // Something that reports say has changed (the host's degraded()): the next one comes soon.
  void report_soon();

  // No more fetches; a last report says that the agent leaves. `done` is called when it is answered, or after
  // options.farewell. REQUIRES: started.
  void stop(std::function<void()> done);

  const std::optional<sync::ScopeState>& state() const;  // in force
  std::optional<sync::Position> position() const;        // of it
  const std::optional<sync::SnapshotRefusal>& refusal() const;
  bool connected() const;                     // the stream has spoken, and not too long ago
  std::vector<std::string> degraded() const;  // one sentence for each thing that is wrong with the link
  SyncCounters counters() const;
  const std::string& boot_id() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice::agent::follow
