// Where positions are, and how much of the past is kept.
#include <doctest/doctest.h>

#include "tests/unit/server_sync/worlds.hpp"

namespace sluice::server::test {
namespace {

using Place = sync::History::Place;

sync::Step step(std::int64_t revision, std::size_t touched = 1) {
  sync::Step made{.at = at(revision), .touched = {}};
  for (std::size_t i = 0; i < touched; ++i) made.touched.push_back({policy_of("shop", "p"), "acme"});
  return made;
}

TEST_CASE("a position is told apart by number and chain") {
  sync::History history(at(10));
  CHECK(history.find(at(10)) == Place::head);
  for (std::int64_t revision = 11; revision <= 700; ++revision) history.append(step(revision));
  CHECK(history.find(at(700)) == Place::head);
  CHECK(history.find(at(701)) == Place::above);
  CHECK(history.find(at(9)) == Place::forgotten);
  for (const std::int64_t revision : {10, 11, 266, 267, 300, 699}) {
    CHECK(history.find(at(revision)) == Place::within);
    CHECK(history.find({.revision = revision, .chain = std::string(64, 'f')}) == Place::foreign);
  }
  CHECK(history.find({.revision = 700, .chain = std::string(64, 'f')}) == Place::foreign);
  for (const auto& here : {at(700), at(10), at(9)}) CHECK_FALSE(history.denies(here));
  CHECK(history.denies(at(701)));
  CHECK(history.denies({.revision = 20, .chain = std::string(64, 'f')}));
}

TEST_CASE("the oldest revisions are forgotten, by their number and by what they touched") {
  sync::History history(at(0), 1000, 5000);
  for (std::int64_t revision = 1; revision <= 3000; ++revision) history.append(step(revision));
  CHECK(history.steps() <= 1000);
  CHECK(history.steps() >= 1000 - 256);
  CHECK(history.base().revision + static_cast<std::int64_t>(history.steps()) == 3000);
  CHECK(history.find(history.base()) == Place::within);
  history.append(step(3001, 4900));
  CHECK(history.touched() <= 5000);
  CHECK(history.find(at(3000)) == Place::within);
  history.append(step(3002, 6000));
  CHECK(history.find(at(3001)) == Place::forgotten);
  CHECK(history.find(at(3002)) == Place::head);
}

TEST_CASE("a copy does not change with what it was copied from") {
  sync::History history(at(0));
  for (std::int64_t revision = 1; revision <= 300; ++revision) history.append(step(revision));
  const sync::History copy = history;
  history.append(step(301));
  CHECK(copy.head() == at(300));
  std::int64_t seen = 298;
  copy.for_each_since(298, [&](const sync::Step& found) { return found.at.revision == ++seen; });
  CHECK(seen == 300);
}

TEST_CASE("a revision whose chain nobody knows is nobody's position") {
  sync::History history(at(0));
  history.append({.at = {.revision = 1, .chain = {}}, .touched = {}});
  history.append(step(2));
  CHECK(history.find(at(1)) == Place::foreign);
  CHECK(history.find(at(0)) == Place::within);
}

}  // namespace
}  // namespace sluice::server::test
