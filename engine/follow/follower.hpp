// The implementation of SyncClient (sync_client.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "common/base/backoff.hpp"
#include "common/sync/coalescer.hpp"
#include "engine/follow/answer_sender.hpp"
#include "engine/follow/deadline_timer.hpp"
#include "engine/follow/fetch.hpp"
#include "engine/follow/reporter.hpp"
#include "engine/follow/server_link.hpp"
#include "engine/follow/sync_client.hpp"
#include "engine/follow/sync_trace.hpp"
#include "engine/follow/watch_stream.hpp"

namespace sluice::follow {

class SyncClient::Impl {
 public:
  Impl(boost::asio::io_context& context, SyncOptions options, SyncHost& host, SyncObserver observer);

  void start(std::optional<sync::ScopeState> in_force);
  void accepted();
  void refused(const Error& why);
  void report_soon() { reporter_.send_soon(); }
  void answer(const sync::WhatIfAnswer& answer) { answers_.send(answer); }
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

  void on_opened();
  void on_lost(const Error& why);
  void on_line(const sync::WatchLine& line);
  void on_announcement(const sync::Announcement& line);
  void on_heartbeat(const sync::Heartbeat& line);
  void on_question(const sync::WhatIfQuestion& question);
  void adopt(const sync::Position& head);  // takes a later position without a fetch: nothing in the scope changed

  void schedule_fetch();
  void schedule_refresh();
  void begin_fetch();
  void fetch(bool full);
  void on_reply(FetchReply reply);
  void offer(NewState state);
  void on_accepted(FetchResult result);
  void retry(FetchResult result, const Error& why);
  void refuse(const std::optional<sync::Position>& head, const Error& why);
  void count_result(FetchResult result, std::string_view text = {});
  void open_stream();
  // Whether state_ was fetched with the token of the last request. Another token may have another scope.
  bool is_of_this_token() const { return state_->token_id == link_.token_id(); }

  sync::AgentState agent_state() const;

  const SyncOptions options_;
  SyncHost& host_;
  const SyncObserver observer_;
  ServerLink link_;
  SyncTrace trace_;
  WatchStream stream_;
  http_client::Client snapshots_;
  Reporter reporter_;
  AnswerSender answers_;
  sync::Coalescer coalescer_;
  Backoff fetch_backoff_;
  Backoff refusal_backoff_;
  DeadlineTimer fetch_timer_;
  DeadlineTimer refresh_timer_;
  DeadlineTimer refusal_timer_;

  std::optional<sync::ScopeState> state_;      // the state in force
  std::shared_ptr<NewState> offered_;          // the state that the host has neither accepted nor refused yet
  bool need_full_ = false;                     // the next fetch asks for a full snapshot
  std::optional<sync::Position> fetch_since_;  // where the delta of the running fetch starts; nullopt: a full snapshot
  std::string fetch_token_id_;                 // id of the token that the running fetch carries
  // The last position that the stream named and that needs a fetch. nullopt once a fetch has covered the position.
  std::optional<sync::Position> announced_;
  std::optional<sync::Position> announced_at_begin_;  // announced_ when the running fetch began
  bool announced_is_foreign_ = false;                 // announced_at_begin_ is a foreign position
  std::optional<sync::SnapshotRefusal> refusal_;
  std::optional<Error> stream_error_;
  std::chrono::sys_seconds stream_error_since_;
  std::optional<Error> fetch_error_;
  bool stopping_ = false;
  SyncCounters counters_;
  std::uint64_t merged_announcements_ = 0;
};

}  // namespace sluice::follow
