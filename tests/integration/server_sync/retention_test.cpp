// Old revisions leave the tables, and nothing else does: against a real PostgreSQL, with the server's own function.
#include "server/sync/retention.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <fmt/core.h>

#include "common/telemetry/line_writer.hpp"
#include "server/audit/verify.hpp"
#include "server/sync/reader.hpp"
#include "tests/integration/audit/store.hpp"

namespace sluice::test {
namespace {

using namespace std::chrono_literals;
using server::sync::History;
using server::sync::Retention;

// A database of which all revisions but the newest ones are old.
struct Rig {
  Store store;
  Writer writer{store.url()};
  telemetry::LineWriter lines{STDERR_FILENO};
  telemetry::Log log{lines, telemetry::LogLevel::error};

  std::int64_t head() { return number("SELECT revision FROM revision"); }
  std::int64_t number(const std::string& sql) const { return std::stoll(store.tamper(sql)); }
  void fill(int plans) {
    for (int i = 0; i < plans; ++i) writer.create_plan("shop", fmt::format("p{}", i), i + 1);
  }
  void age_all_but(std::int64_t young) {
    store.tamper(
        fmt::format("UPDATE revisions SET made_at = now() - interval '31 days' WHERE revision <= (SELECT revision FROM "
                    "revision) - {}",
                    young));
  }
  std::uint64_t forget(std::int64_t kept, std::chrono::microseconds age = 720h) {
    Retention retention({.age = age, .kept = kept}, log);
    retention.run(writer.connection());
    return retention.statistics().forgotten;
  }
  bool trail_is_good() {
    const auto report = server::audit::verify(writer.connection(), {});
    for (const std::string& text : report.disagreements) MESSAGE(text);
    return report.first_broken() == nullptr && report.disagreements.empty();
  }
  server::sync::SyncState read_now() {
    server::postgres::Transaction tx(writer.connection());
    tx.use_one_snapshot();
    tx.enter(server::postgres::Scope::everything("test"));
    return server::sync::read_full(tx);
  }
};

TEST_CASE("revisions that are old, and not among the newest that are kept, leave the tables") {
  Rig rig;
  rig.fill(20);
  rig.age_all_but(5);
  const std::int64_t head = rig.head();
  CHECK(rig.forget(8) == static_cast<std::uint64_t>(head - 8));
  CHECK(rig.number("SELECT min(revision) FROM changes") == head - 7);
  CHECK(rig.number("SELECT min(revision) FROM revisions") == head - 7);
  CHECK(rig.number("SELECT revision FROM forgotten_changes") == head - 8);
  CHECK(rig.forget(8) == 0);
  CHECK(rig.forget(1) == 3);  // the five young ones stay
  CHECK(rig.number("SELECT min(revision) FROM changes") == head - 4);
  CHECK(rig.number("SELECT count(*) FROM revisions") == 5);
}

TEST_CASE("the newest revision stays, however old it is, and revisions go on from it") {
  Rig rig;
  rig.fill(3);
  rig.age_all_but(0);
  const std::int64_t head = rig.head();
  rig.forget(1);
  CHECK(rig.number("SELECT min(revision) FROM changes") == head);
  const auto before = rig.read_now();
  rig.writer.create_plan("lab", "next", 1);
  server::postgres::Transaction tx(rig.writer.connection());
  tx.enter(server::postgres::Scope::everything("test"));
  server::sync::PublishSpans untraced(nullptr);
  CHECK(server::sync::read_next(tx, before, untraced).progress == server::sync::Progress::advanced);
}

TEST_CASE("what no server of this release would forget is not forgotten, whatever the program asks for") {
  Rig rig;
  rig.fill(5);
  CHECK(rig.forget(0, 0us) == 0);  // nothing is older than an hour
  rig.age_all_but(0);
  rig.forget(0);
  CHECK(rig.number("SELECT max(revision) FROM revisions") == rig.head());
}

TEST_CASE("an agent from before what is kept gets a full snapshot, and one after it a delta") {
  Rig rig;
  rig.fill(12);
  const auto before = rig.read_now();
  rig.age_all_but(6);
  rig.forget(6);
  const auto state = rig.read_now();
  CHECK(state.history.base().revision == rig.head() - 5);
  CHECK(state.history.locate(before.head()) == History::Relation::head);
  CHECK(state.history.locate({.revision = rig.head() - 6, .chain = std::string(64, '0')}) ==
        History::Relation::too_old);
}

TEST_CASE("the trail verifies after old revisions were forgotten, and still finds a change that is missing") {
  Rig rig;
  rig.fill(12);
  rig.writer.update(plan_key("shop", "p0"), plan_document("p0", 77));
  rig.age_all_but(4);
  CHECK(rig.trail_is_good());
  rig.forget(4);
  CHECK(rig.trail_is_good());
  CHECK(rig.number("SELECT count(*) FROM versions WHERE id = 'p0'") == 2);  // for a rollback
  rig.store.tamper("DELETE FROM changes WHERE revision = (SELECT min(revision) FROM changes)");
  CHECK_FALSE(rig.trail_is_good());
}

TEST_CASE("many revisions go in several transactions, and one that is larger than a batch as a whole") {
  Rig rig;
  // One revision with 4,500 changes, then 2,500 with one each.
  rig.store.tamper(
      "INSERT INTO changes SELECT r.revision + 1, n, 'plan', 'acme', 'shop', 'x' || n, 1, false FROM revision r, "
      "generate_series(1, 4500) n; INSERT INTO changes SELECT r.revision + 1 + n, 1, 'plan', 'acme', 'shop', 'y' || n, "
      "1, "
      "false FROM revision r, generate_series(1, 2500) n; INSERT INTO revisions SELECT r.revision + n, "
      "sha256(n::text::bytea), "
      "now() - interval '90 days' FROM revision r, generate_series(1, 2501) n; UPDATE revision SET revision = revision "
      "+ 2501");
  rig.age_all_but(0);
  const std::int64_t head = rig.head();
  CHECK(rig.forget(10) == static_cast<std::uint64_t>(head - 10));
  CHECK(rig.number("SELECT count(*) FROM changes") == 10);
}

TEST_CASE("of two servers one removes, and the other does not wait for it") {
  Rig rig;
  rig.fill(6);
  rig.age_all_but(1);
  Writer other(rig.store.url());
  server::postgres::Transaction busy(other.connection());
  busy.exec_text("SELECT pg_advisory_xact_lock(7308620153717351267)");
  CHECK(rig.forget(1) == 0);
}

TEST_CASE("the server's role cannot delete changes and revisions itself") {
  Rig rig;
  rig.fill(3);
  for (const std::string sql :
       {"DELETE FROM changes", "DELETE FROM revisions", "UPDATE forgotten_changes SET revision = 9"}) {
    server::postgres::Transaction tx(rig.writer.connection());
    tx.enter(server::postgres::Scope::everything("test"));
    CHECK_THROWS_AS(tx.exec_text(sql), pqxx::insufficient_privilege);
  }
}

}  // namespace
}  // namespace sluice::test
