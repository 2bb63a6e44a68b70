#include "engine/follow/follower.hpp"

#include <fmt/core.h>

#include <array>
#include <utility>
#include <variant>

#include "common/base/crypto.hpp"
#include "common/base/timestamp.hpp"

namespace sluice::follow {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::minutes kMaxRefusalRetry{1};
// An agent that adopts the position of a heartbeat reports it after a random part of this time. Otherwise all agents
// would report at once.
constexpr milliseconds kAdoptedSpread{1'000};

http_client::Options client_options(const SyncOptions& options) {
  return {.server = options.server,
          .tls = options.tls,
          .head_timeout = options.head_timeout,
          .user_agent = "sluice-agent/" + options.version};
}

SyncOptions with_boot_id(SyncOptions options) {
  if (!options.boot_id.empty()) return options;
  std::array<std::uint8_t, 16> bytes;
  random_bytes(bytes);
  options.boot_id = to_hex(bytes);
  return options;
}

}  // namespace

SyncClient::Impl::Impl(boost::asio::io_context& context, SyncOptions options, SyncHost& host, SyncObserver observer)
    : options_(with_boot_id(std::move(options))),
      host_(host),
      observer_(std::move(observer)),
      link_(
          client_options(options_), options_.agent_id, [this] { return host_.token(); }, options_.seed),
      trace_(options_.tracer, options_.trace, options_.server),
      stream_(context, link_, options_.silence,
              {.target =
                   [this] {
                     const std::string path = "/v1/sync/watch";
                     return state_ ? path + '?' + query_of(state_->head) : path;
                   },
               .opened = [this] { on_opened(); },
               .line = [this](const sync::WatchLine& line) { on_line(line); },
               .lost = [this](const Error& why) { on_lost(why); }}),
      snapshots_(context, link_.server()),
      reporter_(context, link_, options_.report_interval, options_.report_gap,
                {.state = [this] { return agent_state(); },
                 .collect = [this](sync::ReportQueue& queue) { host_.collect(queue); },
                 .sending = [this](http_client::Request& request) { trace_.begin_report(request); },
                 .reported =
                     [this](std::int64_t stored) {
                       ++counters_.reports;
                       trace_.end_report();
                       if (observer_.reported) observer_.reported(stored);
                     },
                 .failed =
                     [this](const Error& why) {
                       ++counters_.reports_failed;
                       trace_.end_report(why.code);
                       if (observer_.report_failed) observer_.report_failed(why);
                     }}),
      answers_(context, link_),
      fetch_backoff_(options_.first_retry, sync::Reconnect::kCap),
      refusal_backoff_(options_.refusal_retry, kMaxRefusalRetry),
      fetch_timer_(context),
      refresh_timer_(context),
      refusal_timer_(context) {}

void SyncClient::Impl::start(std::optional<sync::ScopeState> in_force) {
  state_ = std::move(in_force);
  reporter_.start();
  schedule_refresh();
  if (state_) {
    open_stream();
    return reporter_.send_soon();
  }
  coalescer_.requested(Clock::now());
  schedule_fetch();
}

void SyncClient::Impl::stop(std::function<void()> done) {
  stopping_ = true;
  fetch_timer_.clear();
  refresh_timer_.clear();
  refusal_timer_.clear();
  snapshots_.cancel();
  stream_.close();
  answers_.stop();
  reporter_.send_last(options_.last_report_timeout, std::move(done));
}

std::optional<sync::Position> SyncClient::Impl::position() const {
  return state_ ? std::optional(state_->head) : std::nullopt;
}

SyncCounters SyncClient::Impl::counters() const {
  SyncCounters counters = counters_;
  counters.merged = coalescer_.counters().merged + merged_announcements_;
  counters.connects = stream_.connects() + snapshots_.connects() + reporter_.connects();
  return counters;
}

sync::AgentState SyncClient::Impl::agent_state() const {
  sync::AgentState state{.agent_id = options_.agent_id,
                         .pod = options_.pod,
                         .boot_id = options_.boot_id,
                         .version = options_.version,
                         .enforced = position(),
                         .degraded = degraded(),
                         .refusal = refusal_,
                         .counters_generation = host_.counters_generation()};
  for (std::string& reason : host_.other_degraded()) state.degraded.push_back(std::move(reason));
  return state;
}

std::vector<std::string> SyncClient::Impl::degraded() const {
  std::vector<std::string> found;
  if (stream_error_) {
    found.push_back(fmt::format("the server {} cannot be followed since {}: {}", to_string(options_.server),
                                format_timestamp(stream_error_since_), stream_error_->text));
  }
  if (fetch_error_) found.push_back("policies cannot be fetched: " + fetch_error_->text);
  if (refusal_) {
    const std::string kept = state_ ? fmt::format("the policies of revision {} stay in force", state_->head.revision)
                                    : "no policies are in force";
    found.push_back(fmt::format("the policies of revision {} are refused ({}: {}): {}", refusal_->refused.revision,
                                refusal_->code, refusal_->text, kept));
  }
  if (reporter_.error()) found.push_back("reports do not reach the server: " + reporter_.error()->text);
  return found;
}

void SyncClient::Impl::open_stream() {
  if (!stream_.begun()) stream_.open();
}

void SyncClient::Impl::on_opened() {
  ++counters_.streams_opened;
  stream_error_.reset();
  announced_.reset();
  if (observer_.stream_opened) observer_.stream_opened();
  // With another token the scope may differ, and the stream does not announce that.
  if (!state_ || is_of_this_token()) return;
  coalescer_.requested(Clock::now());
  schedule_fetch();
}

void SyncClient::Impl::on_lost(const Error& why) {
  ++counters_.streams_lost;
  announced_.reset();
  // The server may end a stream at any time, which is no error.
  if (why.code != "ended") {
    if (!stream_error_) {
      stream_error_since_ = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    }
    stream_error_ = why;
  }
  if (observer_.stream_lost) observer_.stream_lost(why);
}

void SyncClient::Impl::on_line(const sync::WatchLine& line) {
  if (const auto* announcement = std::get_if<sync::Announcement>(&line)) return on_announcement(*announcement);
  if (const auto* question = std::get_if<sync::WhatIfQuestion>(&line)) return on_question(*question);
  on_heartbeat(std::get<sync::Heartbeat>(line));
}

// A server asks again on each new stream.
void SyncClient::Impl::on_question(const sync::WhatIfQuestion& question) {
  if (answers_.begin(question.id)) host_.on_question(question);
}

// A refused position needs no fetch here: refusal_timer_ fetches it again.
void SyncClient::Impl::on_announcement(const sync::Announcement& line) {
  ++counters_.announcements;
  if (observer_.announced) observer_.announced(line.head);
  const bool in_force = state_ && state_->head == line.head;
  if (!in_force) {
    announced_ = line.head;
    trace_.announced(line.traced);
  }
  if (in_force || (refusal_ && refusal_->refused == line.head)) {
    ++merged_announcements_;
    return;
  }
  coalescer_.changed(Clock::now(), sync::jitter(line.spread, link_.random()));
  schedule_fetch();
}

void SyncClient::Impl::on_heartbeat(const sync::Heartbeat& line) {
  ++counters_.heartbeats;
  if (line.reconnect_max) {
    stream_.set_cap(*line.reconnect_max);
    fetch_backoff_.set_max(*line.reconnect_max);
  }
  if (line.live_agents) host_.on_live_agents(*line.live_agents);
  if (observer_.heartbeat) observer_.heartbeat(line.head);
  // After a refusal or during a fetch, a heartbeat does not show that the state in force is the newest.
  if (!state_ || refusal_ || !coalescer_.idle()) return;
  const sync::Position& here = state_->head;
  if (is_of_this_token()) {
    if (line.head == here) return host_.on_confirmed(here);
    if (line.head.revision > here.revision) return adopt(line.head);
  }
  // The server has another history, it is behind, or the token has changed. A fetch shows which.
  announced_ = line.head;
  coalescer_.requested(Clock::now());
  schedule_fetch();
}

void SyncClient::Impl::adopt(const sync::Position& head) {
  ++counters_.adopted;
  state_->head = head;
  host_.on_confirmed(head);
  if (observer_.adopted) observer_.adopted(head);
  reporter_.send_soon(kAdoptedSpread);
}

}  // namespace sluice::follow
