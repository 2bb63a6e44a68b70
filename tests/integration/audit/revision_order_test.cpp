// Revisions become visible in their order: who follows them by number misses none, however many write.
#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <exception>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "server/audit/agreement.hpp"
#include "server/audit/verify.hpp"
#include "tests/integration/audit/store.hpp"

namespace sluice::test {
namespace {

using server::postgres::Scope;
using server::postgres::Transaction;
using server::store::ChangeLog;

constexpr int kWriters = 8;
#ifdef NDEBUG
constexpr int kWrites = 1000;
#else
constexpr int kWrites = 120;  // sanitizers and instrumentation cost
#endif

// One writer's life: its own plans come, change and go; now and then it changes what everybody changes, and sometimes
// two organizations at once.
class Life {
 public:
  Life(const Store& store, int number)
      : writer_(store.url()), number_(number), random_(static_cast<unsigned>(number)) {}

  void write_one() {
    const unsigned dice = random_() % 10;
    if (dice == 0) return update_shared();
    if (dice == 1) return update_two();
    const std::string tenant = std::vector<std::string>{"shop", "lab", "mill"}[random_() % 3];
    const ObjectId key = plan_key(tenant, fmt::format("w{}-{}", number_, random_() % 5));
    if (!there_.contains(key.tenant_id + key.id)) {
      there_.insert(key.tenant_id + key.id);
      writer_.create_plan(tenant, key.id, limit());
    } else if (dice == 2) {
      there_.erase(key.tenant_id + key.id);
      writer_.remove(key);
    } else {
      writer_.update(key, document(key));
    }
  }

 private:
  int limit() { return static_cast<int>(random_() % 1000) + 1; }
  std::string document(const ObjectId& key) { return plan_document(key.id, limit()); }

  void update_shared() {
    const ObjectId key = plan_key("shop", "shared");
    writer_.update(key, document(key));
  }
  // Rows in the order that every writer keeps; heads in the log's own.
  void update_two() {
    writer_.write([&](Transaction& tx, ChangeLog& log) {
      for (const ObjectId& key : {plan_key("mill", "shared"), plan_key("shop", "shared")}) {
        update_in(tx, log, key, document(key));
      }
    });
  }

  Writer writer_;
  const int number_;
  std::minstd_rand random_;
  std::set<std::string> there_;
};

// Reads what is new until it has seen `last`, as a replica that feeds agents does.
class Follower {
 public:
  Follower(const Store& store, std::int64_t from)
      : connection_(server::postgres::connect({.url = store.url()})), seen_(from) {}

  void follow_until(std::int64_t last) {
    while (seen_ < last) read_new();
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t rounds() const { return rounds_; }
  const std::string& fault() const { return fault_; }

 private:
  void read_new() {
    Transaction tx(*connection_);
    tx.enter(Scope::everything("reader"));
    const pqxx::result rows =
        tx.exec("SELECT revision, ordinal FROM changes WHERE revision > $1 ORDER BY revision, ordinal", seen_);
    const std::int64_t head = server::store::head(tx).number;  // read later: never behind
    ++rounds_;
    std::int64_t ordinal = 0;
    for (const auto& row : rows) {
      const auto revision = row[0].as<std::int64_t>();
      ordinal = revision == seen_ ? ordinal + 1 : 1;
      if (fault_.empty() && (row[1].as<std::int64_t>() != ordinal || (revision != seen_ && revision != seen_ + 1))) {
        fault_ = fmt::format("revision {} change {} came behind revision {}", revision, row[1].c_str(), seen_);
      }
      seen_ = revision;
      ++rows_;
    }
    if (fault_.empty() && head < seen_) fault_ = fmt::format("the head is {} when {} is there", head, seen_);
  }

  std::unique_ptr<pqxx::connection> connection_;
  std::int64_t seen_;
  std::int64_t rows_ = 0;
  std::int64_t rounds_ = 0;
  std::string fault_;
};

}  // namespace

TEST_CASE("a reader that follows revisions while eight write misses none and sees none out of order") {
  Store store;
  {
    Writer writer(store.url());
    for (const std::string tenant : {"shop", "mill"}) writer.create_plan(tenant, "shared", 1);
  }
  const std::int64_t first = std::stoll(store.tamper("SELECT revision FROM revision"));
  const std::int64_t last = first + std::int64_t{kWriters} * kWrites;
  std::vector<std::exception_ptr> failures(kWriters);
  Follower follower(store, first);
  std::barrier start(kWriters + 1);
  {
    std::vector<std::jthread> threads;
    std::atomic<int> failed = 0;
    for (int number = 0; number < kWriters; ++number) {
      threads.emplace_back([&, number] {
        Life life(store, number);
        start.arrive_and_wait();
        try {
          for (int i = 0; i < kWrites && failed == 0; ++i) life.write_one();
        } catch (...) {
          failures[static_cast<std::size_t>(number)] = std::current_exception();
          ++failed;
        }
      });
    }
    start.arrive_and_wait();
    // In steps, so that a writer's failure ends it.
    for (std::int64_t goal = first; goal < last && failed == 0; ++goal) follower.follow_until(goal + 1);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  CHECK(follower.fault() == "");
  CHECK(store.tamper("SELECT revision FROM revision") == std::to_string(last));
  CHECK(std::to_string(follower.rows()) ==
        store.tamper(fmt::format("SELECT count(*) FROM changes WHERE revision > {}", first)));
  MESSAGE(follower.rows(), " changes of ", last - first, " revisions in ", follower.rounds(), " reads");

  const auto connection = server::postgres::connect({.url = store.url()});
  const auto report = server::audit::verify(*connection);
  CHECK(report.first_broken() == nullptr);
  CHECK(report.disagreements.empty());
  Transaction tx(*connection);
  tx.enter(Scope::everything("reader"));
  for (const std::string& text : server::audit::agreement_faults(tx.work())) FAIL_CHECK(text);
  CHECK(std::to_string(report.rows) == store.tamper("SELECT count(*) FROM changes"));
}

}  // namespace sluice::test
