#include "server/webhooks/worker.hpp"

#include <algorithm>
#include <iterator>
#include <random>

#include "server/postgres/failure.hpp"
#include "server/webhooks/schedule.hpp"

namespace sluice::server::webhooks {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::minutes kRefusalLineEvery{1};

postgres::Scope all_rows() { return postgres::Scope::everything("webhooks"); }

double random_share() {
  thread_local std::mt19937_64 engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0.0, 1.0)(engine);
}

// A delivery for which the server has no memory, descriptor or thread fails, and is tried again.
Outcome try_to_send(const Claimed& claimed, const Setup& setup, StuckLookups& stuck) {
  try {
    return send(claimed, setup, stuck);
  } catch (const std::exception& error) {
    return {.status = 0, .error = std::string("the server could not send it: ") + error.what()};
  }
}

}  // namespace

Worker::Worker(postgres::DatabaseOptions database, const Setup& setup, Options options, telemetry::Log& log)
    : database_(std::move(database)),
      setup_(setup),
      options_(options),
      log_(log),
      outage_(log, {"webhooks_still_failing", "Deliveries to customers' webhooks still cannot be read or recorded.",
                    "webhooks_work", "Deliveries to customers' webhooks can be read and recorded again."}) {}

Worker::~Worker() {
  request_stop();
  for (const auto& sender : senders_) sender->join();
  control_.join();
}

void Worker::start() {
  next_detect_ = next_measure_ = next_tidy_ = next_refusal_line_ = steady_clock::now();
  for (std::size_t i = 0; i < options_.senders; ++i) {
    senders_.emplace_back(std::make_unique<TimedJoinThread>())->start([this] { deliver_all(); });
  }
  control_.start([this] { control(); });
}

void Worker::request_stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

bool Worker::stop_within(std::chrono::milliseconds timeout) {
  const auto until = steady_clock::now() + timeout;
  request_stop();
  const auto ended = [until](const TimedJoinThread& thread) {
    return thread.finished_within(std::chrono::duration_cast<std::chrono::milliseconds>(until - steady_clock::now()));
  };
  return ended(control_) && std::ranges::all_of(senders_, [&](const auto& sender) { return ended(*sender); }) &&
         stuck_.finished_by(until);
}

// The thread of a sender.
void Worker::deliver_all() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Claimed claimed = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    Outcome outcome = try_to_send(claimed, setup_, stuck_);
    lock.lock();
    const auto delay = retry_delay(claimed.attempt, random_share());
    sent_.push_back({std::move(claimed), std::move(outcome), delay});
    --in_flight_;
    changed_.notify_all();
  }
}

void Worker::control() {
  while (work_once()) {
    std::unique_lock lock(mutex_);
    // After a failure PostgreSQL is left alone for a moment, although outcomes wait.
    changed_.wait_for(lock, options_.look_every, [this] { return stopping_ || (!failed_ && !sent_.empty()); });
    if (stopping_) changed_.wait(lock, [this] { return in_flight_ == 0 || !sent_.empty(); });
  }
}

bool Worker::work_once() {
  failed_ = false;
  try {
    if (!connection_ || !connection_->is_open()) connection_ = postgres::connect(database_);
    record_all(*connection_);
    claim_some(*connection_);
    make_events(*connection_);
    measure(*connection_);
    tidy_up(*connection_);
    outage_.works(0);
  } catch (const std::exception& error) {
    failed_ = true;
    ++statistics_.failures;
    outage_.failed(0, "webhooks_failing",
                   "Deliveries to customers' webhooks cannot be read or recorded; the server retries.",
                   {std::string(to_string(postgres::classify(error))), postgres::describe(error)});
    connection_.reset();
  }
  outage_.tick();
  const std::lock_guard lock(mutex_);
  return !stopping_ || (!failed_ && (in_flight_ > 0 || !sent_.empty()));
}

std::vector<Sent> Worker::take_sent() {
  const std::lock_guard lock(mutex_);
  return std::exchange(sent_, {});
}

// If recording fails, the outcomes are lost, and their leases end: the events are delivered again.
void Worker::record_all(pqxx::connection& connection) {
  std::vector<Sent> sent = take_sent();
  if (sent.empty()) return;
  postgres::Transaction tx(connection);
  tx.enter(all_rows());
  const std::vector<Recorded> recorded = record(tx, sent, setup_.give_up);
  tx.commit();
  for (std::size_t i = 0; i < sent.size(); ++i) count(recorded[i], sent[i].outcome);
}

void Worker::claim_some(pqxx::connection& connection) {
  std::size_t idle = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_) idle = options_.senders - in_flight_;
  }
  if (idle == 0) return;
  postgres::Transaction tx(connection);
  tx.enter(all_rows());
  std::vector<Claimed> claimed = claim(tx, idle, options_.lease);
  tx.commit();
  const std::lock_guard lock(mutex_);
  in_flight_ += claimed.size();
  std::ranges::move(claimed, std::back_inserter(waiting_));
  changed_.notify_all();
}

// Transactions with turns are short: after options_.turn only the tenant that has begun is finished.
void Worker::make_events(pqxx::connection& connection) {
  const Time begun = steady_clock::now();
  if (begun < next_detect_) return;
  next_detect_ = begun + options_.detect_every;
  postgres::Transaction tx(connection);
  tx.enter(all_rows());
  // This thread looks at its clock every `look_every`, so its own turns would often be too early by a part of that.
  const auto turn = take_turn(tx, {.within_round = options_.next_turn_after - options_.look_every,
                                   .between_rounds = options_.detect_every - options_.look_every});
  if (!turn) return;
  std::uint64_t made = 0;
  std::vector<std::pair<std::string, std::uint64_t>> refused;  // by tenant
  const Time until = steady_clock::now() + options_.turn;
  std::string_view last;
  bool round_goes_on = false;
  for (const WatchedTenant& tenant : turn->tenants) {
    const Added added = look_at(tx, tenant, turn->now);
    made += added.events;
    if (added.refused > 0) refused.emplace_back(tenant.id, added.refused);
    last = tenant.id;
    round_goes_on = !turn->ends_round || &tenant != &turn->tenants.back();
    if (steady_clock::now() >= until) break;
  }
  end_turn(tx, round_goes_on ? last : "");
  tx.commit();
  statistics_.events += made;
  for (const auto& [tenant_id, events] : refused) report_refused(tenant_id, events);
  if (round_goes_on) next_detect_ = begun + options_.next_turn_after;
}

Added Worker::look_at(postgres::Transaction& tx, const WatchedTenant& tenant, Seconds now) const {
  const TenantUsage usage = read_usage(tx, tenant);
  std::vector<Event> events = detect(tenant.webhooks, usage.counts, now);
  std::ranges::move(detect_quotas(tenant.webhooks, usage.quotas, now), std::back_inserter(events));
  return add_events(tx, events);
}

// At most one line a minute, however many tenants have no room.
void Worker::report_refused(std::string_view tenant_id, std::uint64_t events) {
  statistics_.refused += events;
  if (steady_clock::now() < next_refusal_line_) return;
  next_refusal_line_ = steady_clock::now() + kRefusalLineEvery;
  log_.warn(
      "webhook_events_refused",
      "A tenant has too many deliveries to its webhooks, so events were not made. Its receivers fail or are slow, or "
      "something happens too often.",
      {{"tenant_id", tenant_id}, {"events", events}, {"most", kMaxStored}});
}

void Worker::measure(pqxx::connection& connection) {
  if (steady_clock::now() < next_measure_) return;
  next_measure_ = steady_clock::now() + options_.measure_every;
  postgres::Transaction tx(connection);
  tx.enter(all_rows());
  const Backlog left = backlog(tx);
  tx.commit();
  statistics_.waiting = left.pending;
  statistics_.dead_stored = left.dead;
  statistics_.oldest_s = left.oldest_pending_s;
}

void Worker::tidy_up(pqxx::connection& connection) {
  if (steady_clock::now() < next_tidy_) return;
  next_tidy_ = steady_clock::now() + options_.tidy_every;
  postgres::Transaction tx(connection);
  tx.enter(all_rows());
  const bool all = tidy(tx, setup_.give_up);
  tx.commit();
  if (!all) next_tidy_ = steady_clock::now();
}

void Worker::count(Recorded recorded, const Outcome& outcome) {
  switch (recorded) {
    case Recorded::delivered:
      ++statistics_.delivered;
      break;
    case Recorded::retried:
      ++statistics_.retried;
      break;
    case Recorded::dead:
      ++statistics_.dead;
      break;
    case Recorded::superseded:
      ++statistics_.superseded;
      break;
  }
  if (outcome.refused_address) ++statistics_.refused_address;
}

}  // namespace sluice::server::webhooks
