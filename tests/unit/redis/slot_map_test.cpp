// Slots of keys, the reply to CLUSTER SLOTS, and redirections.
#include "common/redis/slot_map.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/redis/command_writer.hpp"
#include "common/redis/reply_reader.hpp"

namespace sluice::redis::test {
namespace {

const HostPort kAsked{"10.0.0.9", 7000};

Result<SlotMap> read(std::string_view bytes) {
  ReplyReader reader;
  reader.feed(bytes);
  return SlotMap::read(**reader.next(), kAsked);
}

std::string bulk(std::string_view text) {
  std::string out;
  CommandWriter(out).bulk(text);
  return out;
}
// A node as Redis 7 writes it: host, port, id, and names with values.
std::string node(const std::string& host, int port, std::vector<std::string> metadata = {}) {
  std::string out = "*4\r\n" + host + ":" + std::to_string(port) + "\r\n" + bulk("id") + "*" +
                    std::to_string(metadata.size()) + "\r\n";
  for (const std::string& each : metadata) out += bulk(each);
  return out;
}
std::string range(int first, int last, const std::vector<std::string>& nodes) {
  std::string out = "*" + std::to_string(2 + nodes.size()) + "\r\n:" + std::to_string(first) +
                    "\r\n:" + std::to_string(last) + "\r\n";
  for (const std::string& each : nodes) out += each;
  return out;
}
std::string all(const std::vector<std::string>& ranges) {
  std::string out = "*" + std::to_string(ranges.size()) + "\r\n";
  for (const std::string& each : ranges) out += each;
  return out;
}

// Values that `CLUSTER KEYSLOT` of Redis 7.0 gives.
TEST_CASE("the slot of a key is that of its hash tag") {
  CHECK(slot_of("") == 0);
  CHECK(slot_of("123456789") == 12739);
  CHECK(slot_of("foo") == 12182);
  CHECK(slot_of("{foo}") == 12182);
  CHECK(slot_of("sl:{foo}:p=orders") == 12182);
  CHECK(slot_of("{foo}{bar}") == 12182);
  CHECK(slot_of("a{}b") != slot_of(""));        // an empty tag is none: the whole key counts
  CHECK(slot_of("foo}{") == slot_of("foo}{"));  // no closing brace
  CHECK(slot_of("{{foo}}") == slot_of("x{{foo}y"));
  CHECK(slot_of("{foo") != slot_of("foo"));
}

TEST_CASE("each slot has the primary of its range") {
  const auto map =
      read(all({range(5461, 10922, {node(bulk("10.0.0.2"), 7001), node(bulk("10.0.0.5"), 7004)}),
                range(0, 5460, {node(bulk("10.0.0.1"), 7000)}), range(10924, 16383, {node(bulk("10.0.0.1"), 7000)})}));
  REQUIRE(map);
  CHECK(map->primaries() == std::vector<HostPort>{{"10.0.0.1", 7000}, {"10.0.0.2", 7001}});
  CHECK(map->owner(0) == 0);
  CHECK(map->owner(5460) == 0);
  CHECK(map->owner(5461) == 1);
  CHECK(map->owner(10922) == 1);
  CHECK(map->owner(10923) == std::nullopt);
  CHECK(map->owner(16383) == 0);
}

TEST_CASE("a node without a host is named by the host that was asked, or by its address") {
  const auto map = read(all({range(0, 1, {node("$-1\r\n", 7000)}), range(2, 3, {node(bulk(""), 7001)}),
                             range(4, 5, {node(bulk("?"), 7002, {"hostname", "", "ip", "10.0.0.3"})}),
                             range(6, 7, {node(bulk("redis-2.shop.svc"), 7003)})}));
  REQUIRE(map);
  CHECK(map->primaries() ==
        std::vector<HostPort>{{"10.0.0.9", 7000}, {"10.0.0.9", 7001}, {"10.0.0.3", 7002}, {"redis-2.shop.svc", 7003}});
}

TEST_CASE("a map without ranges has no primaries") {
  const auto map = read("*0\r\n");
  REQUIRE(map);
  CHECK(map->empty());
  CHECK(map->owner(0) == std::nullopt);
  CHECK(SlotMap().owner(16383) == std::nullopt);
}

TEST_CASE("a reply that is no slot map is refused") {
  const std::string good = node(bulk("h"), 7000);
  for (const std::string& bad :
       {std::string("+OK\r\n"), all({"*2\r\n:0\r\n:1\r\n"}), all({range(0, 16384, {good})}),
        all({range(-1, 5, {good})}), all({range(5, 4, {good})}), all({range(0, 1, {node(bulk("h"), 0)})}),
        all({range(0, 1, {node(bulk("h"), 65536)})}), all({range(0, 1, {node(bulk("no host"), 7000)})}),
        all({range(0, 1, {"*1\r\n" + bulk("h")})})}) {
    CAPTURE(bad);
    const auto map = read(bad);
    REQUIRE(!map);
    CHECK(map.error().code == "protocol");
  }
}

TEST_CASE("redirections") {
  const auto of = [](std::string_view text) {
    return read_redirect({.type = Reply::Type::error, .text = text, .elements = {}}, kAsked);
  };
  const auto moved = of("MOVED 3999 10.0.0.2:7001");
  REQUIRE(moved);
  CHECK(moved->node == HostPort{"10.0.0.2", 7001});
  CHECK_FALSE(moved->asking);
  const auto ask = of("ASK 3999 redis-1.shop.svc:7002");
  REQUIRE(ask);
  CHECK(ask->node == HostPort{"redis-1.shop.svc", 7002});
  CHECK(ask->asking);
  REQUIRE(of("MOVED 1 :7003"));
  CHECK(of("MOVED 1 :7003")->node == HostPort{"10.0.0.9", 7003});
  REQUIRE(of("MOVED 1 fd00::7:7003"));
  CHECK(of("MOVED 1 fd00::7:7003")->node == HostPort{"fd00::7", 7003});

  CHECK_FALSE(of("MOVED 1 ?:7003"));
  CHECK_FALSE(of("MOVED 1 host"));
  CHECK_FALSE(of("MOVED 1 host:"));
  CHECK_FALSE(of("MOVED 1 host:0"));
  CHECK_FALSE(of("MOVED 1 host:70000"));
  CHECK_FALSE(of("CLUSTERDOWN Hash slot not served"));
  CHECK_FALSE(read_redirect({.type = Reply::Type::status, .text = "MOVED 1 h:1", .elements = {}}, kAsked));
}

}  // namespace
}  // namespace sluice::redis::test
