// Rows, audit heads, the revision, COMMIT: a transaction that is held up at one of these steps delays those who need
// what it holds, and nobody else; and those wait for a bounded time.
#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <string>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "server/audit/verify.hpp"
#include "server/postgres/failure.hpp"
#include "tests/integration/audit/store.hpp"

namespace sluice::test {
namespace {

using server::postgres::Scope;
using server::postgres::Transaction;
using server::store::ChangeLog;

constexpr std::chrono::milliseconds kShort{50};
const server::store::Actor kHolder{.id = "token-holder", .role = "platform_admin", .source = "", .request_id = ""};
const std::string kLockTimeout = "55P03";

// Three plans: two of acme's, one of globex'.
const ObjectId kMine = plan_key("shop", "mine");
const ObjectId kNeighbour = plan_key("shop", "neighbour");
const ObjectId kForeign = plan_key("mill", "foreign");

struct World : Store {
  World() {
    Writer writer(url());
    for (const ObjectId& key : {kMine, kNeighbour, kForeign}) writer.create_plan(key.tenant_id, key.id, 1);
  }
  void check_whole() const {
    const auto connection = server::postgres::connect({.url = url()});
    const auto report = server::audit::verify(*connection);
    CHECK(report.first_broken() == nullptr);
    CHECK(report.disagreements.empty());
  }
};

// A transaction that changes kMine and is held where a test wants it.
struct Holder {
  explicit Holder(const World& world) : connection(server::postgres::connect({.url = world.url()})), tx(*connection) {
    tx.enter(Scope::everything(kHolder.id));
  }
  Holder& lock_row() {
    update_in(tx, log, kMine, plan_document("mine", 2));
    return *this;
  }
  Holder& lock_head() {
    tx.exec_text("SELECT FROM audit_heads WHERE organization_id = 'acme' FOR UPDATE");
    return *this;
  }
  Holder& take_revision() {
    log.record(tx, kHolder);
    return *this;
  }

  std::unique_ptr<pqxx::connection> connection;
  Transaction tx;
  ChangeLog log;
};

// How an attempt to change it ends that waits for locks for a short time only.
std::string attempt(const World& world, const ObjectId& key) {
  Writer writer(world.url(), kShort);
  try {
    writer.update(key, plan_document(key.id, 3));
    return "written";
  } catch (const pqxx::sql_error& error) {
    CHECK(server::postgres::classify(error) == server::postgres::FailureClass::timeout);
    return error.sqlstate();
  }
}

// A writer on a thread of its own that waits for a lock as long as it takes; seen waiting when this is made.
class Waiter {
 public:
  Waiter(const World& world, const ObjectId& key) : writer_(world.url()) {
    const int backend = writer_.connection().backendpid();
    done_ = std::async(std::launch::async, [this, key] { return writer_.update(key, plan_document(key.id, 4)); });
    const std::string waits =
        fmt::format("SELECT count(*) FROM pg_stat_activity WHERE pid = {} AND wait_event_type = 'Lock'", backend);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (world.tamper(waits) != "1") {
      if (std::chrono::steady_clock::now() > end) throw std::runtime_error("the writer does not wait for any lock");
    }
  }

  bool waits() const { return done_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout; }
  server::store::Revision result() { return done_.get(); }  // throws what the writer threw

 private:
  Writer writer_;
  std::future<server::store::Revision> done_;
};

}  // namespace

TEST_CASE("held before its audit head, a transaction delays writers of the same rows only") {
  World world;
  Holder holder(world);
  holder.lock_row();
  CHECK(attempt(world, kMine) == kLockTimeout);
  CHECK(attempt(world, kNeighbour) == "written");
  CHECK(attempt(world, kForeign) == "written");
  {
    Waiter waiter(world, kMine);
    CHECK(attempt(world, kNeighbour) == "written");  // who waits for a row holds nobody else up
    CHECK(waiter.waits());
    const auto revision = holder.take_revision().log.changes().size();
    CHECK(revision == 1);
    holder.tx.commit();
    CHECK(waiter.result().number > 0);
  }
  world.check_whole();
}

TEST_CASE("held between audit head and revision, a transaction delays its organization only") {
  World world;
  Holder holder(world);
  holder.lock_row().lock_head();
  CHECK(attempt(world, kMine) == kLockTimeout);
  CHECK(attempt(world, kNeighbour) == kLockTimeout);
  CHECK(attempt(world, kForeign) == "written");
  {
    Waiter waiter(world, kNeighbour);
    CHECK(attempt(world, kForeign) == "written");  // who waits for a head has not taken the revision
    CHECK(waiter.waits());
    holder.take_revision();
    holder.tx.commit();
    CHECK(waiter.result().number > 0);
  }
  world.check_whole();
}

TEST_CASE("held behind the revision, a transaction delays everybody") {
  World world;
  const std::string before = world.tamper("SELECT revision FROM revision");
  Holder holder(world);
  holder.lock_row().take_revision();
  for (const ObjectId& key : {kMine, kNeighbour, kForeign}) CHECK(attempt(world, key) == kLockTimeout);
  CHECK(world.tamper("SELECT revision FROM revision") == before);
  SUBCASE("until it commits: its revision comes first") {
    Waiter waiter(world, kForeign);
    holder.tx.commit();
    CHECK(waiter.result().number == std::stoll(before) + 2);
  }
  SUBCASE("until it is rolled back: its revision is the next one's") {
    Waiter waiter(world, kForeign);
    holder.tx.work().abort();
    CHECK(waiter.result().number == std::stoll(before) + 1);
  }
  world.check_whole();
}

TEST_CASE("who falls asleep while holding the revision is ended, and everybody goes on") {
  World world;
  Holder holder(world);
  holder.tx.exec_text("SET LOCAL idle_in_transaction_session_timeout = 100");
  holder.lock_row().take_revision();
  Waiter waiter(world, kForeign);
  const auto revision = waiter.result();
  CHECK(world.tamper("SELECT revision FROM revision") == std::to_string(revision.number));
  try {
    holder.tx.commit();
    FAIL("it committed");
  } catch (const std::exception& error) {
    // It was the COMMIT that found the connection gone: all that can be said is that it may have happened.
    CHECK(server::postgres::classify(error) == server::postgres::FailureClass::in_doubt);
  }
  world.check_whole();
}

TEST_CASE("heads are locked in one order: transactions over the same organizations do not block each other for ever") {
  World world;
  Holder holder(world);
  holder.lock_head();
  // It names globex first, and waits for acme's head without holding globex'.
  Writer both(world.url(), std::chrono::seconds(30));
  const int backend = both.connection().backendpid();
  auto done = std::async(std::launch::async, [&] {
    return both.write([](Transaction& tx, ChangeLog& log) {
      update_in(tx, log, kForeign, plan_document("foreign", 5));
      update_in(tx, log, kNeighbour, plan_document("neighbour", 5));
    });
  });
  const std::string waits =
      fmt::format("SELECT count(*) FROM pg_stat_activity WHERE pid = {} AND wait_event_type = 'Lock'", backend);
  while (world.tamper(waits) != "1" && done.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) {
  }
  Writer writer(world.url(), kShort);
  CHECK(writer.create_plan("mill", "another", 1).number > 0);
  holder.tx.work().abort();
  CHECK(done.get().number > 0);
  world.check_whole();
}

}  // namespace sluice::test
