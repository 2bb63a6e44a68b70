#include "common/sync/watch_line.hpp"

#include <doctest/doctest.h>

#include <fmt/core.h>

namespace sluice::sync {
namespace {

using namespace std::chrono_literals;

const Position kHead{.revision = 7, .chain = std::string(64, 'a')};

std::string line(std::string_view more) { return fmt::format(R"({{"revision":7,"chain":"{}"{}}})", kHead.chain, more); }

std::string pointer_of_fault(std::string_view text) {
  const auto parsed = parse_watch_line(text);
  if (parsed) return "none";
  return parsed.error().size() == 1 ? parsed.error()[0].pointer : "several";
}

TEST_CASE("both kinds of lines survive being written and read") {
  const Announcement announcement{.head = kHead, .spread = 250ms};
  const Announcement traced{
      .head = kHead, .spread = 0ms, .traced = TracedChanges("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")};
  Announcement several = traced;
  for (int i = 0; i < 40; ++i) several.traced.add(fmt::format("trace-{}", i));
  const Heartbeat heartbeat{
      .head = kHead, .live_agents = LiveAgents{{"*", 3}, {"arcade", 0}, {"shop", 12}}, .reconnect_max = 8s};
  const Heartbeat nobody{.head = kHead, .live_agents = LiveAgents{}, .reconnect_max = {}};
  const Heartbeat bare{.head = kHead, .live_agents = {}, .reconnect_max = {}};
  for (const WatchLine& wanted : {WatchLine(announcement), WatchLine(traced), WatchLine(several), WatchLine(heartbeat),
                                  WatchLine(nobody), WatchLine(bare)}) {
    std::string text = std::visit([](const auto& is) { return write_line(is); }, wanted);
    REQUIRE(text.ends_with('\n'));
    text.pop_back();
    CHECK(text.find('\n') == std::string::npos);
    const auto read = parse_watch_line(text);
    REQUIRE(read);
    CHECK(*read == wanted);
  }
}

TEST_CASE("what a line leaves out has its default, and what this version does not know is passed over") {
  const auto read = parse_watch_line(line(R"(,"why":["x"],"heartbeat":null)"));
  REQUIRE(read);
  CHECK(*read == WatchLine(Announcement{.head = kHead, .spread = 0ms}));
}

TEST_CASE("a trace that cannot be read is no reason to refuse a line") {
  for (const std::string& more : {std::string(R"(,"traceparent":7)"), std::string(R"(,"traceparent":null)"),
                                  fmt::format(R"(,"traceparent":"{}")", std::string(kMaxTraceparent + 1, 'a'))}) {
    const auto read = parse_watch_line(line(more));
    REQUIRE(read);
    CHECK(*read == WatchLine(Announcement{.head = kHead, .spread = 0ms}));
  }
}

TEST_CASE("of many traced changes the newest are kept, in their order, and the others counted") {
  TracedChanges changes;
  for (int i = 0; i < 40; ++i) changes.add(fmt::format("trace-{}", i));
  CHECK(changes.newest() == "trace-39");
  REQUIRE(changes.earlier().size() == TracedChanges::kMostEarlier);
  CHECK(changes.earlier().front() == "trace-7");
  CHECK(changes.earlier().back() == "trace-38");
  CHECK(changes.dropped() == 7);
  TracedChanges newer("trace-40");
  newer.add_dropped(3);
  changes.add(newer);
  CHECK(changes.newest() == "trace-40");
  CHECK(changes.earlier().front() == "trace-8");
  CHECK(changes.dropped() == 11);
  changes.add("");
  CHECK(changes.newest() == "trace-40");
}

TEST_CASE("earlier traces that cannot be read are passed over") {
  for (const char* const more : {R"(,"earlier":"x")", R"(,"earlier":[7,null,[]])", R"(,"earlier_dropped":-1)",
                                 R"(,"earlier_dropped":"1")", R"(,"earlier_dropped":1.5)"}) {
    const auto read = parse_watch_line(line(more));
    REQUIRE(read);
    CHECK(*read == WatchLine(Announcement{.head = kHead, .spread = 0ms}));
  }
}

TEST_CASE("an announcement of a change that is not traced says nothing of traces") {
  CHECK(write_line(Announcement{.head = kHead, .spread = 0ms}).find("trace") == std::string::npos);
}

TEST_CASE("a line's faults name the member") {
  CHECK(pointer_of_fault("") == "");
  CHECK(pointer_of_fault("[]") == "");
  CHECK(pointer_of_fault(R"({"revision":7})") == "/chain");
  CHECK(pointer_of_fault(line(R"(,"spread_ms":-1)")) == "/spread_ms");
  CHECK(pointer_of_fault(line(R"(,"spread_ms":60001)")) == "/spread_ms");
  CHECK(pointer_of_fault(line(R"(,"heartbeat":1)")) == "/heartbeat");
  CHECK(pointer_of_fault(line(R"(,"heartbeat":true,"tenants":{"Shop":1})")) == "/tenants/Shop");
  CHECK(pointer_of_fault(line(R"(,"heartbeat":true,"tenants":{"**":1})")) == "/tenants/**");
  CHECK(pointer_of_fault(line(R"(,"heartbeat":true,"tenants":{"shop":-1})")) == "/tenants/shop");
  CHECK(pointer_of_fault(line(R"(,"heartbeat":true,"tenants":{"shop":1,"shop":2})")) == "/tenants/shop");
  CHECK(pointer_of_fault(line(R"(,"heartbeat":true,"tenants":[])")) == "/tenants");
  CHECK(pointer_of_fault(line(R"(,"heartbeat":true,"reconnect_max_ms":0)")) == "/reconnect_max_ms");
}

TEST_CASE("a stream is cut into lines however it arrives") {
  const std::string stream = "a\n\nbcd\r\n\r\ne\n";
  for (std::size_t step = 1; step <= stream.size(); ++step) {
    LineSplitter splitter;
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      REQUIRE(splitter.feed(std::string_view(stream).substr(at, step), lines));
    }
    CHECK(lines == std::vector<std::string>{"a", "bcd", "e"});
    CHECK(splitter.unfinished() == 0);
  }
  LineSplitter splitter;
  std::vector<std::string> lines;
  REQUIRE(splitter.feed("a\nbc", lines));
  CHECK(splitter.unfinished() == 2);
}

TEST_CASE("a line that does not end is given up before it fills the memory") {
  LineSplitter splitter;
  std::vector<std::string> lines;
  const std::string part(std::size_t{1} << 20, 'x');
  std::size_t fed = 0;
  while (splitter.feed(part, lines)) REQUIRE(++fed < 100);
  CHECK(fed == kMaxWatchLineBytes / part.size());
  CHECK(splitter.feed("y", lines).error().code == "watch_line_too_long");
}

}  // namespace
}  // namespace sluice::sync
