#include "server/counters/publisher.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "common/base/backoff.hpp"
#include "server/counters/expiry.hpp"
#include "server/postgres/failure.hpp"

namespace sluice::server::counters {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirstAttempt{3'000};
constexpr std::chrono::seconds kRemoveExpiredEvery{5};
constexpr std::size_t kExpiredBatchSize = 500;
constexpr std::size_t kBatchSize = 500;  // rows or identities per transaction
// With more counter keys than this, publish() leaves all of them to the publisher's thread.
constexpr std::size_t kMaxBeforeAnswer = 1000;
constexpr std::int64_t kRepublishLock = 0x736c75696365'02;  // "sluice" in ASCII, then 2

postgres::Scope everything() { return postgres::Scope::everything("sluice-server"); }

bool never_evicts(const std::string& maxmemory_policy) { return maxmemory_policy == "noeviction"; }

}  // namespace

Publisher::Publisher(Options options, const Clock& clock, telemetry::Log& log)
    : options_(std::move(options)),
      clock_(clock),
      log_(log),
      outage_(log, {"publisher_still_failing", "The publisher still fails; overrides wait in the outbox.",
                    "publisher_back", "The publisher works again."}),
      refusal_(log, {"overrides_still_not_published", "Some overrides still cannot be written.", "overrides_published",
                     "All overrides are written again."}),
      link_(options_.redis, clock, log) {}

Publisher::~Publisher() { stop(); }

Result<> Publisher::start() {
  link_.start([this] {
    wake();
    if (connected_) connected_();
  });
  const auto found = link_.first_attempt(kFirstAttempt);
  if (found) {
    note_eviction_policy(found->maxmemory_policy);
    if (!never_evicts(found->maxmemory_policy) && !options_.allow_evicting) {
      return failure(
          "evicts",
          fmt::format("Redis' maxmemory-policy is \"{}\": Redis may evict overrides and counters, and then limits are "
                      "not enforced exactly. Set it to noeviction, or start with --allow-evicting-redis.",
                      found->maxmemory_policy));
    }
  }
  thread_.start([this] { run(); });
  return {};
}

bool Publisher::stop_within(std::chrono::milliseconds timeout) {
  request_stop();
  if (!thread_.finished_within(timeout)) return false;
  stop();
  return true;
}

void Publisher::stop() {
  request_stop();
  thread_.join();
  link_.stop();
}

void Publisher::request_stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

void Publisher::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

bool Publisher::wait(std::chrono::nanoseconds time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return stopping_ || woken_; });
  woken_ = false;
  return !stopping_;
}

bool Publisher::publish(pqxx::connection& connection, const postgres::Scope& scope,
                        std::span<const CounterRef> counters, std::span<const RulesPtr> known,
                        const std::function<void(postgres::Transaction&)>& done, const tracing::Parent& trace) {
  if (!may_publish()) return false;
  if (counters.size() > kMaxBeforeAnswer) {
    wake();
    return false;
  }
  try {
    postgres::Transaction tx(connection, trace);
    tx.enter(scope);
    bool all = true;
    for (const TenantIdentities& identities : identities_of(tx, counters)) {
      lock(tx, identities);
      Published published = publish_waiting(tx, link_, identities, clock_.now_us(), known);
      all = all && published.failed == 0;
      record(std::move(published));
    }
    if (all) done(tx);
    tx.commit();
    return all;
  } catch (const std::exception& error) {
    log_.warn("publish_failed", "Overrides could not be published during the admin request; the publisher retries.",
              {{"error", postgres::describe(error)}});
    return false;
  }
}

void Publisher::record(Published published) {
  statistics_.published += published.written;
  statistics_.failed += published.failed;
  if (published.uncertain.empty()) return;
  const std::lock_guard lock(mutex_);
  for (CounterRef& counter : published.uncertain) uncertain_.push_back(std::move(counter));
}

void Publisher::run() {
  std::minstd_rand random(std::random_device{}());
  std::uniform_real_distribution<double> share(0, 1);
  Backoff retry(200ms, 5s);
  std::chrono::nanoseconds delay{0};
  while (wait(delay)) {
    link_.tick();
    outage_.tick();
    refusal_.tick();
    survey_if_due();
    if (run_once()) {
      retry.reset();
      delay = options_.check_every;
    } else {
      delay = retry.next(share(random));
    }
  }
}

// Needs no PostgreSQL.
void Publisher::survey_if_due() {
  if (options_.survey_every == 0ms || steady_clock::now() < next_survey_) return;
  if (!link_.ready()) return survey_.forget();
  next_survey_ = steady_clock::now() + options_.survey_every;
  const auto done = survey_.run();
  if (!done && !survey_failed_) {
    log_.warn("redis_survey_failed", "Redis did not say which tenants use its memory; the server asks again.",
              {{"code", done.error().code}, {"reason", done.error().text}});
  }
  survey_failed_ = !done;
}

bool Publisher::run_once() {
  try {
    if (!connection_ || !connection_->is_open()) connection_ = postgres::connect(options_.database);
    const bool good = publish_due(*connection_);
    count_and_expire(*connection_);
    outage_.works(0);
    return good;
  } catch (const std::exception& error) {
    outage_.failed(0, "publisher_failed", "The publisher failed; it reconnects to PostgreSQL and retries.",
                   {std::string(to_string(postgres::classify(error))), postgres::describe(error)});
    connection_.reset();
    return false;
  }
}

bool Publisher::publish_due(pqxx::connection& connection) {
  if (!link_.ready()) return true;  // when the link connects, it wakes this thread
  auto marker = marker_.read();
  if (!marker) return false;
  note_eviction_policy(marker->maxmemory_policy);
  if (!may_publish()) return true;
  // In a Cluster, other primaries get their rows of the outbox even if one primary refuses writes.
  const bool republished = marker->lost.empty() || republish(connection, *marker);
  if (!republished && !link_.has_several_nodes()) return false;
  enqueue_uncertain(connection);
  return publish_outbox(connection) && republished && marker->not_answered.empty();
}

Published Publisher::publish_guarded(const TenantIdentities& identities, const std::function<Published()>& publish) {
  try {
    return publish();
  } catch (const RulesFault& fault) {
    log_.error("rules_broken", "Overrides of this tenant cannot be published.",
               {{"tenant", identities.tenant_id}, {"error", fault.what()}});
    Published none;
    none.failed = 1;
    return none;
  }
}

bool Publisher::stopping() {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void Publisher::note_eviction_policy(const std::string& maxmemory_policy) {
  const bool evicts = !never_evicts(maxmemory_policy);
  if (statistics_.evicts.exchange(evicts) == evicts) return;
  if (!evicts) {
    log_.info("redis_eviction_off", "Redis' maxmemory-policy is noeviction now; overrides are published again.");
    return;
  }
  log_.write(options_.allow_evicting ? telemetry::LogLevel::warn : telemetry::LogLevel::error, "redis_evicts",
             options_.allow_evicting ? "Redis may evict overrides and counters, and then limits are not enforced "
                                       "exactly; --allow-evicting-redis allows that."
                                     : "Redis may evict overrides and counters: the server publishes no overrides "
                                       "until maxmemory-policy is noeviction.",
             {{"maxmemory_policy", maxmemory_policy}});
}

void Publisher::count_and_expire(pqxx::connection& connection) {
  postgres::Transaction tx(connection);
  tx.enter(everything());
  statistics_.waiting = count_waiting(tx);
  if (steady_clock::now() - expired_removed_at_ >= kRemoveExpiredEvery) {
    // After a full batch, more overrides may have expired, so the next run removes another batch.
    if (remove_expired(tx, kExpiredBatchSize) < kExpiredBatchSize) expired_removed_at_ = steady_clock::now();
  }
  tx.commit();
}

// Publishes all overrides again and renews the marker. Returns true without republishing if another server has the
// advisory lock. Returns false if something failed.
bool Publisher::republish(pqxx::connection& connection, Marker::Status& marker) {
  const std::size_t lost = marker.lost.size();
  const auto call_on_lock = [&](const char* function) {
    pqxx::nontransaction work(connection);
    return work.exec(fmt::format("SELECT {}({})", function, kRepublishLock))[0][0].as<bool>();
  };
  if (!call_on_lock("pg_try_advisory_lock")) return true;
  log_.warn("redis_lost_data", "Redis has lost overrides: the server publishes all of them again.");
  bool all = marker_.begin(marker).has_value();
  std::vector<TenantIdentities> tenants;
  {
    postgres::Transaction tx(connection);
    tx.enter(everything());
    tenants = tenants_with_overrides(tx);
  }
  for (std::size_t i = 0; all && i < tenants.size(); ++i) all = republish_tenant(connection, std::move(tenants[i]));
  all = all && marker_.end(marker).has_value();
  call_on_lock("pg_advisory_unlock");
  if (!all || marker.lost.size() < lost) return false;
  ++statistics_.republished;
  log_.info("overrides_republished", "Redis holds all overrides again.", {{"tenants", tenants.size()}});
  return true;
}

bool Publisher::republish_tenant(pqxx::connection& connection, TenantIdentities tenant) {
  {
    postgres::Transaction tx(connection);
    tx.enter(everything());
    read_live_identities(tx, tenant);
  }
  for (std::size_t from = 0; from < tenant.hashes.size(); from += kBatchSize) {
    if (stopping()) return false;
    const auto begin = tenant.hashes.begin() + static_cast<std::ptrdiff_t>(from);
    const auto end =
        tenant.hashes.begin() + static_cast<std::ptrdiff_t>(std::min(from + kBatchSize, tenant.hashes.size()));
    const TenantIdentities part{tenant.organization_id, tenant.tenant_id, {begin, end}};
    postgres::Transaction tx(connection);
    tx.enter(everything());
    lock(tx, part);
    Published published = publish_guarded(part, [&] { return publish_live(tx, link_, part, clock_.now_us()); });
    const bool unreachable = published.unreachable;
    record(std::move(published));
    tx.commit();
    if (unreachable) return false;
  }
  return true;
}

// If the answer to a write was lost, Redis may have executed the write late, over a newer value. So the counter key is
// written once more. REQUIRES: Redis has answered a command sent after that write, so the write can no longer happen.
void Publisher::enqueue_uncertain(pqxx::connection& connection) {
  std::vector<CounterRef> uncertain;
  {
    const std::lock_guard lock(mutex_);
    uncertain.swap(uncertain_);
  }
  if (uncertain.empty()) return;
  postgres::Transaction tx(connection);
  tx.enter(everything());
  enqueue(tx, uncertain);
  tx.commit();
}

// Skips identities that another publisher has locked.
bool Publisher::publish_outbox(pqxx::connection& connection) {
  bool good = true;
  for (std::int64_t seq = 0;;) {
    postgres::Transaction tx(connection);
    tx.enter(everything());
    std::vector<TenantIdentities> waiting = waiting_identities(tx, seq, kBatchSize);
    if (waiting.empty() && good) refusal_.works(0);
    if (waiting.empty() || stopping()) return good;
    Published all;
    for (TenantIdentities& identities : waiting) {
      try_lock(tx, identities);
      if (!identities.hashes.empty())
        all.add(publish_guarded(identities, [&] { return publish_waiting(tx, link_, identities, clock_.now_us()); }));
      if (all.unreachable) break;
    }
    tx.commit();
    good = good && all.failed == 0;
    if (all.failed > 0 && !all.unreachable) {
      refusal_.failed(0, "overrides_not_published",
                      "Some overrides could not be written; the server writes them again.",
                      {"refused", fmt::format("{} counter keys could not be written", all.failed)});
    }
    const bool unreachable = all.unreachable;
    record(std::move(all));
    if (unreachable) return false;
  }
}

std::vector<std::string> Publisher::degraded() const {
  if (!link_.ready()) return {"Redis is not reachable: changes of overrides are published once it is"};
  if (!may_publish()) {
    return {"Redis may evict overrides, so the server publishes none: set maxmemory-policy to noeviction"};
  }
  return {};
}

}  // namespace sluice::server::counters
