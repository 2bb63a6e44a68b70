#include "common/redis/sentinel_search.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/redis/command_writer.hpp"
#include "common/redis/reply_reader.hpp"

namespace sluice::redis {
namespace {

using namespace std::chrono_literals;
using Candidate = SentinelSearch::Candidate;
using TimePoint = SentinelSearch::TimePoint;

const TimePoint kBegin{1h};
const TimePoint kDeadline = kBegin + 500ms;
const HostPort kOld{"10.0.0.1", 6379};
const HostPort kNew{"10.0.0.2", 6380};
const HostPort kForeign{"203.0.113.9", 6379};

SentinelView says(const HostPort& primary, std::uint64_t epoch, bool down = false) { return {primary, epoch, down}; }

Result<SentinelView> fails(std::string code, std::string text = "why") {
  return failure(std::move(code), std::move(text));
}

// A search of that many sentinels that has begun.
SentinelSearch search_of(std::size_t sentinels) {
  SentinelSearch search(sentinels);
  search.begin(kDeadline);
  return search;
}

std::vector<std::string> ranked(SentinelSearch& search) {
  std::vector<std::string> out;
  for (const Candidate& each : search.finish()) out.push_back(to_string(each.address));
  return out;
}

// The replies to RESP bytes, read by the functions under test.
struct Replies {
  explicit Replies(std::string_view bytes) { reader.feed(bytes); }
  const Reply& next() { return **reader.next(); }
  ReplyReader reader;
};

Result<HostPort> primary_of(std::string_view bytes) {
  Replies replies(bytes);
  return read_primary(replies.next());
}

std::string list(const std::vector<std::string>& words) {
  std::string out;
  CommandWriter writer(out);
  writer.array(words.size());
  for (const std::string& word : words) writer.bulk(std::string_view(word));
  return out;
}

Result<SentinelView> view_of(std::string_view bytes, Result<HostPort> primary = kNew) {
  Replies replies(bytes);
  return read_view(std::move(primary), replies.next());
}

TEST_CASE("a majority that names one primary ends the search at once") {
  SentinelSearch search = search_of(3);
  CHECK(search.under_way());
  search.answered(0, says(kNew, 2), kBegin);
  CHECK_FALSE(search.enough(kBegin));
  search.answered(2, says(kNew, 2), kBegin + 1ms);
  CHECK(search.enough(kBegin + 1ms));
  CHECK(ranked(search) == std::vector<std::string>{"10.0.0.2:6380"});
  CHECK_FALSE(search.under_way());
}

TEST_CASE("two of four sentinels are no majority") {
  SentinelSearch search = search_of(4);
  search.answered(0, says(kNew, 2), kBegin);
  search.answered(1, says(kNew, 2), kBegin);
  CHECK_FALSE(search.enough(kBegin));
  search.answered(3, says(kNew, 2), kBegin);
  CHECK(search.enough(kBegin));
}

TEST_CASE("a majority for a primary that is down waits for the others") {
  SentinelSearch search = search_of(3);
  search.answered(0, says(kOld, 1, true), kBegin);
  search.answered(1, says(kOld, 1, true), kBegin);
  CHECK_FALSE(search.enough(kBegin));
  search.answered(2, says(kNew, 2), kBegin + 5ms);
  CHECK(search.enough(kBegin + 5ms));
  CHECK(ranked(search) == std::vector<std::string>{"10.0.0.1:6379", "10.0.0.2:6380"});
}

TEST_CASE("a majority of which one calls the primary down is none yet") {
  SentinelSearch search = search_of(3);
  search.answered(0, says(kOld, 1), kBegin);
  search.answered(1, says(kOld, 1, true), kBegin);
  CHECK_FALSE(search.enough(kBegin));
}

TEST_CASE("the search ends a short time after the first address, not after the first error") {
  SentinelSearch search = search_of(3);
  search.answered(0, fails("refused"), kBegin);
  CHECK(search.ends_at() == kDeadline);
  search.answered(1, says(kNew, 2), kBegin + 10ms);
  CHECK(search.ends_at() == kBegin + 10ms + SentinelSearch::kSettle);
  CHECK_FALSE(search.enough(kBegin + 10ms + SentinelSearch::kSettle - 1ns));
  CHECK(search.enough(kBegin + 10ms + SentinelSearch::kSettle));
}

TEST_CASE("a second address does not prolong the search") {
  SentinelSearch search = search_of(4);
  search.answered(1, says(kNew, 2), kBegin);
  search.answered(2, says(kOld, 1), kBegin + 50ms);
  CHECK(search.ends_at() == kBegin + SentinelSearch::kSettle);
}

TEST_CASE("the search ends at its deadline although nobody answered, or one answered late") {
  SentinelSearch search = search_of(2);
  CHECK_FALSE(search.enough(kDeadline - 1ns));
  CHECK(search.enough(kDeadline));
  search.answered(0, says(kNew, 1), kDeadline - 1ms);
  CHECK(search.ends_at() == kDeadline);
}

TEST_CASE("the search ends when all have answered or failed") {
  SentinelSearch search = search_of(2);
  search.answered(0, says(kNew, 1), kBegin);
  CHECK_FALSE(search.enough(kBegin));
  search.answered(1, fails("refused"), kBegin);
  CHECK(search.enough(kBegin));
}

TEST_CASE("votes rank before epochs, so a lone liar with a high epoch comes last") {
  SentinelSearch search = search_of(3);
  search.answered(0, says(kForeign, 999), kBegin);
  search.answered(1, says(kNew, 2), kBegin);
  search.answered(2, says(kNew, 3), kBegin);
  const auto found = search.finish();
  REQUIRE(found.size() == 2);
  CHECK(found[0].address == kNew);
  CHECK(found[0].votes == 2);
  CHECK(found[0].config_epoch == 3);
  CHECK(found[1].address == kForeign);
}

TEST_CASE("with equal votes the higher epoch comes first, and then the order of the URL") {
  SentinelSearch search = search_of(3);
  search.answered(0, says(kOld, 4), kBegin);
  search.answered(1, says(kNew, 5), kBegin);
  search.answered(2, says(kForeign, 4), kBegin);
  CHECK(ranked(search) == std::vector<std::string>{"10.0.0.2:6380", "10.0.0.1:6379", "203.0.113.9:6379"});
}

TEST_CASE("one dead and one lying: the honest sentinel's primary is among the candidates") {
  SentinelSearch search = search_of(3);
  search.answered(0, fails("refused"), kBegin);
  search.answered(1, says(kForeign, 7), kBegin);
  search.answered(2, says(kNew, 3), kBegin);
  CHECK(search.enough(kBegin));
  CHECK(ranked(search) == std::vector<std::string>{"203.0.113.9:6379", "10.0.0.2:6380"});
}

TEST_CASE("a sentinel has one vote, and its first answer counts") {
  SentinelSearch search = search_of(3);
  search.answered(0, says(kForeign, 1), kBegin);
  search.answered(0, says(kForeign, 1), kBegin);
  search.answered(0, says(kNew, 9), kBegin);
  CHECK_FALSE(search.enough(kBegin));
  const auto found = search.finish();
  REQUIRE(found.size() == 1);
  CHECK(found[0].votes == 1);
  CHECK(found[0].address == kForeign);
}

TEST_CASE("a new search forgets the former answers") {
  SentinelSearch search = search_of(1);
  search.answered(0, says(kOld, 1), kBegin);
  CHECK(search.finish().size() == 1);
  search.begin(kDeadline + 1s);
  CHECK(search.ends_at() == kDeadline + 1s);
  CHECK_FALSE(search.enough(kBegin));
  CHECK(search.finish().empty());
}

TEST_CASE("why nobody was found names every error; its code is that of a sentinel that was reached") {
  SentinelSearch search = search_of(4);
  search.answered(0, fails("refused", "a: no connection"), kBegin);
  search.answered(1, fails("sentinel_login", "b: it demands a password"), kBegin);
  search.answered(2, fails("unknown_primary", "c: no such name"), kBegin);
  CHECK(search.finish().empty());
  const Error why = search.why_nobody();
  CHECK(why.code == "sentinel_login");
  CHECK(why.text ==
        "1 of 4 sentinels did not answer in time; a: no connection; b: it demands a password; c: no such name");

  for (const char* code : {"refused", "unreachable", "timeout", "resolve", "disconnected"}) {
    SentinelSearch lost = search_of(2);
    lost.answered(0, fails(code, "a"), kBegin);
    lost.answered(1, fails("protocol", "b"), kBegin);
    static_cast<void>(lost.finish());
    CHECK(lost.why_nobody().code == "protocol");
    CHECK(lost.why_nobody().text == "a; b");
  }
  SentinelSearch silent = search_of(2);
  static_cast<void>(silent.finish());
  CHECK(silent.why_nobody().code == "timeout");
  CHECK(silent.why_nobody().text == "2 of 2 sentinels did not answer in time");
}

TEST_CASE("an address is read from GET-MASTER-ADDR-BY-NAME") {
  CHECK(primary_of(list({"10.0.0.2", "6380"})) == kNew);
  CHECK(primary_of(list({"fd00::7", "1"})) == HostPort{"fd00::7", 1});
  CHECK(primary_of(list({"redis-0.redis", "65535"})) == HostPort{"redis-0.redis", 65535});
}

TEST_CASE("what is no address is refused") {
  const std::string none = "*-1\r\n";
  REQUIRE_FALSE(primary_of(none));
  CHECK(primary_of(none).error().code == "unknown_primary");
  for (const std::string& bytes :
       {std::string("*0\r\n"), std::string("+OK\r\n"), std::string(":1\r\n"), list({"10.0.0.2"}),
        list({"10.0.0.2", "6380", "x"}), list({"", "6380"}), list({"h ost", "6380"}), list({"h\n", "6380"}),
        list({"10.0.0.2", "0"}), list({"10.0.0.2", "65536"}), list({"10.0.0.2", "-1"}), list({"10.0.0.2", "6380x"}),
        list({"10.0.0.2", ""}), list({std::string(256, 'h'), "1"}), std::string("*2\r\n:1\r\n:2\r\n")}) {
    CAPTURE(bytes);
    REQUIRE_FALSE(primary_of(bytes));
    CHECK(primary_of(bytes).error().code == "protocol");
  }
}

TEST_CASE("a sentinel's errors say what to do") {
  const std::vector<std::pair<std::string, std::string>> errors{
      {"-ERR No such master with that name\r\n", "unknown_primary"},
      {"-IDONTKNOW I don't know\r\n", "unknown_primary"},
      {"-NOAUTH Authentication required.\r\n", "sentinel_login"},
      {"-WRONGPASS invalid username-password pair\r\n", "sentinel_login"},
      {"-NOPERM User watch has no permissions to run the 'sentinel|master' command\r\n", "sentinel_login"},
      {"-ERR unknown command 'SENTINEL'\r\n", "protocol"}};
  for (const auto& [bytes, code] : errors) {
    CAPTURE(bytes);
    REQUIRE_FALSE(primary_of(bytes));
    CHECK(primary_of(bytes).error().code == code);
    REQUIRE_FALSE(view_of(bytes));
    CHECK(view_of(bytes).error().code == code);
  }
  CHECK(primary_of(errors[4].first).error().text.find("+sentinel|master") != std::string::npos);
  CHECK(primary_of(errors[5].first).error().text.find("is this a Sentinel?") != std::string::npos);
}

TEST_CASE("flags and epoch are read from SENTINEL MASTER") {
  const auto view = view_of(list({"name", "m", "ip", "x", "flags", "master", "config-epoch", "12", "quorum", "2"}));
  REQUIRE(view);
  CHECK(view->primary == kNew);
  CHECK(view->config_epoch == 12);
  CHECK_FALSE(view->down);
  CHECK(view_of(list({"flags", "s_down,master", "config-epoch", "0"}))->down);
  CHECK(view_of(list({"flags", "master,o_down", "config-epoch", "0"}))->down);
  CHECK_FALSE(view_of(list({"flags", "master,failover_in_progress", "config-epoch", "0"}))->down);
}

TEST_CASE("what is no view is refused, and an error of the address stays") {
  for (const auto& words : std::vector<std::vector<std::string>>{{},
                                                                 {"flags"},
                                                                 {"flags", "master"},
                                                                 {"config-epoch", "1"},
                                                                 {"flags", "slave", "config-epoch", "1"},
                                                                 {"flags", "masters", "config-epoch", "1"},
                                                                 {"flags", "", "config-epoch", "1"},
                                                                 {"flags", "master", "config-epoch", "-1"},
                                                                 {"flags", "master", "config-epoch", "x"},
                                                                 {"x", "flags", "master", "config-epoch", "1", "1"}}) {
    const auto view = view_of(list(words));
    REQUIRE_FALSE(view);
    CHECK(view.error().code == "protocol");
  }
  CHECK(view_of("*-1\r\n").error().code == "protocol");
  CHECK(view_of("+OK\r\n").error().code == "protocol");
  const auto kept = view_of(list({"flags", "master", "config-epoch", "1"}), failure("unknown_primary", "no"));
  CHECK(kept.error().code == "unknown_primary");
}

TEST_CASE("a message of +switch-master is for one name") {
  CHECK(read_switch("mymaster 10.0.0.1 6379 10.0.0.2 6380", "mymaster") == kNew);
  for (const char* message :
       {"other 10.0.0.1 6379 10.0.0.2 6380", "mymaster", "", "mymaster 10.0.0.1 6379 10.0.0.2",
        "mymaster 10.0.0.1 6379 10.0.0.2 6380 x", "mymaster 10.0.0.1 6379 10.0.0.2 x", "mymaster 1 2  6380",
        "mymaster 10.0.0.1 6379 10.0.0.2 0", "mymaste 10.0.0.1 6379 10.0.0.2 6380"}) {
    CAPTURE(message);
    CHECK_FALSE(read_switch(message, "mymaster"));
  }
}

}  // namespace
}  // namespace sluice::redis
