// What a client makes of changes, bursts, heartbeats and lost streams.
#include <algorithm>
#include <thread>

#include "common/domain/credential.hpp"
#include "tests/unit/engine/follow/sync_rig.hpp"

namespace sluice::follow::test {
namespace {

sync::ObjectPtr policy_on(std::string_view resource) { return sync::policy("shop", "orders", "pro", resource); }

TEST_CASE("a start fetches the whole state, and a single change what changed, at once") {
  SyncRig rig;
  rig.client->start();
  REQUIRE(rig.in_step());
  CHECK(rig.same());
  CHECK(rig.host.were_full == std::vector{true});
  rig.server.write(policy_on("y"));
  rig.server.invalidate();
  REQUIRE(rig.in_step());
  CHECK(rig.same());
  CHECK(rig.host.were_full == std::vector{true, false});
  CHECK(rig.results == std::vector{FetchResult::full, FetchResult::delta});
  CHECK(rig.counters().announcements == 1);
  CHECK(rig.counters().merged == 0);
  CHECK(std::ranges::all_of(rig.server.agents, [](const std::string& agent) { return agent == "a1"; }));
}

TEST_CASE("a burst of changes folds into few fetches, and the last is in force") {
  SyncRig rig;
  rig.client->start();
  REQUIRE(rig.in_step());
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 200; ++i) {
    rig.server.write(policy_on("r" + std::to_string(i)));
    rig.server.invalidate();
    rig.context.restart();
    rig.context.poll();
  }
  REQUIRE(rig.in_step());
  const auto took = std::chrono::steady_clock::now() - began;
  CHECK(rig.same());
  CHECK(rig.counters().fetches - 1 <= 2 + static_cast<std::uint64_t>(took / 100ms));
  CHECK(rig.counters().merged >= rig.counters().announcements - (rig.counters().fetches - 1));
}

TEST_CASE("a change during a fetch is fetched after it") {
  SyncRig rig;
  rig.client->start();
  REQUIRE(rig.in_step());
  rig.server.write(policy_on("y"));
  rig.host.answers = false;  // the state stays with the host
  rig.server.invalidate();
  REQUIRE(rig.until([&] { return rig.host.offered.size() == 2; }));
  rig.server.write(policy_on("z"));
  rig.server.invalidate();
  REQUIRE(rig.until([&] { return rig.counters().announcements == 2; }));
  CHECK(rig.counters().fetches == 2);
  CHECK(rig.client->position() != rig.host.offered.back().head);  // not in force before the host says so
  rig.host.answers = true;
  rig.client->accepted();
  REQUIRE(rig.in_step());
  CHECK(rig.same());
  CHECK(rig.counters().fetches == 3);
}

TEST_CASE("a head that moves elsewhere is adopted from a heartbeat without a fetch, and reported") {
  SyncRig rig([](SyncOptions& options) { options.report_interval = 1h; });
  rig.client->start();
  REQUIRE(rig.in_step());
  rig.server.move_head();
  rig.server.beat();
  REQUIRE(rig.until([&] { return rig.client->position() == rig.server.head(); }));
  CHECK(rig.counters().fetches == 1);
  CHECK(rig.counters().adopted == 1);
  CHECK(rig.host.confirmed.back() == rig.server.head());
  REQUIRE(rig.until(
      [&] { return !rig.server.reports.empty() && rig.server.reports.back().agent.enforced == rig.server.head(); }));
  rig.server.write(policy_on("y"));  // goes on from there
  rig.server.invalidate();
  REQUIRE(rig.in_step());
  CHECK(rig.same());
  CHECK(rig.results.back() == FetchResult::delta);
}

TEST_CASE("a head is not adopted while a change is owed") {
  SyncRig rig;
  rig.client->start();
  REQUIRE(rig.in_step());
  const Position before = rig.server.head();
  const auto heartbeats = rig.counters().heartbeats;
  rig.server.hold = true;
  rig.server.write(policy_on("y"));
  rig.server.invalidate();
  rig.server.move_head();
  rig.server.beat();
  REQUIRE(rig.until([&] { return rig.counters().heartbeats == heartbeats + 1 && !rig.server.held.empty(); }));
  CHECK(rig.client->position() == before);
  rig.server.release();
  REQUIRE(rig.in_step());
  CHECK(rig.same());
}

TEST_CASE("what changed while a stream was cut is fetched when it is open again") {
  SyncRig rig;
  rig.client->start();
  REQUIRE(rig.in_step());
  rig.server.cut_streams();
  REQUIRE(rig.until([&] { return !rig.client->connected(); }));
  REQUIRE_FALSE(rig.client->degraded().empty());
  CHECK(rig.client->degraded().front().find("cannot be followed since") != std::string::npos);
  rig.server.write(policy_on("y"));
  REQUIRE(rig.in_step());
  CHECK(rig.same());
  CHECK(rig.client->degraded().empty());
  CHECK(rig.counters().streams_lost == 1);
  CHECK(rig.server.watched.back()->revision == 1);
}

TEST_CASE("a stream that its server ends is opened again, and nothing is wrong meanwhile") {
  SyncRig rig;
  rig.client->start();
  REQUIRE(rig.in_step());
  rig.server.end_streams();
  REQUIRE(rig.until([&] { return rig.counters().streams_lost == 1; }));
  CHECK_FALSE(rig.client->connected());
  CHECK(rig.client->degraded().empty());
  CHECK(rig.in_step());
}

TEST_CASE("what is announced and in force already is not fetched") {
  SyncRig rig;
  rig.client->start();
  REQUIRE(rig.in_step());
  rig.server.invalidate();
  rig.server.beat();
  const auto heartbeats = rig.counters().heartbeats;
  REQUIRE(rig.until([&] { return rig.counters().heartbeats > heartbeats; }));
  CHECK(rig.counters().announcements == 1);
  CHECK(rig.counters().merged == 1);
  CHECK(rig.counters().fetches == 1);
}

TEST_CASE("what no stream announces is found by the refresh") {
  SyncRig rig([](SyncOptions& options) { options.refresh = 50ms; });
  rig.client->start();
  REQUIRE(rig.in_step());
  rig.server.write(policy_on("y"));
  REQUIRE(rig.in_step());
  CHECK(rig.same());
}

TEST_CASE("a stream is not taken for dead because this loop was busy") {
  SyncRig rig([](SyncOptions& options) { options.silence = 100ms; });
  rig.client->start();
  REQUIRE(rig.in_step());
  const auto lost = rig.counters().streams_lost;
  const auto busy_until = std::chrono::steady_clock::now() + 500ms;
  while (std::chrono::steady_clock::now() < busy_until)
    continue;  // a handler of this loop that takes five times the silence
  rig.context.restart();
  rig.context.poll();
  CHECK(rig.counters().streams_lost == lost);
  rig.server.beat();
  CHECK(rig.until([&] { return rig.counters().streams_lost > lost; }));  // silence counts again from here
}

TEST_CASE("a stream that says nothing is dead, and opened again") {
  SyncRig rig([](SyncOptions& options) { options.silence = 50ms; });
  rig.client->start();
  REQUIRE(rig.in_step());
  const auto silent_since = std::chrono::steady_clock::now();
  REQUIRE(rig.until([&] { return rig.counters().streams_opened >= 2; }));
  CHECK(rig.counters().streams_lost >= 1);
  CHECK(std::chrono::steady_clock::now() - silent_since < 10s);  // the HTTP client itself gives it up after 15 s
}

TEST_CASE("an older history is noticed by a heartbeat and taken whole, also once it has passed the old number") {
  SyncRig rig;
  rig.client->start();
  REQUIRE(rig.in_step());
  for (int i = 0; i < 5; ++i) rig.server.write(policy_on("r" + std::to_string(i)));
  rig.server.invalidate();
  REQUIRE(rig.in_step());
  SUBCASE("below the old number") { rig.server.begin_history('b', sync::set_of(sync::small_shop()), 2); }
  SUBCASE("at the old number") { rig.server.begin_history('b', sync::set_of(sync::small_shop()), 6); }
  SUBCASE("a replica tells of it as of any change, beyond the old number") {
    rig.server.begin_history('b', sync::set_of(sync::small_shop()), 9);
    rig.server.invalidate();
  }
  const std::size_t watched = rig.server.watched.size();
  rig.server.beat();
  REQUIRE(rig.in_step());
  CHECK(rig.same());
  CHECK(rig.count(FetchResult::resync) == 1);
  // The stream was of the other history.
  REQUIRE(rig.until([&] { return rig.server.watched.size() > watched; }));
  CHECK(rig.server.watched.back() == rig.server.head());
}

TEST_CASE("a state in force from the start is not fetched again, only what it lacks") {
  SyncRig rig;
  sync::ScopeState kept{.head = rig.server.head(), .objects = rig.server.objects()};
  rig.server.move_head();
  rig.client->start(std::move(kept));
  REQUIRE(rig.in_step());
  CHECK(rig.counters().fetches == 0);
  CHECK(rig.host.offered.empty());
}

TEST_CASE("another token's scope is fetched whole, at the start and on the way") {
  const std::string first = mint_key("first", CredentialKind::agent_token);
  const std::string second = mint_key("second", CredentialKind::agent_token);
  SyncRig rig;
  rig.server.token = rig.host.token_text = second;
  rig.client->start(sync::ScopeState{.head = rig.server.head(), .objects = rig.server.objects(), .token_id = "first"});
  REQUIRE(rig.until([&] { return rig.count(FetchResult::revision_only) == 1; }));
  CHECK(rig.client->state()->token_id == "second");
  REQUIRE(rig.in_step());
  rig.server.token = rig.host.token_text = first;
  rig.server.cut_streams();
  REQUIRE(rig.until([&] { return rig.count(FetchResult::revision_only) == 2; }));
  CHECK(rig.client->state()->token_id == "first");
  REQUIRE(rig.in_step());
  CHECK(rig.counters().fetches == 2);
}

TEST_CASE("a token that is replaced during a fetch has its own scope fetched after it") {
  const std::string first = mint_key("first", CredentialKind::agent_token);
  const std::string second = mint_key("second", CredentialKind::agent_token);
  SyncRig rig;
  rig.server.token = rig.host.token_text = first;
  rig.client->start();
  REQUIRE(rig.in_step());
  rig.server.hold = true;
  rig.server.write(policy_on("y"));
  rig.server.invalidate();
  REQUIRE(rig.until([&] { return !rig.server.held.empty(); }));
  rig.server.token = rig.host.token_text = second;
  const auto opened = rig.counters().streams_opened;
  rig.server.cut_streams();
  REQUIRE(rig.until([&] { return rig.counters().streams_opened == opened + 1; }));
  rig.server.release();
  REQUIRE(rig.until([&] { return rig.client->state()->token_id == "second"; }));
  CHECK_FALSE(rig.server.asked.back());
}

TEST_CASE("a token that is replaced while its stream goes on has its own scope fetched at the next heartbeat") {
  const std::string first = mint_key("first", CredentialKind::agent_token);
  const std::string second = mint_key("second", CredentialKind::agent_token);
  SyncRig rig;
  rig.server.token = rig.host.token_text = first;
  rig.client->start();
  REQUIRE(rig.in_step());
  REQUIRE(rig.until([&] { return rig.counters().reports > 0; }));  // of the start, with the first token
  rig.server.token = rig.host.token_text = second;
  const auto reports = rig.counters().reports;
  rig.client->report_soon();  // each request reads the token
  REQUIRE(rig.until([&] { return rig.counters().reports > reports; }));
  rig.server.beat();  // of the head that is in force
  REQUIRE(rig.until([&] { return rig.client->state()->token_id == "second"; }));
  CHECK_FALSE(rig.server.asked.back());
}

TEST_CASE("live agents are told by tenant") {
  SyncRig rig;
  rig.client->start();
  REQUIRE(rig.in_step());
  rig.server.say(sync::write_line(
      sync::Heartbeat{.head = rig.server.head(), .live_agents = sync::LiveAgents{{"shop", 3}}, .reconnect_max = {}}));
  REQUIRE(rig.until([&] { return !rig.host.live.empty(); }));
  CHECK(rig.host.live.at("shop") == 3);
}

}  // namespace
}  // namespace sluice::follow::test
