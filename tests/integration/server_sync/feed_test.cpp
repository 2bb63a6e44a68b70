// The feed against a real PostgreSQL: in order, whole, and of one history only, whatever becomes of the connection and
// of the database.
#include "server/sync/feed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>

#include <unistd.h>

#include <fmt/core.h>

#include "common/telemetry/line_writer.hpp"
#include "server/sync/reader.hpp"
#include "tests/integration/audit/store.hpp"

namespace sluice::test {
namespace {

using namespace std::chrono_literals;
using server::sync::Feed;
using server::sync::History;
using server::sync::SyncState;
using server::sync::SyncStatePtr;

SyncState read_now(Writer& writer) {
  server::postgres::Transaction tx(writer.connection());
  tx.use_one_snapshot();
  tx.enter(server::postgres::Scope::everything("test"));
  return server::sync::read_full(tx);
}

// A feed of a database, and all states it told of.
class Listener {
 public:
  // `in_first_round` runs on the feed's thread, inside the transaction of its first round.
  explicit Listener(const Store& store, std::chrono::milliseconds poll_every = 2s,
                    std::function<void()> in_first_round = {})
      : feed_({.database = {.url = store.url()}, .poll_every = poll_every}, log_) {
    feed_.start([this, in_first_round = std::move(in_first_round)](SyncStatePtr state) {
      if (state->sequence == 1 && in_first_round) in_first_round();
      const std::lock_guard lock(mutex_);
      states_.push_back(std::move(state));
      changed_.notify_all();
    });
  }

  // The first state of which it is so.
  SyncStatePtr await(const std::function<bool(const SyncState&)>& so) {
    std::unique_lock lock(mutex_);
    SyncStatePtr found;
    const bool came = changed_.wait_for(lock, 30s, [&] {
      const auto at = std::ranges::find_if(states_, [&](const SyncStatePtr& state) { return so(*state); });
      if (at != states_.end()) found = *at;
      return found != nullptr;
    });
    REQUIRE(came);
    return found;
  }
  SyncStatePtr await(std::int64_t revision) {
    return await([revision](const SyncState& state) { return state.head().revision == revision; });
  }

  bool poll() {
    auto done = std::make_shared<std::promise<bool>>();
    auto answer = done->get_future();
    feed_.poll([done](bool good) { done->set_value(good); });
    REQUIRE(answer.wait_for(30s) == std::future_status::ready);
    return answer.get();
  }

  std::vector<SyncStatePtr> states() {
    const std::lock_guard lock(mutex_);
    return states_;
  }
  SyncStatePtr newest() { return states().back(); }
  Feed& feed() { return feed_; }

 private:
  telemetry::LineWriter lines_{STDERR_FILENO};
  telemetry::Log log_{lines_, telemetry::LogLevel::error};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<SyncStatePtr> states_;
  Feed feed_;
};

void check_same(const SyncState& state, const SyncState& wanted) {
  CHECK(state.head() == wanted.head());
  CHECK(state.objects.checksum() == wanted.objects.checksum());
  CHECK(state.objects.size() == wanted.objects.size());
  CHECK(*state.owners == *wanted.owners);
  CHECK(state.tokens->size() == wanted.tokens->size());
  CHECK(state.admin_tokens->size() == wanted.admin_tokens->size());
}

// What a state of this line makes of another that came later.
void check_delta(const SyncState& before, const SyncState& after) {
  const auto edits = server::sync::edits_since(after, {}, before.head().revision);
  CHECK(before.objects.with(edits).checksum() == after.objects.checksum());
}

void fill(Writer& writer, int plans) {
  for (int i = 0; i < plans; ++i) {
    const auto id = fmt::format("p{}", i);
    writer.create_plan("shop", id, i + 1);
  }
}

}  // namespace

TEST_CASE("the feed hears of every write, in order, and holds what PostgreSQL holds") {
  const Store store;
  Listener listener(store, 1h);  // only notifications tell it
  Writer writer(store.url());
  const std::int64_t begin = listener.await([](const SyncState&) { return true; })->head().revision;
  for (int i = 0; i < 30; ++i) {
    const auto id = fmt::format("p{}", i % 7);
    if (i < 7) {
      writer.create_plan("shop", id, i + 1);
    } else if (i % 3 == 0) {
      writer.update(plan_key("shop", id), plan_document(id, i + 1));
    } else {
      writer.update(plan_key("shop", "p0"), plan_document("p0", 100 + i));
    }
  }
  writer.remove(plan_key("shop", "p6"));
  const SyncStatePtr last = listener.await(begin + 31);
  check_same(*last, read_now(writer));
  const auto states = listener.states();
  for (std::size_t i = 1; i < states.size(); ++i) {
    CHECK(states[i]->head().revision > states[i - 1]->head().revision);
    CHECK(states[i]->sequence == states[i - 1]->sequence + 1);
    CHECK(states[i]->history.locate(states[i - 1]->head()) == History::Relation::within);
    check_delta(*states[i - 1], *last);
  }
  CHECK(listener.feed().statistics().revisions == 31);
  CHECK(listener.feed().statistics().full_reads == 1);
}

TEST_CASE("a feed that starts again knows the revisions of before") {
  const Store store;
  Writer writer(store.url());
  SyncStatePtr before;
  {
    Listener listener(store);
    before = listener.await([](const SyncState&) { return true; });
  }
  fill(writer, 5);
  writer.remove(plan_key("shop", "p1"));
  Listener listener(store);
  const SyncStatePtr after = listener.await([](const SyncState&) { return true; });
  CHECK(after->history.locate(before->head()) == History::Relation::within);
  check_delta(*before, *after);
  CHECK(after->history.changed_since({.organization_id = "acme", .tenant_ids = {"shop"}}, before->head().revision));
  CHECK_FALSE(
      after->history.changed_since({.organization_id = "acme", .tenant_ids = {"lab"}}, before->head().revision));
}

TEST_CASE("the chains of a database from before the table of revisions are those from then on") {
  const Store store;
  Writer writer(store.url());
  fill(writer, 4);
  const std::int64_t head = read_now(writer).head().revision;
  store.tamper(fmt::format("DELETE FROM revisions WHERE revision < {}", head));
  const SyncState state = read_now(writer);
  CHECK(state.history.base() == state.head());
  writer.remove(plan_key("shop", "p0"));
  CHECK(read_now(writer).history.locate(state.head()) == History::Relation::within);
}

TEST_CASE("a connection that was lost is made anew, and nothing is missed") {
  const Store store;
  Listener listener(store, 1h);
  Writer writer(store.url());
  const std::int64_t begin = listener.await([](const SyncState&) { return true; })->head().revision;
  for (int i = 0; i < 5; ++i) {
    store.tamper(
        fmt::format("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
                    "'sluice-server' AND datname = '{}' AND query LIKE '%revision%' AND pid <> {}",
                    store.database().name(), writer.connection().backendpid()));
    const auto id = fmt::format("p{}", i);
    writer.create_plan("shop", id, i + 1);
    check_same(*listener.await(begin + 1 + i), read_now(writer));
  }
  CHECK(listener.feed().statistics().full_reads == 1);
}

TEST_CASE("a connection that is lost while a round ends is made anew, and nothing is missed") {
  const Store store;
  Listener listener(store, 1h, [&store] {
    const auto ended = store.tamper(
        fmt::format("SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE application_name = "
                    "'sluice-server' AND datname = '{}' AND state = 'idle in transaction'",
                    store.database().name()));
    CHECK(ended == "t");
  });
  const std::int64_t begin = listener.await([](const SyncState&) { return true; })->head().revision;
  Writer writer(store.url());
  writer.create_plan("shop", "p", 1);
  check_same(*listener.await(begin + 1), read_now(writer));
}

TEST_CASE("after an older backup was restored the feed is where PostgreSQL is, and says that the line broke") {
  const Store store;
  Writer writer(store.url());
  fill(writer, 3);
  const SyncState older = read_now(writer);
  writer.create_plan("shop", "lost", 9);
  Listener listener(store, 1h);
  const SyncStatePtr before = listener.await(older.head().revision + 1);
  store.tamper(
      fmt::format("DELETE FROM plans WHERE id = 'lost'; DELETE FROM versions WHERE revision > {0}; DELETE FROM "
                  "changes WHERE revision > {0}; DELETE FROM revisions WHERE revision > {0}; UPDATE revision SET "
                  "revision = {0}, chain = '\\x{1}'",
                  older.head().revision, older.head().chain));
  CHECK(listener.poll());
  check_same(*listener.newest(), older);
  CHECK(listener.newest()->epoch == before->epoch + 1);
  // The same number with another past.
  writer.create_plan("shop", "other", 9);
  const SyncStatePtr other = listener.await([&](const SyncState& state) {
    return state.epoch > before->epoch && state.head().revision == before->head().revision;
  });
  CHECK(other->history.locate(before->head()) == History::Relation::foreign);
  check_same(*other, read_now(writer));
}

TEST_CASE("a restored database that has grown past the old number is told by its chain") {
  const Store store;
  Writer writer(store.url());
  fill(writer, 3);
  Listener listener(store, 1h);
  const SyncStatePtr before = listener.await(read_now(writer).head().revision);
  // As if the last two were others, and more had followed, all between two looks.
  store.tamper(fmt::format(
      "UPDATE plans SET document = '{1}' WHERE id = 'p2'; UPDATE revisions SET chain = sha256(chain) WHERE "
      "revision > {0} - 2; INSERT INTO revisions SELECT {0} + n, sha256(n::text::bytea), now() FROM "
      "generate_series(1, 4) n; UPDATE revision SET revision = {0} + 4, chain = (SELECT chain FROM revisions "
      "WHERE revision = {0} + 4)",
      before->head().revision, plan_document("p2", 77)));
  CHECK(listener.poll());
  const SyncStatePtr after = listener.newest();
  CHECK(after->epoch == before->epoch + 1);
  CHECK(after->history.locate(before->head()) == History::Relation::foreign);
  check_same(*after, read_now(writer));
}

TEST_CASE("who asks hears of what was written before") {
  const Store store;
  Listener listener(store, 1h);
  listener.await([](const SyncState&) { return true; });
  Writer writer(store.url());
  for (int i = 0; i < 10; ++i) {
    const auto id = fmt::format("p{}", i);
    const std::int64_t revision = writer.create_plan("shop", id, i + 1).number;
    CHECK(listener.poll());
    CHECK(listener.newest()->head().revision >= revision);
  }
}

TEST_CASE("a feed without PostgreSQL says so, and answers who asks") {
  telemetry::LineWriter lines(STDERR_FILENO);
  telemetry::Log log(lines, telemetry::LogLevel::error);
  Feed feed({.database = {.url = "host=/nowhere user=sluice_app"}, .poll_every = 1h}, log);
  feed.start([](const SyncStatePtr&) { FAIL("there is nothing to tell"); });
  std::promise<bool> done;
  feed.poll([&done](bool succeeded) { done.set_value(succeeded); });
  CHECK_FALSE(done.get_future().get());
  CHECK(feed.degraded().size() == 1);
  feed.stop();
}

}  // namespace sluice::test
