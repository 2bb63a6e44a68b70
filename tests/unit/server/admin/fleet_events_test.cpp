// What an event stream of the fleet sends: the whole list first, then what changes, and nothing twice.
#include "server/admin/fleet_events.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace sluice::server::admin {
namespace {

// An agent's document is its mark, so that a test sees which state was sent.
ReadAgent agent(const std::string& id, const std::string& mark) {
  return {.key = id, .identity = '"' + id + '"', .document = '"' + id + '=' + mark + '"', .mark = mark};
}

ReadFleet fleet(std::vector<ReadAgent> agents, std::int64_t newest = 1) {
  return {.agents = std::move(agents), .groups = {}, .newest = newest};
}

FleetEvents new_reader(std::string last_event_id = "") {
  return FleetEvents({.last_event_id = std::move(last_event_id), .revision = std::nullopt, .agents = true});
}

// All that the reader has to send now. The enforcement is left out.
std::string sent(FleetEvents& reader, const FleetImagePtr& image) {
  reader.update(image);
  std::string all;
  for (std::string text = reader.next(); !text.empty(); text = reader.next()) {
    if (text.starts_with("event: agents\n")) all += text;
  }
  return all;
}

TEST_CASE("the whole list comes first, then only what came, changed or left") {
  const auto first = FleetImage::begin("e", fleet({agent("a", "1"), agent("b", "1"), agent("c", "1")}));
  FleetEvents reader = new_reader();
  CHECK(sent(reader, first) ==
        "event: agents\nid: e.1\n"
        "data: {\"whole\":true,\"more\":false,\"items\":[\"a=1\",\"b=1\",\"c=1\"],\"gone\":[]}\n\n");
  CHECK(sent(reader, first).empty());
  CHECK(sent(reader, FleetImage::after(first, fleet({agent("a", "1"), agent("b", "1"), agent("c", "1")}))).empty());
  const auto second = FleetImage::after(first, fleet({agent("b", "2"), agent("c", "1"), agent("d", "1")}));
  CHECK(sent(reader, second) ==
        "event: agents\nid: e.2\n"
        "data: {\"whole\":false,\"more\":false,\"items\":[\"b=2\",\"d=1\"],\"gone\":[\"a\"]}\n\n");
}

TEST_CASE("changes that a reader was too slow for are folded, and the last state counts") {
  auto image = FleetImage::begin("e", fleet({agent("a", "1"), agent("b", "1")}));
  FleetEvents reader = new_reader();
  sent(reader, image);
  image = FleetImage::after(image, fleet({agent("a", "2"), agent("b", "1")}));
  image = FleetImage::after(image, fleet({agent("b", "1")}));
  image = FleetImage::after(image, fleet({agent("a", "3"), agent("b", "1")}));
  CHECK(sent(reader, image) ==
        "event: agents\nid: e.4\ndata: {\"whole\":false,\"more\":false,\"items\":[\"a=3\"],\"gone\":[]}\n\n");
}

TEST_CASE("a reader that comes back goes on from its last event, if the image is the same") {
  const auto first = FleetImage::begin("e", fleet({agent("a", "1"), agent("b", "1")}));
  const auto second = FleetImage::after(first, fleet({agent("a", "2"), agent("b", "1")}));
  FleetEvents same = new_reader("e.1");
  CHECK(sent(same, second) ==
        "event: agents\nid: e.2\ndata: {\"whole\":false,\"more\":false,\"items\":[\"a=2\"],\"gone\":[]}\n\n");
  FleetEvents current = new_reader("e.2");
  CHECK(sent(current, second).empty());
  for (const char* unknown : {"f.1", "e.3", "e.", "e.x", "e", ".", "e.1x", "e.99999999999999999999999"}) {
    FleetEvents other = new_reader(unknown);
    CAPTURE(unknown);
    CHECK(sent(other, second).find("\"whole\":true") != std::string::npos);
  }
}

TEST_CASE("a long list comes in pieces, of which only the last has an id") {
  std::vector<ReadAgent> many;
  for (std::size_t i = 0; i < FleetEvents::kPerEvent + 1; ++i) many.push_back(agent(fmt::format("{:04}", i), "1"));
  const auto image = FleetImage::begin("e", fleet(many));
  FleetEvents reader = new_reader("f.7");
  reader.update(image);
  const std::string first = reader.next();
  // The empty id takes back the one of another server's list, from which the reader must not go on now.
  CHECK(first.starts_with("event: agents\nid\ndata: {\"whole\":true,\"more\":true,"));
  // What changes meanwhile comes afterwards.
  many[0].mark = "2";
  many[0].document = "\"0000=2\"";
  reader.update(FleetImage::after(image, fleet(many)));
  CHECK(reader.next() ==
        fmt::format("event: agents\nid: e.1\ndata: {{\"whole\":false,\"more\":false,\"items\":[\"{:04}=1\"],"
                    "\"gone\":[]}}\n\n",
                    FleetEvents::kPerEvent));
  CHECK(reader.next() ==
        "event: agents\nid: e.2\ndata: {\"whole\":false,\"more\":false,\"items\":[\"0000=2\"],\"gone\":[]}\n\n");
}

TEST_CASE("a reader that has not seen a forgotten agent leave takes the whole list") {
  std::vector<ReadAgent> many;
  for (std::size_t i = 0; i < FleetImage::kMaxGone + 1; ++i) many.push_back(agent(fmt::format("{:05}", i), "1"));
  const auto first = FleetImage::begin("e", fleet(many));
  const std::vector<ReadAgent> without_one(many.begin() + 1, many.end());
  const auto second = FleetImage::after(first, fleet(without_one));
  const auto third = FleetImage::after(second, fleet({}));
  CHECK(third->gone().size() == FleetImage::kMaxGone);
  FleetEvents old = new_reader("e.1");
  CHECK(sent(old, third) ==
        "event: agents\nid: e.3\ndata: {\"whole\":true,\"more\":false,\"items\":[],\"gone\":[]}\n\n");
  FleetEvents newer = new_reader("e.2");
  CHECK(sent(newer, third).find("\"whole\":false") != std::string::npos);
}

TEST_CASE("enforcement is told first and when it changes, of the newest revision or of the one that was asked for") {
  EnforcementGroups groups{{.missing = false, .enforced = 7, .refusing = false, .foreign = false, .agents = 2},
                           {.missing = false, .enforced = 6, .refusing = true, .foreign = false, .agents = 1},
                           {.missing = true, .enforced = 7, .refusing = false, .foreign = false, .agents = 4},
                           {.missing = false, .enforced = {}, .refusing = false, .foreign = true, .agents = 8},
                           {.missing = false, .enforced = {}, .refusing = false, .foreign = false, .agents = 16}};
  const auto image = FleetImage::begin("e", {.agents = {}, .groups = groups, .newest = 7});
  FleetEvents newest({.last_event_id = "", .revision = std::nullopt, .agents = false});
  newest.update(image);
  CHECK(newest.next() ==
        "event: enforcement\ndata: {\"newest\":7,\"revision\":7,\"enforced_by_all\":false,\"agents\":{\"total\":31,"
        "\"enforcing\":2,\"lagging\":16,\"missing\":4,\"refusing\":1,\"foreign\":8}}\n\n");
  CHECK(newest.next().empty());
  FleetEvents older({.last_event_id = "", .revision = 6, .agents = false});
  older.update(image);
  CHECK(older.next().find("\"enforcing\":3,\"lagging\":16,\"missing\":4,\"refusing\":0") != std::string::npos);
  groups.resize(1);
  newest.update(FleetImage::after(image, {.agents = {}, .groups = groups, .newest = 7}));
  CHECK(newest.next().find("\"enforced_by_all\":true") != std::string::npos);
  newest.update(FleetImage::after(image, {.agents = {}, .groups = {}, .newest = 7}));
  CHECK(newest.next().find("\"enforced_by_all\":false") != std::string::npos);
}

TEST_CASE("old data is said, and that it is new again") {
  CHECK(stale_event("\"away\"\n") == "event: stale\ndata: {\"stale\":true,\"detail\":\"\\\"away\\\"\\n\"}\n\n");
  CHECK(stale_event("") == "event: stale\ndata: {\"stale\":false,\"detail\":null}\n\n");
}

}  // namespace
}  // namespace sluice::server::admin
