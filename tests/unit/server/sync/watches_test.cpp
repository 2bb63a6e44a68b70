// The open watches: which changes wake them, what they say of live agents, and when their streams end. The test plays
// the connections and the fleet.
#include "server/sync/watches.hpp"

#include <doctest/doctest.h>

#include <deque>

#include "common/base/clock.hpp"
#include "common/http/reply_sink.hpp"
#include "tests/unit/server/sync/state_writer.hpp"

namespace sluice::server::test {
namespace {

using namespace std::chrono_literals;

// An agent's end of one watch: it keeps the lines, and takes none while it is not writable.
class Peer final : public sluice::http::ReplySink {
 public:
  sluice::http::Reply reply() { return {this, 1}; }

  void answer(std::uint64_t, const sluice::http::Response&) override { FAIL("a watch is answered with a stream"); }
  bool begin_stream(std::uint64_t, const sluice::http::Response&, sluice::http::StreamEvents& events) override {
    events_ = &events;
    return open;
  }
  bool stream_open(std::uint64_t) const override { return open; }
  bool write_stream(std::uint64_t, std::string_view piece) override {
    if (!open || !writable) return false;
    const auto line = sluice::sync::parse_watch_line(piece.substr(0, piece.size() - 1));
    REQUIRE(line);
    lines.push_back(*line);
    return true;
  }
  void end_stream(std::uint64_t, bool its_whole) override {
    open = false;
    whole = its_whole;
  }

  void make_room() {
    writable = true;
    events_->on_writable();
  }
  void leave() {
    open = false;
    events_->on_ended();
  }

  // Since it was last asked: "i7" of an invalidation of revision 7, "h7" of a heartbeat, "q:id" of a question.
  std::string heard() {
    std::string text;
    for (const sluice::sync::WatchLine& line : lines) {
      if (const auto* const question = std::get_if<sluice::sync::WhatIfQuestion>(&line)) {
        text += fmt::format("{}q:{}", text.empty() ? "" : " ", question->id);
        continue;
      }
      const auto* const invalidation = std::get_if<sluice::sync::Announcement>(&line);
      const sluice::sync::Position& head =
          invalidation != nullptr ? invalidation->head : std::get<sluice::sync::Heartbeat>(line).head;
      text += fmt::format("{}{}{}", text.empty() ? "" : " ", invalidation != nullptr ? "i" : "h", head.revision);
    }
    lines.clear();
    return text;
  }

  std::vector<sluice::sync::WatchLine> lines;
  bool open = true;
  bool writable = true;
  bool whole = false;  // finished, not cut off

 private:
  void unreferenced() noexcept override {}

  sluice::http::StreamEvents* events_ = nullptr;
};

struct FakeFleet final : sync::FleetPort {
  std::expected<std::int64_t, sync::QuotaExceeded> report(const sync::AgentCaller&, std::string_view,
                                                          sluice::sync::ReportDocument) override {
    return 0;
  }
  void watch_began(const sync::AgentCaller&, std::string_view, const std::optional<sluice::sync::Position>&) override {
    ++watching;
  }
  void watch_ended(const sync::AgentCaller&, std::string_view) override { --watching; }
  sluice::sync::LiveAgents live_agents(const sync::AgentCaller& caller) override {
    return {{caller.organization_id.empty() ? "*" : caller.organization_id, 3}};
  }
  std::size_t live() const override { return agents; }

  int watching = 0;
  std::size_t agents = 3;
};

struct FakeAnswers final : sync::AnswerPort {
  void store(const sync::AgentCaller& caller, std::string_view, const sluice::sync::WhatIfAnswer& answer,
             Done) override {
    stored.push_back(fmt::format("{} {} {}", caller.token_id, answer.question_id, to_string(answer.status)));
  }
  std::vector<std::string> stored;
};

std::shared_ptr<const sync::OpenQuestion> question(const std::string& id, const std::string& organization,
                                                   const std::string& tenant) {
  return std::make_shared<const sync::OpenQuestion>(sync::OpenQuestion{
      .organization_id = organization,
      .question = {
          .id = id, .tenant_id = tenant, .policy_id = "p", .policy = R"({"id":"p"})", .from_us = 1, .to_us = 2}});
}

std::shared_ptr<const sync::AgentToken> token_of(const std::string& id, const sync::SyncScope& scope) {
  return std::make_shared<sync::AgentToken>(sync::AgentToken{
      .caller = {.token_id = id, .organization_id = scope.organization_id, .tenant_ids = scope.tenant_ids},
      .document = {},
      .hash = {}});
}

struct Rig {
  Rig() {
    for (const auto& [id, scope] :
         {std::pair("t-platform", kPlatform), {"t-acme", kAcme}, {"t-globex", kGlobex}, {"t-shop", kShop}}) {
      tokens.emplace(id, token_of(id, scope));
    }
    publish_tokens();
  }

  void publish_tokens() { writer.state.tokens = std::make_shared<const sync::AgentTokens>(tokens); }
  sync::SyncStatePtr now() const { return std::make_shared<const sync::SyncState>(writer.state); }
  void announce() { watches.announce(now()); }

  Peer& watch(const std::string& token, bool changed = false, bool writable = true, bool reads_whatif = true) {
    Peer& peer = peers.emplace_back();
    peer.writable = writable;
    watches.open(peer.reply(), {.status = 200}, tokens.at(token), "agent", std::nullopt, now(), changed, reads_whatif);
    return peer;
  }

  StateWriter writer;
  sync::AgentTokens tokens;
  SystemClock clock;
  boost::asio::io_context loop;
  sync::SyncStatistics statistics;
  FakeFleet fleet;
  std::deque<Peer> peers;  // outlive the watches
  FakeAnswers answers;
  sync::Watches watches{loop, fleet, &answers, statistics, clock, {}};
};

const sluice::sync::Heartbeat& heartbeat(const Peer& peer, std::size_t index = 0) {
  REQUIRE(peer.lines.size() > index);
  return std::get<sluice::sync::Heartbeat>(peer.lines[index]);
}

TEST_CASE_FIXTURE(Rig, "the first line says at once whether the agent's state is the newest") {
  CHECK(watch("t-acme", false).heard() == "h0");
  CHECK(watch("t-acme", true).heard() == "i0");
  CHECK(watches.open_count() == 2);
  CHECK(statistics.watches == 2);
  CHECK(statistics.heartbeats == 1);
  CHECK(statistics.announcements == 1);
  CHECK(fleet.watching == 2);
}

TEST_CASE_FIXTURE(Rig, "a change wakes the watches whose scope it is in, and no others") {
  Peer& platform = watch("t-platform");
  Peer& acme = watch("t-acme");
  Peer& globex = watch("t-globex");
  Peer& shop = watch("t-shop");
  for (Peer& peer : peers) peer.heard();
  writer.write("acme", policy_of("lab", "p"), "{}");
  announce();
  CHECK(platform.heard() == "i1");
  CHECK(acme.heard() == "i1");
  CHECK(globex.heard() == "");
  CHECK(shop.heard() == "");
  CHECK(statistics.changes == 2);
}

std::string trace_heard(Peer& peer) {
  std::string text;
  for (const sluice::sync::WatchLine& line : peer.lines) {
    const auto* const announcement = std::get_if<sluice::sync::Announcement>(&line);
    if (announcement != nullptr) text = announcement->traced.newest();
  }
  peer.lines.clear();
  return text;
}

TEST_CASE_FIXTURE(Rig, "an announcement names the traces of the revisions in the agent's scope, the newest first") {
  Peer& acme = watch("t-acme");
  Peer& globex = watch("t-globex");
  for (Peer& peer : peers) peer.heard();
  writer.write("acme", policy_of("shop", "p"), "{}", "trace-1").write("acme", policy_of("shop", "q"), "{}", "trace-2");
  writer.write("acme", policy_of("shop", "r"), "{}").write("globex", policy_of("mill", "p"), "{}");
  announce();
  REQUIRE(acme.lines.size() == 1);
  CHECK(std::get<sluice::sync::Announcement>(acme.lines[0]).traced.earlier() == std::vector<std::string>{"trace-1"});
  CHECK(trace_heard(acme) == "trace-2");
  CHECK(trace_heard(globex) == "");
}

TEST_CASE_FIXTURE(Rig, "a trace is announced once") {
  Peer& acme = watch("t-acme");
  acme.heard();
  writer.write("acme", policy_of("shop", "p"), "{}", "trace-1");
  announce();
  CHECK(trace_heard(acme) == "trace-1");
  writer.write("acme", policy_of("shop", "p"), R"({"v":2})");
  announce();
  while (acme.lines.empty()) loop.run_one();
  CHECK(trace_heard(acme) == "");
}

TEST_CASE_FIXTURE(Rig, "the trace of a change waits for an agent that reads slowly") {
  Peer& acme = watch("t-acme");
  acme.heard();
  acme.writable = false;
  writer.write("acme", policy_of("shop", "p"), "{}", "trace-1");
  announce();
  writer.write("acme", policy_of("shop", "q"), "{}");
  announce();
  acme.make_room();
  while (acme.lines.empty()) loop.run_one();
  CHECK(trace_heard(acme) == "trace-1");
}

TEST_CASE_FIXTURE(Rig, "an agent that was away hears the trace of what it has missed") {
  writer.write("acme", policy_of("shop", "p"), "{}", "trace-1")
      .write("globex", policy_of("mill", "p"), "{}", "trace-2");
  Peer& peer = peers.emplace_back();
  watches.open(peer.reply(), {.status = 200}, tokens.at("t-acme"), "agent", at(0), now(), true, true);
  CHECK(trace_heard(peer) == "trace-1");
}

TEST_CASE_FIXTURE(Rig, "a change to objects of several tenants wakes the watches of each") {
  Peer& globex = watch("t-globex");
  Peer& shop = watch("t-shop");
  for (Peer& peer : peers) peer.heard();
  writer.write("acme", policy_of("shop", "p"), "{}").write("acme", policy_of("shop", "q"), "{}");
  writer.write("globex", policy_of("mill", "p"), "{}").write("acme", policy_of("lab", "p"), "{}");
  announce();
  CHECK(globex.heard() == "i4");
  CHECK(shop.heard() == "i4");
}

TEST_CASE_FIXTURE(Rig, "changes that agents are not told of wake nobody") {
  Peer& acme = watch("t-acme");
  acme.heard();
  writer.write_unsynced();
  announce();
  CHECK(acme.heard() == "");
}

TEST_CASE_FIXTURE(Rig, "where the history does not reach back to what was told, every watch is woken") {
  writer.state.history = sync::History(at(0), 1);
  Peer& acme = watch("t-acme");
  Peer& globex = watch("t-globex");
  for (Peer& peer : peers) peer.heard();
  writer.write("acme", policy_of("shop", "p"), "{}").write("acme", policy_of("lab", "p"), "{}");
  REQUIRE(writer.state.history.base().revision > 0);
  announce();
  CHECK(acme.heard() == "i2");
  CHECK(globex.heard() == "i2");
}

TEST_CASE_FIXTURE(Rig, "an agent that reads slowly is told of the newest state only, when it reads again") {
  Peer& acme = watch("t-acme");
  acme.heard();
  acme.writable = false;
  for (int i = 0; i < 3; ++i) {
    writer.write("acme", policy_of("shop", "p"), fmt::format(R"({{"v":{}}})", i));
    announce();
  }
  CHECK(acme.heard() == "");
  acme.make_room();
  while (acme.lines.empty()) loop.run_one();  // at the end of the window in which lines are merged
  CHECK(acme.heard().starts_with("i3"));      // a heartbeat may follow where the machine is slow
}

TEST_CASE_FIXTURE(Rig, "the first heartbeat tells the live agents; one that was refused is made up for") {
  CHECK(heartbeat(watch("t-acme")).live_agents == sluice::sync::LiveAgents{{"acme", 3}});
  Peer& slow = watch("t-acme", false, false);
  CHECK(slow.lines.empty());
  slow.make_room();
  CHECK(heartbeat(slow).live_agents == sluice::sync::LiveAgents{{"acme", 3}});
  CHECK(heartbeat(watch("t-platform")).live_agents == sluice::sync::LiveAgents{{"*", 3}});
}

TEST_CASE("a later heartbeat tells the live agents only where they changed") {
  Rig rig;
  sync::Watches quick(rig.loop, rig.fleet, nullptr, rig.statistics, rig.clock, {.heartbeat_every = 1ms});
  Peer peer;
  quick.open(peer.reply(), {.status = 200}, rig.tokens.at("t-acme"), "agent", std::nullopt, rig.now(), false, true);
  while (peer.lines.size() < 2) rig.loop.run_one();
  CHECK(heartbeat(peer, 0).live_agents.has_value());
  CHECK_FALSE(heartbeat(peer, 1).live_agents.has_value());
  quick.end_all();
}

TEST_CASE_FIXTURE(Rig, "heartbeats of a large fleet tell agents to come back later after a loss") {
  CHECK_FALSE(heartbeat(watch("t-acme")).reconnect_max);
  fleet.agents = 10'000;
  CHECK(heartbeat(watch("t-acme")).reconnect_max == 40s);
}

TEST_CASE_FIXTURE(Rig, "the agents that one change wakes are told over which time to fetch") {
  for (int i = 0; i < 200; ++i) watch("t-acme");
  Peer& globex = watch("t-globex");
  writer.write("acme", policy_of("shop", "p"), "{}");
  announce();
  CHECK(std::get<sluice::sync::Announcement>(peers.front().lines.at(1)).spread == 100ms);
  writer.write("globex", policy_of("mill", "p"), "{}");
  announce();
  CHECK(std::get<sluice::sync::Announcement>(globex.lines.at(1)).spread == 0ms);
}

TEST_CASE_FIXTURE(Rig, "a stream ends in order when its token is gone, and the others go on") {
  Peer& acme = watch("t-acme");
  Peer& shop = watch("t-shop");
  tokens.erase("t-acme");
  publish_tokens();
  writer.write_unsynced();
  announce();
  CHECK_FALSE(acme.open);
  CHECK(acme.whole);
  CHECK(shop.open);
  CHECK(watches.open_count() == 1);
  CHECK(fleet.watching == 1);
}

TEST_CASE_FIXTURE(Rig, "a stream ends when its token reaches elsewhere, has another secret or has ended") {
  Peer& acme = watch("t-acme");
  Peer& globex = watch("t-globex");
  Peer& shop = watch("t-shop");
  tokens["t-acme"] = token_of("t-acme", kGlobex);
  sync::AgentToken other = *tokens["t-globex"];
  other.hash.digest.front() ^= 1;
  tokens["t-globex"] = std::make_shared<const sync::AgentToken>(other);
  sync::AgentToken over = *tokens["t-shop"];
  over.document.expires_at = WallTime(Micros(clock.now_us())) - 1s;
  tokens["t-shop"] = std::make_shared<const sync::AgentToken>(over);
  Peer& platform = watch("t-platform");
  publish_tokens();
  announce();
  CHECK_FALSE(acme.open);
  CHECK_FALSE(globex.open);
  CHECK_FALSE(shop.open);
  CHECK(platform.open);
}

TEST_CASE_FIXTURE(Rig, "a stream lasts no longer than its token") {
  sync::AgentToken token = *tokens["t-acme"];
  token.document.expires_at = WallTime(Micros(clock.now_us())) - 1s;
  tokens["t-acme"] = std::make_shared<const sync::AgentToken>(token);
  CHECK_FALSE(watch("t-acme").open);
  CHECK(fleet.watching == 0);
}

TEST_CASE_FIXTURE(Rig, "all streams end when PostgreSQL's history was replaced") {
  Peer& acme = watch("t-acme");
  Peer& globex = watch("t-globex");
  ++writer.state.epoch;
  announce();
  CHECK_FALSE(acme.open);
  CHECK_FALSE(globex.open);
  CHECK(watches.open_count() == 0);
  CHECK(statistics.watches == 0);
}

TEST_CASE_FIXTURE(Rig, "an agent that leaves is not watched any more, and one that was gone before is not counted") {
  Peer& acme = watch("t-acme");
  acme.leave();
  CHECK(fleet.watching == 0);
  CHECK(watches.open_count() == 0);
  Peer& gone = peers.emplace_back();
  gone.open = false;
  watches.open(gone.reply(), {.status = 200}, tokens.at("t-acme"), "agent", std::nullopt, now(), false, true);
  CHECK(fleet.watching == 0);
  CHECK(watches.open_count() == 0);
}

}  // namespace
TEST_CASE_FIXTURE(Rig, "a question goes once to each agent whose scope has its tenant") {
  Peer& platform = watch("t-platform");
  Peer& acme = watch("t-acme");
  Peer& globex = watch("t-globex");
  Peer& shop = watch("t-shop");
  for (Peer& peer : peers) peer.heard();
  watches.ask({question("a", "acme", "lab")});
  watches.ask({question("a", "acme", "lab"), question("b", "globex", "mill")});
  CHECK(platform.heard() == "q:a q:b");
  CHECK(acme.heard() == "q:a");
  CHECK(globex.heard() == "q:b");
  CHECK(shop.heard() == "");
  CHECK(answers.stored.empty());
}

TEST_CASE_FIXTURE(Rig, "an agent that comes while a question is open is asked, and one that comes later is not") {
  watches.ask({question("a", "acme", "lab")});
  CHECK(watch("t-acme").heard() == "q:a h0");
  watches.ask({});
  CHECK(watch("t-acme").heard() == "h0");
}

TEST_CASE_FIXTURE(Rig, "a question waits for room in a full connection") {
  Peer& acme = watch("t-acme");
  acme.heard();
  acme.writable = false;
  watches.ask({question("a", "acme", "lab")});
  CHECK(acme.heard() == "");
  acme.make_room();
  CHECK(acme.heard() == "q:a");
}

TEST_CASE_FIXTURE(Rig, "an agent that does not read questions gets none, and counts as too old") {
  Peer& old = watch("t-acme", false, true, false);
  old.heard();
  watches.ask({question("a", "acme", "lab")});
  CHECK(old.heard() == "");
  CHECK(answers.stored == std::vector<std::string>{"t-acme a too_old"});
}

}  // namespace sluice::server::test
