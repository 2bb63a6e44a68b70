#include "server/webhooks/worker.hpp"

#include <algorithm>
#include <iterator>
#include <random>

#include "server/postgres/failure.hpp"
#include "server/webhooks/schedule.hpp"

namespace sluice::server::webhooks {
namespace {

using std::chrono::steady_clock;

postgres::Scope all_rows() { return postgres::Scope::everything("webhooks"); }

double random_share() {
  thread_local std::mt19937_64 engine{std::random_device{}()};
  return std::uniform_real_distribution<double>(0.0, 1.0)(engine);
}

// A delivery for which the server has no memory, descriptor or thread fails, and is tried again.
Outcome try_to_send(const Claimed& claimed, const Setup& setup) {
  try {
    return send(claimed, setup);
  } catch (const std::exception& error) {
    return {.status = 0, .error = std::string("the server could not send it: ") + error.what(), .answer = {}};
  }
}

}  // namespace

Worker::Worker(postgres::DatabaseOptions database, const Setup& setup, Options options, telemetry::Log& log)
    : database_(std::move(database)),
      setup_(setup),
      options_(options),
      outage_(log, {"webhooks_still_failing", "Deliveries to customers' webhooks still cannot be read or recorded.",
                    "webhooks_work", "Deliveries to customers' webhooks can be read and recorded again."}) {}

Worker::~Worker() {
  request_stop();
  for (const auto& sender : senders_) sender->join();
  control_.join();
}

void Worker::start() {
  next_detect_ = next_tidy_ = steady_clock::now();
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
  return ended(control_) && std::ranges::all_of(senders_, [&](const auto& sender) { return ended(*sender); });
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
    Outcome outcome = try_to_send(claimed, setup_);
    lock.lock();
    sent_.push_back({std::move(claimed), std::move(outcome)});
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

std::vector<Worker::Sent> Worker::take_sent() {
  const std::lock_guard lock(mutex_);
  return std::exchange(sent_, {});
}

// If recording fails, the outcomes are lost, and their leases end: the events are delivered again.
void Worker::record_all(pqxx::connection& connection) {
  const std::vector<Sent> sent = take_sent();
  if (sent.empty()) return;
  postgres::Transaction tx(connection);
  tx.enter(all_rows());
  std::vector<Recorded> recorded;
  recorded.reserve(sent.size());
  for (const auto& [claimed, outcome] : sent) {
    recorded.push_back(record(tx, claimed, outcome, retry_delay(claimed.attempt, random_share()), setup_.give_up));
  }
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

void Worker::make_events(pqxx::connection& connection) {
  if (steady_clock::now() < next_detect_) return;
  next_detect_ = steady_clock::now() + options_.detect_every;
  postgres::Transaction tx(connection);
  tx.enter(all_rows());
  const Usage usage = read_usage(tx);
  std::vector<Event> events = detect(usage.watched, usage.counts, usage.now);
  std::ranges::move(detect_quotas(usage.watched, usage.quotas, usage.now), std::back_inserter(events));
  const Added added = add_events(tx, events);
  const Backlog left = backlog(tx);
  tx.commit();
  statistics_.events += added.events;
  statistics_.dropped += added.dropped;
  statistics_.waiting = left.pending;
  statistics_.dead_stored = left.dead;
  statistics_.oldest_s = left.oldest_pending_s;
}

void Worker::tidy_up(pqxx::connection& connection) {
  if (steady_clock::now() < next_tidy_) return;
  next_tidy_ = steady_clock::now() + options_.tidy_every;
  postgres::Transaction tx(connection);
  tx.enter(all_rows());
  tidy(tx, setup_.give_up);
  tx.commit();
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
  if (outcome.error.starts_with("forbidden_address") || outcome.error.starts_with("url ")) {
    ++statistics_.refused_address;
  }
}

}  // namespace sluice::server::webhooks
