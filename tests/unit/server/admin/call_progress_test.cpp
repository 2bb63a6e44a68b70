// Whether a call may commit, and what its client is told when it is given up.
#include <doctest/doctest.h>

#include "server/admin/call_progress.hpp"

using namespace sluice::server;
using Outcome = admin::CallProgress::Outcome;

TEST_CASE("a call that is given up in the queue never begins") {
  admin::CallProgress progress;
  CHECK(progress.give_up().outcome == Outcome::nothing_changed);
  CHECK_FALSE(progress.begin());
}

TEST_CASE("a call that is given up before its COMMIT never commits, nor tries again") {
  admin::CallProgress progress;
  REQUIRE(progress.begin());
  REQUIRE(progress.attempt(nullptr));
  CHECK(progress.give_up().outcome == Outcome::nothing_changed);
  CHECK_FALSE(progress.may_commit());
  CHECK_FALSE(progress.attempt(nullptr));
  CHECK_FALSE(progress.finish());
}

TEST_CASE("a call that is given up after its COMMIT was sent is in doubt, and does not try again") {
  admin::CallProgress progress;
  REQUIRE(progress.begin());
  REQUIRE(progress.attempt(nullptr));
  REQUIRE(progress.may_commit());
  CHECK(progress.give_up().outcome == Outcome::in_doubt);
  CHECK_FALSE(progress.attempt(nullptr));
  CHECK_FALSE(progress.finish());
}

TEST_CASE("a call whose COMMIT failed is not in doubt while it tries again") {
  admin::CallProgress progress;
  REQUIRE(progress.begin());
  REQUIRE(progress.attempt(nullptr));
  REQUIRE(progress.may_commit());
  REQUIRE(progress.attempt(nullptr));
  CHECK(progress.give_up().outcome == Outcome::nothing_changed);
  CHECK_FALSE(progress.may_commit());
}

TEST_CASE("a call that has ended is not given up, because its answer is on its way") {
  admin::CallProgress progress;
  REQUIRE(progress.begin());
  REQUIRE(progress.attempt(nullptr));
  REQUIRE(progress.may_commit());
  CHECK(progress.finish());
  CHECK(progress.give_up().outcome == Outcome::finished);
}
