// SyncClient's inside: what the stream says, what was fetched and what the host answers, in one place.
//
// Thread: one loop; see sync_client.hpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "agent/follow/alarm.hpp"
#include "agent/follow/fetch.hpp"
#include "agent/follow/reporter.hpp"
#include "agent/follow/server_link.hpp"
#include "agent/follow/sync_client.hpp"
#include "agent/follow/watch_stream.hpp"
#include "common/base/backoff.hpp"
#include "common/sync/coalescer.hpp"

namespace sluice::agent::follow {

class SyncClient::Impl {
 public:
  Impl(boost::asio::io_context& context, SyncOptions options, SyncHost& host, SyncObserver observer);

  void start(std::optional<sync::ScopeState> in_force);
  void accepted();
  void refused(const Error& why);
  void report_soon() { reporter_.soon(); }
  void stop(std::function<void()> done);

  const std::optional<sync::ScopeState>& state() const { return state_; }
  std::optional<sync::Position> position() const;
  const std::optional<sync::SnapshotRefusal>& refusal() const { return refusal_; }
  bool connected() const { return stream_.connected(); }
  std::vector<std::string> degraded() const;
  SyncCounters counters() const;
  const std::string& boot_id() const { return options_.boot_id; }

 private:
  using Clock = std::chrono::steady_clock;

  // From the stream.
  void on_opened();
  void on_lost(const Error& why);
  void on_line(const sync::WatchLine& line);
  void on_invalidation(const sync::Invalidation& line);
  void on_heartbeat(const sync::Heartbeat& line);
  void adopt(const sync::Position& head);

  // Fetching.
  void plan();
  void plan_refresh();
  void begin();
  void fetch(bool whole);
  void on_reply(FetchReply reply);
  void take(NewState taken);
  void took(FetchResult result);
  void try_again(FetchResult result, const Error& why);
  void refuse(const std::optional<sync::Position>& head, const Error& why);
  void ended(FetchResult result, std::string_view text = {});
  void open_stream();
  bool is_of_this_token() const { return state_->token_id == link_.token_id(); }

  sync::AgentState agent_state() const;

  const SyncOptions options_;
  SyncHost& host_;
  const SyncObserver observer_;
  ServerLink link_;
  WatchStream stream_;
  http_client::Client snapshots_;
  Reporter reporter_;
  sync::Coalescer coalescer_;
  Backoff fetch_backoff_;
  Backoff refusal_backoff_;
  Alarm fetch_alarm_;
  Alarm refresh_alarm_;
  Alarm refusal_alarm_;

  std::optional<sync::ScopeState> state_;  // accepted last; its head moves with heads that were adopted
  std::shared_ptr<NewState> offered_;      // with the host
  bool ask_whole_ = false;                 // the next request is for the whole state
  std::optional<sync::Position> asked_since_;
  std::string asked_as_;  // the token's id
  // What this stream told of last, until a fetch has covered it: while it is there, one is owed, or a refusal waits.
  std::optional<sync::Position> heard_;
  std::optional<sync::Position> heard_at_begin_;  // of the fetch that is going on: what it brings covers that
  bool heard_is_foreign_ = false;                 // as the server says of that
  std::optional<sync::SnapshotRefusal> refusal_;
  std::optional<Error> stream_error_;
  std::chrono::sys_seconds stream_error_since_;
  std::optional<Error> fetch_error_;
  bool stopping_ = false;
  SyncCounters counters_;
  std::uint64_t folded_at_once_ = 0;  // invalidations that said nothing new
};

}  // namespace sluice::agent::follow
