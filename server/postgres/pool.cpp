#include "server/postgres/pool.hpp"

#include <array>
#include <utility>

#include <fmt/core.h>

#include <pqxx/pqxx>

#include "server/postgres/url.hpp"

namespace sluice::server::postgres {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kAwayFor{1};  // the pause after a failed attempt to connect

// With these TCP parameters, the client notices within 30 s that PostgreSQL's machine or the network has failed. With
// the kernel's defaults that takes hours.
std::string with_keepalives(std::string url) {
  static constexpr std::array<std::pair<const char*, const char*>, 4> kDefaults{
      {{"keepalives_idle", "15"},        // seconds
       {"keepalives_interval", "5"},     // seconds
       {"keepalives_count", "3"},        // probes
       {"tcp_user_timeout", "15000"}}};  // ms
  for (const auto& [name, value] : kDefaults) url = with_default(url, name, value);
  return url;
}

}  // namespace

std::unique_ptr<pqxx::connection> connect(const DatabaseOptions& options) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options.connect_timeout).count();
  auto connection = std::make_unique<pqxx::connection>(
      with_parameter(with_keepalives(options.url), "connect_timeout", std::to_string(seconds)));
  // inhibit_reactivation() turns automatic reconnecting off. It is deprecated, because libpqxx 7 never reconnects.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
  connection->inhibit_reactivation(true);
#pragma clang diagnostic pop
  // Keeps notices ("relation exists already") out of stderr, where every line must be JSON.
  connection->set_verbosity(pqxx::connection_base::terse);
  const std::string settings = fmt::format(
      "SET application_name = 'sluice-server'; SET client_min_messages = 'error'; SET timezone = 'UTC';"
      "SET lock_timeout = {}; SET statement_timeout = {}; SET idle_in_transaction_session_timeout = {};"
      "SET synchronous_commit = on; SET default_transaction_isolation = 'read committed'",
      options.lock_timeout.count(), options.statement_timeout.count(), options.idle_in_transaction_timeout.count());
  pqxx::nontransaction(*connection).exec(settings);
  return connection;
}

Pool::Pool(DatabaseOptions options, std::size_t max_waiting) : options_(std::move(options)), max_waiting_(max_waiting) {
  running_ = options_.connections;
  for (std::size_t i = 0; i < options_.connections; ++i) threads_.emplace_back([this] { work(); });
}

Pool::~Pool() { stop(); }

bool Pool::submit(Job& job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || jobs_.size() >= max_waiting_) return false;
    jobs_.push_back(std::move(job));
    waiting_.store(jobs_.size(), std::memory_order_relaxed);
  }
  changed_.notify_one();
  return true;
}

void Pool::abandon() {
  std::deque<Job> abandoned;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    abandoned.swap(jobs_);
  }
  changed_.notify_all();
}

void Pool::stop() {
  abandon();
  threads_.clear();  // joins
}

bool Pool::stop_within(std::chrono::milliseconds timeout) {
  abandon();
  {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, timeout, [this] { return running_ == 0; })) return false;
  }
  threads_.clear();
  return canceller_.stop_within(timeout);
}

void Pool::work() {
  take_jobs();
  {
    const std::lock_guard lock(mutex_);
    --running_;
  }
  changed_.notify_all();
}

void Pool::take_jobs() {
  Session session(*this);
  for (;;) {
    Job job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) break;
      job = std::move(jobs_.front());
      jobs_.pop_front();
      waiting_.store(jobs_.size(), std::memory_order_relaxed);
    }
    busy_.fetch_add(1, std::memory_order_relaxed);
    job(session);
    busy_.fetch_sub(1, std::memory_order_relaxed);
  }
}

std::unique_ptr<pqxx::connection> Pool::make_connection() {
  {
    const std::lock_guard lock(mutex_);
    if (steady_clock::now() < away_until_) return nullptr;
  }
  try {
    auto made = connect(options_);
    connected_.fetch_add(1, std::memory_order_relaxed);
    reachable_.store(true, std::memory_order_relaxed);
    return made;
  } catch (const std::exception&) {
    count_failure(FailureClass::away);
    reachable_.store(false, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    away_until_ = steady_clock::now() + kAwayFor;
    return nullptr;
  }
}

pqxx::connection* Session::connection() {
  if (connection_ && !connection_->is_open()) drop();
  if (!connection_) connection_ = pool_.make_connection();
  return connection_.get();
}

void Session::drop() {
  if (!connection_) return;
  connection_.reset();
  pool_.connected_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace sluice::server::postgres
