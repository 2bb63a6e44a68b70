#include "engine/policies/server_source.hpp"

#include <fmt/core.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "common/base/timestamp.hpp"
#include "engine/policies/bundle_file.hpp"
#include "engine/policies/server_snapshot.hpp"

namespace sluice::policies {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kStateFaultsLogged = 20;
constexpr std::size_t kFaultsReported = 5;
constexpr std::size_t kNewerLogged = 20;  // objects for each state
constexpr int kFollowerNiceness = 10;     // when CPUs are busy, the workers run first
constexpr std::chrono::milliseconds kRefreshEvery{500};

std::string text_of(const Faults& faults) {
  std::string text;
  for (std::size_t i = 0; i < faults.size() && i < kFaultsReported; ++i) {
    text += (i == 0 ? "" : "; ") + describe(faults[i]);
  }
  if (faults.size() > kFaultsReported) text += fmt::format("; and {} more", faults.size() - kFaultsReported);
  return text;
}

// The first fetch belongs to the start.
follow::SyncOptions below(const tracing::ActiveSpan& start, follow::SyncOptions options) {
  options.trace = tracing::Parent(options.tracer, start);
  return options;
}

}  // namespace

ServerSource::ServerSource(ServerOptions options, ServerHooks hooks, const Clock& clock, telemetry::Metrics& metrics,
                           telemetry::Log& log, SnapshotSwap::Publish publish, std::size_t workers)
    : options_(std::move(options)),
      hooks_(std::move(hooks)),
      clock_(clock),
      metrics_(metrics),
      log_(log),
      start_(tracing::start_request(options_.sync.tracer, "agent start", tracing::SpanKind::internal,
                                    options_.traceparent, options_.tracestate)),
      swap_(context_, metrics, log, std::move(publish), workers, {"server", to_string(options_.sync.server)}),
      token_(options_.token_file),
      age_timer_(context_),
      refresh_timer_(context_),
      client_(context_, below(start_, options_.sync), *this, observe()),
      outage_(log, {"sync_still_lost", "The server still cannot be followed; the policies in force stay.", "sync_back",
                    "The agent follows the server again."}) {
  if (!options_.cache.empty()) saver_.emplace(options_.cache, log_);
  if (!options_.login_file.empty()) {
    login_.emplace(
        context_,
        http_client::Options{.server = options_.sync.server,
                             .tls = options_.sync.tls,
                             .user_agent = "sluice-agent/" + options_.sync.version},
        options_.sync.agent_id, [this] { return token_.read(); }, options_.login_file,
        [this] { client_.report_soon(); }, log_);
  }
  if (hooks_.recording != nullptr) judge_.emplace(*hooks_.recording, clock_);
  metrics_.add(ServerSource::metric_table(), *this);
}

// The workers do not run yet: they start with the snapshot that is published here.
void ServerSource::load_first() {
  const auto began = steady_clock::now();
  refresh();
  if (!saver_) return;
  CompiledState compiled;
  sync::NewerFields newer;
  auto saved = saver_->load([&](const sync::SavedState& state) -> std::optional<std::string> {
    compiled = compile_saved(state, clock_.now_us(), newer);
    return compiled ? std::nullopt : std::optional(text_of(compiled.error()));
  });
  if (!saved) {
    const bool none = saved.error().code == "no_snapshot_file";
    log_.write(
        none ? telemetry::LogLevel::info : telemetry::LogLevel::warn, "last_known_good_unused",
        "There is no last good state to start with: checks are answered with no_snapshot until the server is reached.",
        {{"file", options_.cache}, {"code", saved.error().code}, {"reason", saved.error().text}});
    return;
  }
  const auto age = std::max(std::chrono::system_clock::now() - std::chrono::system_clock::time_point(saved->confirmed),
                            std::chrono::system_clock::duration::zero());
  confirmed_at_ = began - std::chrono::duration_cast<Time::duration>(age);
  saved_confirmed_ = format_timestamp(saved->confirmed);
  log_.info("last_known_good_loaded", "The last good state is in force until the server is reached.",
            {{"file", options_.cache}, {"revision", saved->head.revision}, {"confirmed", saved_confirmed_}});
  note_newer(newer);
  saved_ = std::move(*saved);
  swap_.publish({std::move(*compiled), nullptr}, 0, began, [this] { follow(); });
  metrics_.set_snapshot(
      saved_->head.revision,
      std::chrono::duration_cast<std::chrono::microseconds>(saved->confirmed.time_since_epoch()).count());
  watch_age();
  refresh();
}

void ServerSource::start() {
  if (saver_) saver_->start();
  if (!saved_) boost::asio::post(context_, [this] { follow(); });
  if (login_) boost::asio::post(context_, [this] { login_->start(); });
  thread_ = std::jthread([this] {
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kFollowerNiceness);
    auto keep_running = boost::asio::make_work_guard(context_);
    context_.run();
  });
}

// Called when all workers use the saved snapshot, or from start() if there is none. The client needs the saved objects
// to apply deltas. The objects are parsed here, while the workers already decide. An incomplete state stays in force
// until the whole of it is fetched.
void ServerSource::follow() {
  std::optional<sync::ScopeState> state;
  if (const auto saved = std::exchange(saved_, std::nullopt)) {
    if (const auto read = sync::read_state(saved->content); read && read->is_complete) state = sync::restore(*read);
  }
  client_.start(std::move(state));
  refresh();
}

void ServerSource::stop() {
  if (!thread_.joinable()) return;
  boost::asio::post(context_, [this] {
    age_timer_.clear();
    refresh_timer_.clear();
    if (login_) login_->stop();
    client_.stop([this] { context_.stop(); });
  });
  thread_.join();
  if (judge_) judge_->stop();
  if (saver_) saver_->stop();
}

void ServerSource::redis_login_rejected() {
  if (login_) boost::asio::post(context_, [this] { login_->login_rejected(); });
}

void ServerSource::on_state(const sync::Applied& applied, bool) {
  const auto began = steady_clock::now();
  const auto& before = swap_.in_force();
  sync::NewerFields newer;
  auto compiled = before ? compile_next(*before, applied, clock_.now_us(), newer)
                         : compile_full(applied.state, clock_.now_us(), newer);
  if (!compiled) return refuse(compiled.error(), applied.state.head.revision);
  for (const sync::ObjectChange& change : applied.changes) newer_.erase(describe(change.id()));
  note_newer(newer);
  confirmed_at_ = began;
  swap_.publish({std::move(*compiled), nullptr}, 0, began, [this, state = applied.state]() mutable {
    if (saver_) saver_->save(std::move(state));
    client_.accepted();
  });
}

// A server of a later release sends fields that this agent does not know. To refuse them would keep every other change
// from the agent, also the end of a revoked key.
void ServerSource::note_newer(const sync::NewerFields& newer) {
  std::size_t logged = 0;
  for (const sync::NewerField& field : newer) {
    std::string object = describe(field.object.view());
    if (newer_.contains(object)) continue;
    if (logged++ < kNewerLogged) {
      log_.warn("field_of_later_release",
                "The server sent a field that this agent's release does not know. The agent ignores it: upgrade the "
                "agent.",
                {{"object", object}, {"pointer", field.pointer}});
    }
    newer_.insert(std::move(object));
  }
}

void ServerSource::refuse(const Faults& faults, std::int64_t revision) {
  for (std::size_t i = 0; i < faults.size() && i < kStateFaultsLogged; ++i) {
    log_.error("snapshot_fault", faults[i].text, {{"revision", revision}, {"pointer", faults[i].pointer}});
  }
  client_.refused({"invalid_snapshot", text_of(faults)});
}

follow::SyncObserver ServerSource::observe() {
  return {.stream_opened =
              [this] {
                if (!outage_.lasts()) {
                  log_.info("sync_connected", "The agent follows the server.",
                            {{"server", to_string(options_.sync.server)}});
                }
                outage_.works(0);
                refresh();
              },
          .stream_lost =
              [this](const Error& why) {
                if (why.code != "ended") {
                  outage_.failed(0, "sync_lost", "The server cannot be followed; the policies in force stay.", why,
                                 {{"server", to_string(options_.sync.server)}});
                }
                refresh();
              },
          .fetch_ended =
              [this](follow::FetchResult result, const std::optional<sync::Position>& position, std::string_view text) {
                log_.debug(
                    "sync_fetched", "A request for policies has ended.",
                    {{"result", to_string(result)}, {"revision", position ? position->revision : 0}, {"reason", text}});
                refresh();
              },
          .refused =
              [this](const sync::SnapshotRefusal& refusal) {
                log_.error("snapshot_refused", "The server's policies are refused; the former stay in force.",
                           {{"revision", refusal.refused.revision}, {"code", refusal.code}, {"reason", refusal.text}});
                refresh();
              },
          .report_failed = [this](const Error&) { refresh(); },
          .reported = [this](std::int64_t) { refresh(); }};
}

void ServerSource::on_confirmed(const sync::Position& position) {
  confirmed_at_ = steady_clock::now();
  end_start(position);
  saved_confirmed_.clear();
  const std::int64_t now_us = clock_.now_us();
  if (swap_.withdrawn()) {
    swap_.restore();
    log_.info("snapshot_confirmed", "The server has confirmed the policies: they are in force again.",
              {{"revision", position.revision}});
  }
  metrics_.set_snapshot(position.revision, now_us);
  if (saver_) saver_->confirmed();
  if (hooks_.head) hooks_.head(position, now_us);
  watch_age();
}

void ServerSource::end_start(const sync::Position& position) {
  if (!start_) return;
  start_->set("sluice.agent_id", options_.sync.agent_id);
  start_->set("sluice.revision", position.revision);
  start_->set("sluice.start.saved_state", !saved_confirmed_.empty());
  start_.end();
}

void ServerSource::on_live_agents(const sync::LiveAgents& live) {
  if (hooks_.live_agents) hooks_.live_agents(live);
}

void ServerSource::on_question(const sync::WhatIfQuestion& question) {
  if (!judge_) return client_.answer({.question_id = question.id, .status = sync::WhatIfStatus::no_recording});
  if (!swap_.in_force() || !client_.state()) {
    return client_.answer(
        {.question_id = question.id, .status = sync::WhatIfStatus::failed, .text = "the agent has no policies"});
  }
  judge_->ask({.asked = question,
               .in_force = swap_.in_force(),
               .state = *client_.state(),
               .done = [this](sync::WhatIfAnswer answer) {
                 boost::asio::post(context_, [this, answer = std::move(answer)] { client_.answer(answer); });
               }});
}

void ServerSource::collect(sync::ReportQueue& queue) {
  if (hooks_.collect) hooks_.collect(queue);
}

void ServerSource::watch_age() {
  if (options_.max_age.count() == 0) return;
  const Time ends = confirmed_at_ + options_.max_age;
  if (steady_clock::now() < ends) return age_timer_.set(ends, [this] { watch_age(); });
  if (swap_.withdrawn()) return;
  swap_.withdraw();
  log_.error("snapshot_too_old",
             "The server has not confirmed the policies for --max-snapshot-age: checks are answered with no_snapshot.",
             {{"max_age_ms", options_.max_age.count()}});
  refresh();
}

std::vector<std::string> ServerSource::own_degraded() const {
  std::vector<std::string> found;
  if (swap_.withdrawn()) {
    found.emplace_back("the policies are older than --max-snapshot-age: checks are answered with no_snapshot");
  }
  if (saver_) {
    if (auto problem = saver_->problem()) found.push_back(std::move(*problem));
  }
  if (login_) {
    if (auto problem = login_->problem()) found.push_back(std::move(*problem));
  }
  if (!newer_.empty()) {
    found.push_back(
        fmt::format("{} of the server's objects have fields that this agent's release does not know and ignores, such "
                    "as {}: upgrade the agent",
                    newer_.size(), *newer_.begin()));
  }
  return found;
}

std::vector<std::string> ServerSource::other_degraded() const {
  std::vector<std::string> found = own_degraded();
  if (!hooks_.degraded) return found;
  for (std::string& reason : hooks_.degraded()) found.push_back(std::move(reason));
  return found;
}

std::vector<std::string> ServerSource::degraded() const {
  const std::lock_guard lock(mutex_);
  return degraded_;
}

std::string ServerSource::why_no_policies() const {
  const std::lock_guard lock(mutex_);
  return why_no_policies_;
}

// Copies the client's state for other threads, twice a second at least.
void ServerSource::refresh() {
  outage_.tick();
  std::vector<std::string> found = client_.degraded();
  std::string why = swap_.withdrawn() ? "the policies are older than --max-snapshot-age" : "";
  for (const std::string& reason : found) why += (why.empty() ? "" : "; ") + reason;
  if (why.empty()) why = "the server " + to_string(options_.sync.server) + " has not sent policies yet";
  if (!swap_.in_force()) {
    found.emplace_back("no policies are loaded: checks are answered with no_snapshot");
  } else if (!saved_confirmed_.empty()) {
    found.push_back(
        fmt::format("the server has not been reached yet: the policies of revision {} decide, last confirmed at {}",
                    swap_.in_force()->revision, saved_confirmed_));
  }
  for (std::string& reason : own_degraded()) found.push_back(std::move(reason));
  {
    const std::lock_guard lock(mutex_);
    degraded_ = std::move(found);
    why_no_policies_ = std::move(why);
    counters_ = client_.counters();
    connected_ = client_.connected();
    if (swap_.in_force()) shown_confirmed_at_ = confirmed_at_;
    if (const auto& state = client_.state()) snapshot_bytes_ = state->objects.document_bytes();
  }
  refresh_timer_.set(steady_clock::now() + kRefreshEvery, [this] { refresh(); });
}

}  // namespace sluice::policies
