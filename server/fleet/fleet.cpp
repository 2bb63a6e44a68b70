#include "server/fleet/fleet.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <pqxx/pqxx>

#include "common/base/crypto.hpp"
#include "server/fleet/fleet_store.hpp"
#include "server/postgres/failure.hpp"
#include "server/postgres/transaction.hpp"

namespace sluice::server::fleet {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::minutes kLogQuotaEvery{1};

std::string random_name() {
  std::array<std::uint8_t, 8> bytes;
  random_bytes(bytes);
  return to_hex(bytes);
}

postgres::Scope everything() { return postgres::Scope::everything("sluice-server"); }

}  // namespace

Fleet::Fleet(postgres::DatabaseOptions database, Options options, const Clock& clock, telemetry::Log& log)
    : database_(std::move(database)),
      options_(std::move(options)),
      clock_(clock),
      log_(log),
      outage_(log, {"fleet_still_failing", "Agents' reports still cannot be stored.", "fleet_stored",
                    "The server can store agents' reports again."}),
      replica_(random_name()),
      agents_(options_.agents),
      usage_(options_.max_rows) {}

Fleet::~Fleet() { stop(); }

void Fleet::start() {
  next_state_ = next_read_ = steady_clock::now();
  next_batch_ = next_state_ + options_.batch_every;
  thread_.start([this] { run(); });
}

bool Fleet::stop_within(std::chrono::milliseconds timeout) {
  request_stop();
  if (!thread_.finished_within(timeout)) return false;
  thread_.join();
  return true;
}

void Fleet::stop() {
  request_stop();
  thread_.join();
}

void Fleet::request_stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

std::expected<std::int64_t, sync::QuotaExceeded> Fleet::report(const sync::AgentCaller& caller,
                                                               std::string_view /*source*/,
                                                               sluice::sync::ReportDocument report) {
  const FleetTime now = options_.now();
  const std::lock_guard lock(mutex_);
  if (auto listed = agents_.report(caller, report.agent, now); !listed) {
    note_unlisted(listed.error(), now);
    statistics_.dropped += report.reports.size();
    return std::unexpected(std::move(listed.error()));
  }
  const auto added = usage_.add(caller, report.agent.agent_id, report.agent.boot_id, std::move(report.reports), now);
  statistics_.replayed += added.replayed;
  statistics_.dropped += added.over_limit;
  statistics_.waiting_rows = static_cast<std::int64_t>(usage_.rows());
  if (usage_.is_filling()) changed_.notify_all();
  return added.stored;
}

void Fleet::watch_began(const sync::AgentCaller& caller, std::string_view agent_id,
                        const std::optional<sluice::sync::Position>& held) {
  const std::lock_guard lock(mutex_);
  const FleetTime now = options_.now();
  if (const auto listed = agents_.watch_began(caller, agent_id, held, now); !listed) note_unlisted(listed.error(), now);
}

// REQUIRES: mutex_ is locked.
void Fleet::note_unlisted(const sync::QuotaExceeded& exceeded, FleetTime now) {
  ++statistics_.unlisted;
  if (quota_logged_at_ && now - *quota_logged_at_ < kLogQuotaEvery) return;
  quota_logged_at_ = now;
  log_.warn("agent_quota",
            "An additional agent is not listed, and its reports are refused, because a quota is used up.",
            {{"quota", exceeded.quota},
             {"owner_kind", exceeded.owner_kind},
             {"owner", exceeded.owner},
             {"used", static_cast<std::int64_t>(exceeded.used)},
             {"limit", static_cast<std::int64_t>(exceeded.limit)}});
}

void Fleet::watch_ended(const sync::AgentCaller& caller, std::string_view agent_id) {
  const std::lock_guard lock(mutex_);
  agents_.watch_ended(caller, agent_id);
}

sluice::sync::LiveAgents Fleet::live_agents(const sync::AgentCaller& caller) {
  const std::lock_guard lock(mutex_);
  sluice::sync::LiveAgents live = agents_.live_agents(caller, options_.now());
  update_counts();
  return live;
}

void Fleet::set_quotas(const auth::KnownQuotasPtr& quotas) {
  const std::lock_guard lock(mutex_);
  agents_.set_quotas(quotas);
}

std::set<std::string, std::less<>> Fleet::tokens_with_other_logins(std::string_view generation) const {
  const std::lock_guard lock(mutex_);
  return agents_.tokens_with_other_logins(generation, options_.now());
}

std::size_t Fleet::live() const { return static_cast<std::size_t>(statistics_.live.load()); }

// REQUIRES: mutex_ is locked.
void Fleet::update_counts() {
  const AgentTable::Counts& counts = agents_.counts(options_.now());
  statistics_.live = static_cast<std::int64_t>(counts.live.total());
  statistics_.missing = static_cast<std::int64_t>(counts.missing);
}

void Fleet::run() {
  while (wait()) run_once(false);
  {
    const std::lock_guard lock(mutex_);
    agents_.end_watches();
  }
  run_once(true);
}

bool Fleet::wait() {
  std::unique_lock lock(mutex_);
  const Time next = std::min({next_state_, next_read_, next_batch_});
  changed_.wait_until(lock, next, [this] { return stopping_ || (usage_.is_filling() && !failing_); });
  update_counts();
  usage_.forget(options_.now());
  if (usage_.is_filling() && !failing_) next_batch_ = steady_clock::now();
  return !stopping_;
}

// `last`: stores everything that waits, because the server stops.
void Fleet::run_once(bool last) {
  const Time now = steady_clock::now();
  try {
    if (!connection_ || !connection_->is_open()) connection_ = postgres::connect(database_);
    if (last || now >= next_state_) store_state(*connection_);
    if (!last && now >= next_read_) read_fleet(*connection_);
    if (last || now >= next_batch_) store_batch(*connection_);
    failing_ = false;
    outage_.works(0);
  } catch (const std::exception& error) {
    on_failure(error);
  }
  outage_.tick();
  // After a failure, everything that was due is retried together with the next store_state().
  const auto step = [now](Time& next, std::chrono::milliseconds every) {
    if (now >= next) next = now + every;
  };
  step(next_state_, options_.store_every);
  if (failing_) {
    next_read_ = std::max(next_read_, next_state_);
    next_batch_ = std::max(next_batch_, next_state_);
    return;
  }
  step(next_read_, options_.read_every);
  step(next_batch_, options_.batch_every);
}

void Fleet::on_failure(const std::exception& error) {
  ++statistics_.failures;
  outage_.failed(0, "fleet_failed", "Agents' reports could not be stored; the server retries every second.",
                 {std::string(to_string(postgres::classify(error))), postgres::describe(error)});
  failing_ = true;
  connection_.reset();
}

void Fleet::store_state(pqxx::connection& connection) {
  std::vector<AgentRow> rows;
  {
    const std::lock_guard lock(mutex_);
    rows = agents_.take_changed(options_.now());
  }
  if (rows.empty()) return;
  try {
    postgres::Transaction tx(connection);
    tx.enter(everything());
    ++statistics_.statements;
    store_agents(tx, rows, replica_);
    tx.commit();
  } catch (...) {
    const std::lock_guard lock(mutex_);
    agents_.put_back(rows);
    throw;
  }
}

void Fleet::read_fleet(pqxx::connection& connection) {
  std::vector<std::string> organizations;
  {
    const std::lock_guard lock(mutex_);
    organizations = agents_.counts(options_.now()).live.organizations_to_list();
  }
  postgres::Transaction tx(connection);
  tx.enter(everything());
  ++statistics_.statements;
  const std::vector<StoredAgent> stored = read_agents(tx);
  TenantsByOrganization tenants;
  if (!organizations.empty()) {
    ++statistics_.statements;
    tenants = read_tenants(tx, organizations);
  }
  const std::lock_guard lock(mutex_);
  agents_.replace_stored(stored, std::move(tenants), options_.now());
  update_counts();
}

void Fleet::store_batch(pqxx::connection& connection) {
  std::vector<BootReports> taken;
  {
    const std::lock_guard lock(mutex_);
    taken = usage_.take();
  }
  if (taken.empty()) return;
  UsageBatch batch;
  try {
    postgres::Transaction tx(connection);
    tx.enter(everything());
    statistics_.statements += kUsageStatements;
    batch = store_usage(tx, taken, WallTime(Micros(clock_.now_us())));
    tx.commit();
  } catch (...) {
    // If the commit succeeded despite the exception, the stored marks (fleet_store.hpp) prevent a second count.
    const std::lock_guard lock(mutex_);
    usage_.put_back(std::move(taken));
    throw;
  }
  ++statistics_.batches;
  statistics_.stored += batch.stored;
  statistics_.replayed += batch.replayed;
  statistics_.out_of_scope += batch.out_of_scope;
  const std::lock_guard lock(mutex_);
  usage_.confirm_stored(batch.marks);
  statistics_.waiting_rows = static_cast<std::int64_t>(usage_.rows());
}

}  // namespace sluice::server::fleet
