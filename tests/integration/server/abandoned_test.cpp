// Calls whose client was told that they failed: they change nothing afterwards.
#include <doctest/doctest.h>
#include <pqxx/pqxx>

#include <thread>

#include "tests/integration/server/counter_rig.hpp"

namespace sluice::server::test {
namespace {

using namespace std::chrono_literals;
using Outcome = admin::CallProgress::Outcome;

constexpr const char* kPlan = "/v1/admin/plans/pro?tenant_id=shop";
constexpr const char* kNewName = R"({"name":"abandoned"})";

// Calls wait up to 30 s for a row.
struct Patient : CounterRig {
  Patient() : CounterRig(30s) { REQUIRE(progress.begin()); }

  // Sends the change on another thread while a transaction holds the revision; `meanwhile` runs once the call waits.
  template <class Task>
  admin::FinishedAnswer change_while_held(Task meanwhile) {
    const auto holder = postgres::connect(database_options());
    postgres::Transaction tx(*holder);
    tx.enter(postgres::Scope::everything("holder"));
    tx.exec_text("SELECT FROM revision FOR UPDATE");
    admin::FinishedAnswer answer;
    std::thread caller([&] { answer = ask_until(progress, "PATCH", kPlan, kNewName); });
    const bool waits = eventually([&] { return waiting() == 1; });
    meanwhile();
    tx.commit();
    caller.join();
    REQUIRE(waits);
    return answer;
  }

  // Sessions that wait for a lock.
  std::int64_t waiting() const {
    return count(
        execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
                "wait_event_type = 'Lock'"));
  }
  std::string name() { return at(ask("GET", kPlan), "/name"); }

  admin::CallProgress progress;
};

}  // namespace

TEST_CASE_FIXTURE(Patient, "a change that gets the revision after its deadline is refused, though nobody gave it up") {
  const std::string before = name();
  progress.set_deadline(std::chrono::steady_clock::now() + 2s);
  const admin::FinishedAnswer answer = change_while_held([&] { std::this_thread::sleep_until(progress.deadline()); });
  CHECK(answer.status == 503);
  CHECK(at(answer, "/type") == "/problems/busy");
  CHECK(name() == before);
}

TEST_CASE_FIXTURE(Patient, "a change that gets the revision before its deadline is stored") {
  progress.set_deadline(std::chrono::steady_clock::now() + 30s);
  CHECK(change_while_held([] {}).status == 200);
  CHECK(name() == "abandoned");
}

TEST_CASE_FIXTURE(Patient, "a change that was given up while it waited is not stored when it goes on") {
  const std::string before = name();
  progress.set_deadline(std::chrono::steady_clock::now() + 30s);
  change_while_held([&] { CHECK(progress.give_up().outcome == Outcome::nothing_changed); });
  CHECK(name() == before);
  CHECK(ask("PATCH", kPlan, R"({"name":"newer"})").status == 200);
}

TEST_CASE_FIXTURE(Patient, "a cancel request ends the statement of a call that was given up") {
  progress.set_deadline(std::chrono::steady_clock::now() + 30s);
  postgres::Canceller canceller;
  bool ended = false;
  const admin::FinishedAnswer answer = change_while_held([&] {
    admin::CallProgress::GivenUp given_up = progress.give_up();
    REQUIRE(given_up.to_cancel);
    canceller.cancel(std::move(given_up.to_cancel));
    ended = eventually([&] { return waiting() == 0; });
  });
  CHECK(ended);
  CHECK(answer.status == 503);
  CHECK(name() != "abandoned");
}

TEST_CASE_FIXTURE(Patient, "a change whose deadline has passed before its transaction begins is refused") {
  progress.set_deadline(std::chrono::steady_clock::now() - 1ms);
  CHECK(ask_until(progress, "PATCH", kPlan, kNewName).status == 503);
  CHECK(name() != "abandoned");
}

}  // namespace sluice::server::test
