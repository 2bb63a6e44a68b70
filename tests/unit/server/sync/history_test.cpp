// Where positions are, and how much of the past is kept.
#include <doctest/doctest.h>

#include "tests/unit/server/sync/state_writer.hpp"

namespace sluice::server::test {
namespace {

using Relation = sync::History::Relation;

sync::RevisionChanges changes_at(std::int64_t revision, std::size_t objects = 1) {
  sync::RevisionChanges made{.at = at(revision), .objects = {}};
  for (std::size_t i = 0; i < objects; ++i) made.objects.push_back({policy_of("shop", "p"), "acme"});
  return made;
}

TEST_CASE("a position is told apart by number and chain") {
  sync::History history(at(10));
  CHECK(history.locate(at(10)) == Relation::head);
  for (std::int64_t revision = 11; revision <= 700; ++revision) history.append(changes_at(revision));
  CHECK(history.locate(at(700)) == Relation::head);
  CHECK(history.locate(at(701)) == Relation::ahead);
  CHECK(history.locate(at(9)) == Relation::too_old);
  for (const std::int64_t revision : {10, 11, 266, 267, 300, 699}) {
    CHECK(history.locate(at(revision)) == Relation::within);
    CHECK(history.locate({.revision = revision, .chain = std::string(64, 'f')}) == Relation::foreign);
  }
  CHECK(history.locate({.revision = 700, .chain = std::string(64, 'f')}) == Relation::foreign);
  for (const auto& here : {at(700), at(10), at(9)}) CHECK_FALSE(history.excludes(here));
  CHECK(history.excludes(at(701)));
  CHECK(history.excludes({.revision = 20, .chain = std::string(64, 'f')}));
}

TEST_CASE("the oldest revisions are forgotten, by their number and by what they touched") {
  sync::History history(at(0), 1000, 5000);
  for (std::int64_t revision = 1; revision <= 3000; ++revision) history.append(changes_at(revision));
  CHECK(history.revisions() <= 1000);
  CHECK(history.revisions() >= 1000 - 256);
  CHECK(history.base().revision + static_cast<std::int64_t>(history.revisions()) == 3000);
  CHECK(history.locate(history.base()) == Relation::within);
  history.append(changes_at(3001, 4900));
  CHECK(history.objects() <= 5000);
  CHECK(history.locate(at(3000)) == Relation::within);
  history.append(changes_at(3002, 6000));
  CHECK(history.locate(at(3001)) == Relation::too_old);
  CHECK(history.locate(at(3002)) == Relation::head);
}

TEST_CASE("a copy does not change with what it was copied from") {
  sync::History history(at(0));
  for (std::int64_t revision = 1; revision <= 300; ++revision) history.append(changes_at(revision));
  const sync::History copy = history;
  history.append(changes_at(301));
  CHECK(copy.head() == at(300));
  std::int64_t seen = 298;
  copy.for_each_since(298, [&](const sync::RevisionChanges& found) { return found.at.revision == ++seen; });
  CHECK(seen == 300);
}

TEST_CASE("a revision whose chain nobody knows is nobody's position") {
  sync::History history(at(0));
  history.append({.at = {.revision = 1, .chain = {}}, .objects = {}});
  history.append(changes_at(2));
  CHECK(history.locate(at(1)) == Relation::foreign);
  CHECK(history.locate(at(0)) == Relation::within);
}

}  // namespace
}  // namespace sluice::server::test
