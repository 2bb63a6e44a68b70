// The audit trail is verified step by step: the steps together find what verify() finds, however small they are.
#include "server/audit/steps.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "tests/integration/audit/store.hpp"

namespace sluice::test {
namespace {

using server::audit::ChainFault;
using server::audit::StepOptions;
using server::audit::StepProgress;
using server::audit::StepResult;
using server::postgres::Scope;
using server::postgres::Transaction;

struct Steps {
  Store store;
  int taken = 0;

  // Acme's rows 4 to 13.
  Steps() {
    Writer writer(store.url());
    for (int i = 0; i < 10; ++i) writer.create_plan("shop", fmt::format("p{}", i), 1);
  }

  StepResult step(const std::optional<StepProgress>& from, StepOptions options = {},
                  const Scope& scope = Scope::everything("test")) {
    const auto connection = server::postgres::connect({.url = store.url()});
    Transaction tx(*connection);
    tx.use_one_snapshot();
    tx.enter(scope);
    return server::audit::verify_step(tx, from, options);
  }

  // `between`: is called after each step.
  StepResult all(StepOptions options = {}, const std::function<void(const StepResult&)>& between = {}) {
    StepResult result;
    std::optional<StepProgress> from;
    for (taken = 0; !result.complete; ++taken) {
      REQUIRE(taken < 100);
      result = step(from, options);
      from = result.progress;
      if (between) between(result);
    }
    return result;
  }
};

TEST_CASE("a whole trail is whole, in one step or in many") {
  Steps steps;
  const StepResult once = steps.all();
  CHECK(steps.taken == 1);
  CHECK_FALSE(once.broken);
  CHECK(once.progress.chains == 3);
  CHECK(once.progress.rows == once.total);
  CHECK(once.progress.rows > 13);
  CHECK(once.progress.first_us > 0);
  CHECK(once.progress.first_us <= once.progress.last_us);
  const StepResult many = steps.all({.only = {}, .max_rows = 1});
  CHECK(steps.taken > 2);
  CHECK_FALSE(many.broken);
  CHECK(many.progress.chains == 3);
  CHECK(many.progress.rows == once.progress.rows);
  CHECK(many.progress.first_us == once.progress.first_us);
}

TEST_CASE("chains longer than one reading are read to their ends") {
  Steps steps;
  Writer writer(steps.store.url());
  for (int i = 0; i < 300; ++i) writer.update(plan_key("shop", "p0"), plan_document("p0", i + 2));
  const StepResult result = steps.all({.only = "acme", .max_rows = 100});
  CHECK_FALSE(result.broken);
  CHECK(result.progress.rows == 313);
  CHECK(result.total == 313);
  CHECK(steps.taken >= 2);
}

TEST_CASE("the first bad row is named with what it says") {
  Steps steps;
  steps.store.tamper("UPDATE audit SET actor_id = 'somebody' WHERE organization_id = 'acme' AND seq = 6");
  for (const std::int64_t rows : {1, 20'000}) {
    const StepResult result = steps.all({.only = {}, .max_rows = rows});
    REQUIRE(result.broken);
    CHECK(result.broken->organization_id == "acme");
    CHECK(result.broken->fault.kind == ChainFault::Kind::changed);
    CHECK(result.broken->fault.seq == 6);
    CHECK(result.broken->kind == "plan");
    CHECK(result.broken->object_id == "p2");
    CHECK(result.broken->made_at_us > 0);
  }
}

TEST_CASE("missing, cut off and added rows are found, and say nothing of an object") {
  const std::pair<const char*, ChainFault::Kind> changes[] = {
      {"DELETE FROM audit WHERE organization_id = 'acme' AND seq = 7", ChainFault::Kind::missing},
      {"DELETE FROM audit WHERE organization_id = 'acme' AND seq > 11", ChainFault::Kind::truncated},
      {"DELETE FROM audit WHERE organization_id = 'acme'", ChainFault::Kind::truncated},
      {"DELETE FROM audit_heads WHERE organization_id = 'acme'", ChainFault::Kind::head},
      {"UPDATE audit_heads SET seq = 9 WHERE organization_id = 'acme'", ChainFault::Kind::added}};
  for (const auto& [sql, kind] : changes) {
    Steps steps;
    steps.store.tamper(sql);
    const StepResult result = steps.all();
    REQUIRE(result.broken);
    CHECK(result.broken->organization_id == "acme");
    CHECK(result.broken->fault.kind == kind);
    CHECK(result.broken->object_id.empty());
  }
}

TEST_CASE("a row that changes between two steps, after it was checked, is found if the next step begins behind it") {
  Steps steps;
  Writer writer(steps.store.url());
  for (int i = 0; i < 300; ++i) writer.update(plan_key("shop", "p0"), plan_document("p0", i + 2));
  const StepResult result = steps.all({.only = "acme", .max_rows = 100}, [&](const StepResult& made) {
    if (made.complete || steps.taken > 0) return;
    steps.store.tamper(fmt::format("UPDATE audit SET hash = sha256('x') WHERE organization_id = 'acme' AND seq = {}",
                                   made.progress.at.seq));
  });
  REQUIRE(result.broken);
  CHECK(result.broken->fault.kind == ChainFault::Kind::changed);
}

TEST_CASE("a step sees the chains of its scope only") {
  Steps steps;
  steps.store.tamper("UPDATE audit SET actor_id = 'somebody' WHERE organization_id = 'globex' AND seq = 1");
  const StepResult own = steps.step({}, {}, {.organization = "acme", .tenants = {}, .actor = "test"});
  CHECK(own.complete);
  CHECK_FALSE(own.broken);
  CHECK(own.progress.chains == 1);
  const StepResult all = steps.step({});
  REQUIRE(all.broken);
  CHECK(all.broken->organization_id == "globex");
}

}  // namespace
}  // namespace sluice::test
