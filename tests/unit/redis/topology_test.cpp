// When a client asks for the slot map of its Cluster, and whom.
#include "common/redis/topology.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "common/redis/reply_reader.hpp"

namespace sluice::redis::test {
namespace {

using namespace std::chrono_literals;
using TimePoint = Topology::TimePoint;

constexpr TimePoint kStart{1000s};
constexpr auto kNever = TimePoint::max();
const std::vector<HostPort> kNodes{{"a", 1}, {"b", 2}, {"c", 3}};

TEST_CASE("the map is asked for at once, and then only in doubt") {
  Topology topology;
  CHECK(topology.next_question() <= kStart);
  REQUIRE(topology.ask(kNodes, kStart));
  CHECK(topology.next_question() == kNever);
  topology.answered({});
  CHECK(topology.next_question() == kNever);
  topology.doubt();
  CHECK(topology.next_question() == kStart + Topology::kAskEvery);
}

TEST_CASE("one question at a time, whatever raises a doubt meanwhile") {
  Topology topology;
  topology.ask(kNodes, kStart);
  topology.doubt();
  CHECK(topology.next_question() == kNever);
  topology.answered({});
  CHECK(topology.next_question() == kStart + Topology::kAskEvery);  // what was doubted may be newer than the answer
}

TEST_CASE("an unanswered question is repeated, to the next node") {
  Topology topology;
  CHECK(topology.ask(kNodes, kStart) == 0);
  topology.not_answered();
  CHECK(topology.next_question() == kStart + Topology::kAskEvery);
  CHECK(topology.ask(kNodes, kStart + 1s) == 1);
  topology.not_answered();
  CHECK(topology.ask(kNodes, kStart + 2s) == 2);
  topology.not_answered();
  CHECK(topology.ask(kNodes, kStart + 3s) == 0);
}

TEST_CASE("the node that knows better is asked first, once") {
  Topology topology;
  topology.doubt(HostPort{"c", 3});
  topology.doubt();  // does not forget it
  CHECK(topology.ask(kNodes, kStart) == 2);
  topology.not_answered();
  CHECK(topology.ask(kNodes, kStart + 1s) == 0);
  topology.not_answered();
  topology.doubt(HostPort{"d", 4});  // cannot be asked
  CHECK(topology.ask(kNodes, kStart + 2s) == 1);
}

TEST_CASE("with nobody to ask it tries again later, or as soon as there is somebody") {
  Topology topology;
  CHECK(topology.ask({}, kStart) == std::nullopt);
  CHECK(topology.next_question() == kStart + Topology::kAskEvery);
  topology.reachable();
  CHECK(topology.next_question() <= kStart);
  CHECK(topology.ask(kNodes, kStart + 1ms) == 0);
  topology.not_answered();
  topology.reachable();  // there was somebody: the pace is kept
  CHECK(topology.next_question() == kStart + 1ms + Topology::kAskEvery);
}

TEST_CASE("a map with slots that nobody has is asked for again, at a slower pace, until all have a primary") {
  const auto map_of = [](int last) {
    ReplyReader reader;
    reader.feed("*1\r\n*3\r\n:0\r\n:" + std::to_string(last) + "\r\n*2\r\n$1\r\na\r\n:1\r\n");
    return *SlotMap::read(**reader.next(), {"a", 1});
  };
  Topology topology;
  topology.ask(kNodes, kStart);
  topology.answered(map_of(16'382));
  CHECK_FALSE(topology.map().covers_all_slots());
  CHECK(topology.next_question() == kStart + Topology::kAskIncompleteEvery);
  topology.doubt();  // a reason to ask sooner
  CHECK(topology.next_question() == kStart + Topology::kAskEvery);
  topology.ask(kNodes, kStart + 1s);
  CHECK(topology.next_question() == kNever);
  topology.answered(map_of(16'383));
  CHECK(topology.map().covers_all_slots());
  CHECK(topology.next_question() == kNever);
}

}  // namespace
}  // namespace sluice::redis::test
