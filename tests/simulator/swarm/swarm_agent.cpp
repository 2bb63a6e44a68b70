#include "tests/simulator/swarm/swarm_agent.hpp"

#include <utility>

#include <fmt/core.h>
#include <boost/asio/post.hpp>

#include "common/json/text.hpp"
#include "common/policy/match_expr.hpp"
#include "common/sync/bundle_of.hpp"

namespace sluice::sync_test {
namespace {

std::int64_t wall_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

Error first_of(const Faults& faults) {
  return {"invalid_snapshot", faults.empty() ? "" : faults.front().pointer + ": " + faults.front().text};
}

std::string position_members(const std::optional<sync::Position>& position) {
  return position ? fmt::format(R"("revision":{},"chain":"{}")", position->revision, position->chain)
                  : std::string(R"("revision":null,"chain":"")");
}

}  // namespace

SwarmAgent::SwarmAgent(boost::asio::io_context& context, http_client::Url server, AgentPlan plan, EventLog& log)
    : context_(context), server_(std::move(server)), plan_(std::move(plan)), log_(log), timer_(context) {}

void SwarmAgent::start(bool kept) {
  if (client_) kill();
  if (!kept) {
    kept_.reset();
    snapshot_.reset();
  }
  ++boots_;
  follow::SyncOptions options;
  options.server = server_;
  options.agent_id = plan_.id;
  options.pod = plan_.id;
  options.boot_id = fmt::format("{}-{}-{}", plan_.id, plan_.seed % 1'000'000, boots_);
  options.version = "swarm";
  options.seed = plan_.seed + boots_;
  options.report_interval = plan_.report_interval;
  log_.write(event("started").add(kept_ ? std::optional(kept_->head) : std::nullopt));
  client_ = std::make_unique<follow::SyncClient>(context_, std::move(options), *this, observer());
  client_->start(kept_);
}

void SwarmAgent::kill() {
  if (!client_) return;
  timer_.cancel();
  kept_ = client_->state();
  client_.reset();
  log_.write(event("killed"));
}

void SwarmAgent::leave() {
  if (!client_) return;
  kept_ = client_->state();
  log_.write(event("leaving"));
  client_->stop([this] {
    // Not within the client's own call.
    boost::asio::post(context_, [this] { kill(); });
  });
}

std::optional<sync::Position> SwarmAgent::position() const { return client_ ? client_->position() : std::nullopt; }

std::string SwarmAgent::describe() const {
  const auto& state = client_ ? client_->state() : kept_;
  std::string out =
      fmt::format(R"({{"agent":{},"id":"{}","alive":{},"connected":{},)", plan_.number, plan_.id, alive(), connected());
  out += position_members(client_ ? client_->position() : std::nullopt);
  out += fmt::format(R"(,"objects":{},"checksum":"{}")", state ? state->objects.size() : 0,
                     state ? state->objects.checksum().hex() : "");
  if (!client_) return out + '}';
  const follow::SyncCounters counters = client_->counters();
  out += fmt::format(
      R"(,"invalidations":{},"fetches":{},"folded":{},"streams_opened":{},"streams_lost":{},"heartbeats":{},"reports":{},"connects":{},"degraded":[)",
      counters.announcements, counters.fetches, counters.merged, counters.streams_opened, counters.streams_lost,
      counters.heartbeats, counters.reports, counters.connects);
  bool first = true;
  for (const std::string& text : client_->degraded()) {
    if (!std::exchange(first, false)) out += ',';
    json::append_string(out, text);
  }
  return out + "]}";
}

void SwarmAgent::on_state(const sync::Applied& applied, bool whole) {
  if (refusals_ > 0) {
    --refusals_;
    return client_->refused({"invalid_snapshot", "This agent was told to refuse it."});
  }
  if (late_.count() == 0) return take(applied.state, whole);
  timer_.expires_after(late_);
  timer_.async_wait([this, state = applied.state, whole](boost::system::error_code error) {
    if (!error && client_) take(state, whole);
  });
}

void SwarmAgent::take(const sync::ScopeState& state, bool whole) {
  if (plan_.compiles) {
    if (const auto error = compile(state)) return client_->refused(*error);
  }
  // What is in force from here on; the client knows a moment later.
  log_.write(event("swap")
                 .add(state.head)
                 .add("whole", std::int64_t{whole})
                 .add("objects", static_cast<std::int64_t>(state.objects.size()))
                 .add("checksum", state.objects.checksum().hex()));
  client_->accepted();
}

std::optional<Error> SwarmAgent::compile(const sync::ScopeState& state) {
  const auto bundle = sync::to_bundle(state.objects, &policy::check_expression);
  if (!bundle) return first_of(bundle.error());
  auto snapshot =
      policy::build_snapshot(*bundle, static_cast<std::uint64_t>(state.head.revision), wall_us(), state.head.chain);
  if (!snapshot) return first_of(snapshot.error());
  snapshot_ = std::move(*snapshot);
  return std::nullopt;
}

follow::SyncObserver SwarmAgent::observer() {
  follow::SyncObserver out;
  out.stream_opened = [this] { log_.write(event("watch_open")); };
  out.stream_lost = [this](const Error& why) {
    log_.write(event("watch_lost").add("code", why.code).add("text", why.text));
  };
  out.announced = [this](const sync::Position& head) {
    log_.write(event("line").add("kind", "invalidation").add(std::optional(head)));
  };
  out.heartbeat = [this](const sync::Position& head) {
    log_.write(event("line").add("kind", "heartbeat").add(std::optional(head)));
  };
  out.fetch_begun = [this](const std::optional<sync::Position>& since) {
    fetch_since_ = since;
    log_.write(event("fetch_begin").add(since));
  };
  out.fetch_ended = [this](follow::FetchResult result, const std::optional<sync::Position>& position,
                           std::string_view text) {
    log_.write(event("fetch_end")
                   .add("result", follow::to_string(result))
                   .add("since", fetch_since_ ? fetch_since_->revision : -1)
                   .add(position)
                   .add("text", text));
  };
  out.adopted = [this](const sync::Position& head) { log_.write(event("adopted").add(std::optional(head))); };
  out.refused = [this](const sync::SnapshotRefusal& refusal) {
    log_.write(event("refused").add(refusal.refused).add("code", refusal.code).add("text", refusal.text));
  };
  out.report_failed = [this](const Error& why) { log_.write(event("report_failed").add("code", why.code)); };
  return out;
}

}  // namespace sluice::sync_test
