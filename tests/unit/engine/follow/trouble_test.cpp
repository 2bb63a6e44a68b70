// What a client makes of answers that are no good, of states that are not to be taken, and of its token.
#include "tests/unit/engine/follow/sync_rig.hpp"

namespace sluice::follow::test {
namespace {

sync::ObjectPtr policy_on(std::string_view resource) { return sync::policy("shop", "orders", "pro", resource); }

auto answer(unsigned status, std::string body = "{}", std::string headers = "") {
  return [status, body = std::move(body), headers = std::move(headers)](http::Reply reply) {
    reply.send({.status = status, .headers = headers, .body = body});
  };
}

// The document, with a checksum that is not its own.
std::string damaged(std::string text) {
  const std::size_t at = text.find(R"("checksum":")") + 12;
  text[at] = text[at] == '0' ? '1' : '0';
  return text;
}

struct Following : SyncRig {
  explicit Following(std::function<void(SyncOptions&)> change = {}) : SyncRig(std::move(change)) {
    client->start();
    REQUIRE(in_step());
    server.write(policy_on("y"));
  }
};

TEST_CASE("a fetch that fails is tried again") {
  Following rig;
  rig.server.script = {answer(503), answer(500), answer(200, "not a document")};
  rig.server.invalidate();
  REQUIRE(rig.in_step());
  CHECK(rig.same());
  CHECK(rig.count(FetchResult::error) == 2);
  CHECK(rig.count(FetchResult::resync) == 1);
  CHECK(rig.client->degraded().empty());
}

TEST_CASE("410 and a delta whose checksum does not hold are followed by a whole state") {
  Following rig;
  const auto delta = sync::write_delta(1, rig.server.head(), rig.server.objects(), {});
  SUBCASE("410") { rig.server.script = {answer(410)}; }
  SUBCASE("checksum") { rig.server.script = {answer(200, delta)}; }
  rig.server.invalidate();
  REQUIRE(rig.in_step());
  CHECK(rig.same());
  CHECK(rig.results == std::vector{FetchResult::full, FetchResult::resync, FetchResult::full});
  CHECK_FALSE(rig.server.asked.back());
  CHECK_FALSE(rig.client->refusal());
}

TEST_CASE("where a whole state is needed and cannot be had, the next try asks for it too") {
  Following rig;
  rig.server.script = {answer(410), answer(503), answer(503)};
  const std::size_t asked = rig.server.asked.size();
  rig.server.invalidate();
  REQUIRE(rig.in_step());
  REQUIRE(rig.server.asked.size() == asked + 4);
  CHECK(rig.server.asked[asked]);
  for (std::size_t i = 1; i < 4; ++i) CHECK_FALSE(rig.server.asked[asked + i]);
}

TEST_CASE("a head is not adopted while a state is refused") {
  Following rig;
  rig.host.refuses = true;
  rig.server.invalidate();
  REQUIRE(rig.until([&] { return rig.client->refusal().has_value(); }));
  const auto heartbeats = rig.counters().heartbeats;
  rig.server.move_head();
  rig.server.beat();
  REQUIRE(rig.until([&] { return rig.counters().heartbeats > heartbeats; }));
  CHECK(rig.counters().adopted == 0);
  CHECK(rig.client->position()->revision == 1);
}

TEST_CASE("a whole state whose checksum does not hold is refused, and not asked for in a loop") {
  Following rig([](SyncOptions& options) { options.refusal_retry = 60s; });
  const Position before = *rig.client->position();
  const auto bad = damaged(sync::write_snapshot(rig.server.head(), rig.server.objects()));
  rig.server.script = {answer(410), answer(200, bad), answer(200, bad)};
  rig.server.invalidate();
  REQUIRE(rig.until([&] { return rig.client->refusal().has_value(); }));
  CHECK(rig.client->refusal()->code == "checksum_mismatch");
  CHECK(rig.client->refusal()->refused == rig.server.head());
  CHECK(rig.client->position() == before);
  const auto fetches = rig.counters().fetches;
  for (int i = 0; i < 5; ++i) rig.server.invalidate();  // of what was refused: nothing new
  REQUIRE(rig.until([&] { return rig.counters().announcements == 6; }));
  CHECK(rig.counters().fetches == fetches);
  REQUIRE(rig.until([&] { return !rig.server.reports.empty() && rig.server.reports.back().agent.refusal; }));
  CHECK(rig.server.reports.back().agent.enforced == before);
}

TEST_CASE("what is refused is tried again after a back-off, and a state that is new at once") {
  Following rig;
  rig.host.refuses = true;
  rig.server.invalidate();
  REQUIRE(rig.until([&] { return rig.count(FetchResult::refused) >= 3; }));  // by and by
  CHECK(rig.client->position()->revision == 1);
  CHECK(rig.client->refusal()->code == "invalid_snapshot");
  rig.host.refuses = false;
  rig.server.write(policy_on("z"));
  rig.server.invalidate();
  REQUIRE(rig.in_step());
  CHECK_FALSE(rig.client->refusal());
  CHECK(rig.same());
}

TEST_CASE("a format that is not known and a state that is too large are refused") {
  Following rig([](SyncOptions& options) { options.max_snapshot = 100'000; });
  std::string code;
  SUBCASE("format") {
    rig.server.script = {answer(410), answer(200, R"({"format":"sluice-sync/v9"})")};
    code = "unreadable_snapshot";
  }
  SUBCASE("size") {
    rig.server.script = {answer(410), answer(200, std::string(100'001, ' '))};
    code = "too_large";
  }
  rig.server.invalidate();
  REQUIRE(rig.until([&] { return rig.client->refusal().has_value(); }));
  CHECK(rig.client->refusal()->code == code);
  CHECK(rig.client->refusal()->refused == rig.server.head());
  REQUIRE(rig.in_step());  // the next try is good
  CHECK_FALSE(rig.client->refusal());
}

TEST_CASE("a token that is refused is read again with each try, and said to be wrong meanwhile") {
  Following rig;
  rig.server.token = "slg_2";
  rig.server.invalidate();
  REQUIRE(rig.until([&] { return rig.count(FetchResult::unauthorized) >= 2; }));
  CHECK(rig.client->degraded().front().find("does not accept the agent token (401): no such token") !=
        std::string::npos);
  rig.host.token_text = "slg_2";
  REQUIRE(rig.in_step());
  CHECK(rig.same());
  REQUIRE(rig.until([&] { return rig.client->degraded().empty(); }));
}

TEST_CASE("a fetch names what was heard until one has covered it, for the replica that is asked may be behind") {
  Following rig;
  rig.server.script = {answer(503)};
  rig.server.invalidate();
  REQUIRE(rig.in_step());
  CHECK(rig.server.heard == std::vector<std::optional<Position>>{std::nullopt, rig.server.head(), rig.server.head()});
  rig.server.script = {answer(410)};
  rig.server.write(policy_on("z"));
  rig.server.invalidate();
  REQUIRE(rig.in_step());
  CHECK(rig.server.heard.back() == rig.server.head());  // also of the whole
  CHECK_FALSE(rig.server.asked.back());
}

TEST_CASE("what was heard during a fetch is named by the next, unless it is what that brought") {
  Following rig;
  rig.server.hold = true;
  rig.server.invalidate();
  REQUIRE(rig.until([&] { return !rig.server.held.empty(); }));
  rig.server.write(policy_on("z"));
  rig.server.invalidate();
  const Position told = rig.server.head();
  const auto invalidations = rig.counters().announcements;
  REQUIRE(rig.until([&] { return rig.counters().announcements == invalidations + 1; }));
  const auto fetches = rig.counters().fetches;
  std::uint64_t more = 0;
  SUBCASE("it is") {}
  SUBCASE("it brought a later one, maybe of another history") {
    rig.server.move_head();
    more = 1;
  }
  rig.server.release();
  REQUIRE(rig.in_step());
  REQUIRE(rig.until([&] { return rig.count(FetchResult::unchanged) == more; }));
  if (more == 1) CHECK(rig.server.heard.back() == told);
  rig.server.move_head();
  rig.server.beat();
  REQUIRE(rig.until([&] { return rig.counters().adopted == 1; }));
  CHECK(rig.counters().fetches == fetches + more);
}

TEST_CASE("a stream of another history than PostgreSQL's is opened anew, and no head of it is adopted") {
  Following rig;
  const Position here = *rig.client->position();
  const Position elsewhere{here.revision + 7, std::string(sync::kChainDigits, 'e')};
  rig.server.script = {answer(304, "", "Sluice-Heard: foreign\r\n")};
  rig.server.say(sync::write_line(sync::Announcement{elsewhere, {}}));
  REQUIRE(rig.until([&] { return rig.counters().streams_lost == 1; }));
  CHECK(rig.server.heard.back() == elsewhere);
  CHECK(rig.client->position() == here);
  CHECK(rig.client->degraded().front().find("another history") != std::string::npos);
  REQUIRE(rig.in_step());  // the stream that is opened then leads on
  CHECK(rig.same());
  CHECK(rig.counters().adopted == 0);
  CHECK(rig.client->degraded().empty());
}

TEST_CASE("a server that cannot tell is asked over another connection: behind it may be another replica") {
  Following rig;
  const auto connects = rig.counters().connects;
  rig.server.script = {answer(503), answer(503)};
  rig.server.invalidate();
  REQUIRE(rig.in_step());
  CHECK(rig.counters().connects >= connects + 2);
}

TEST_CASE("a watch of a replica that is behind costs one fetch a line, and the agent follows on") {
  Following rig;
  const Position old = *rig.client->position();
  rig.server.invalidate();
  REQUIRE(rig.in_step());
  const auto fetches = rig.counters().fetches;
  SUBCASE("by a line") { rig.server.say(sync::write_line(sync::Announcement{old, {}})); }
  SUBCASE("by a heartbeat") { rig.server.say(sync::write_line(sync::Heartbeat{old, {}, {}})); }
  REQUIRE(rig.until([&] { return rig.count(FetchResult::unchanged) == 1; }));
  CHECK(rig.server.heard.back() == old);
  rig.server.move_head();
  rig.server.beat();
  REQUIRE(rig.until([&] { return rig.client->position() == rig.server.head(); }));
  CHECK(rig.counters().adopted == 1);  // nothing was owed any more
  CHECK(rig.counters().fetches == fetches + 1);
}

TEST_CASE("a state of which nothing changed moves only the head") {
  SyncRig rig;
  rig.client->start();
  REQUIRE(rig.in_step());
  rig.server.move_head();
  rig.server.invalidate();
  REQUIRE(rig.in_step());
  CHECK(rig.results == std::vector{FetchResult::full, FetchResult::revision_only});
  CHECK(rig.host.offered.size() == 1);
}

TEST_CASE("a client that stops says so in a last report") {
  Following rig;
  bool done = false;
  rig.client->stop([&] { done = true; });
  REQUIRE(rig.until([&] { return done; }));
  CHECK(rig.server.reports.back().agent.leaving);
}

TEST_CASE("a client that stops does not wait long for a server that is away") {
  Following rig([](SyncOptions& options) { options.last_report_timeout = 20ms; });
  rig.server.close();
  bool done = false;
  rig.client->stop([&] { done = true; });
  CHECK(rig.until([&] { return done; }));
}

}  // namespace
}  // namespace sluice::follow::test
