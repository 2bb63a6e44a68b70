// Runs a call of any route in one transaction, from checking its token to the commit.
#pragma once

#include <string>

#include <pqxx/connection>

#include "common/base/clock.hpp"
#include "common/telemetry/log.hpp"
#include "common/telemetry/outage_log.hpp"
#include "server/admin/call.hpp"
#include "server/admin/call_progress.hpp"
#include "server/admin/fleet_images.hpp"
#include "server/admin/tenant_snapshots.hpp"
#include "server/auth/throttle.hpp"
#include "server/auth/token_uses.hpp"
#include "server/counters/publisher.hpp"
#include "server/http/refusal.hpp"
#include "server/postgres/failure.hpp"
#include "server/postgres/pool.hpp"

namespace sluice::server::admin {

inline constexpr unsigned kAdmitted = 100;  // HTTP's "Continue"

// Threads: run() and admit() on any thread of the pool; each thread has its own session. When the call was given up,
// its answer is meaningless and its session is dropped.
class Executor {
 public:
  // `default_rates`: of tokens without a quota; calls that show quotas show them.
  Executor(postgres::Pool& pool, auth::FailureThrottle& throttle, const TokenRates::PerSecond& default_rates,
           const Clock& clock, telemetry::Log& log)
      : pool_(pool), throttle_(throttle), default_rates_(default_rates), clock_(clock), log_(log) {}

  // REQUIRES: called before the first run().
  void set_publisher(counters::Publisher& publisher) { publisher_ = &publisher; }

  // REQUIRES: called before the first run().
  void set_webhooks(const webhooks::Setup& webhooks) { webhooks_ = &webhooks; }

  // REQUIRES: called before the first run().
  void set_playground(const playground::Setup& setup) { playground_ = &setup; }

  // While PostgreSQL is away, refused calls are counted in this outage's lines, and have no lines of their own.
  // REQUIRES: called before the first run().
  void set_outage(telemetry::OutageLog& outage) { outage_ = &outage; }

  // Checks the caller before the body has arrived. Returns an answer with the status kAdmitted, or a refusal. Never
  // throws.
  FinishedAnswer admit(postgres::Session& session, const Call& call, CallProgress& progress);
  // Sets aside what the body weighs, runs the call, and publishes overrides and resets. Commits only if the call was
  // not given up before. Never throws.
  FinishedAnswer run(postgres::Session& session, const Call& call, CallProgress& progress);

 private:
  struct CommittedCall;

  using Step = FinishedAnswer (Executor::*)(pqxx::connection&, const Call&, CallProgress&);
  FinishedAnswer run_step(postgres::Session& session, const Call& call, CallProgress& progress, Step step);
  FinishedAnswer with_retries(postgres::Session& session, const Call& call, CallProgress& progress, Step step);
  FinishedAnswer check_caller(pqxx::connection& connection, const Call& call, CallProgress& progress);
  FinishedAnswer attempt(pqxx::connection& connection, const Call& call, CallProgress& progress);
  CommittedCall run_transaction(pqxx::connection& connection, const Call& call, CallProgress& progress);
  // After a call: when its token was last used. A failure costs the call nothing.
  void note_use(pqxx::connection& connection, const CommittedCall& done, const Call& call) noexcept;
  auth::Principal authenticate_caller(postgres::Transaction& tx, const Call& call);
  // Also logs the exception.
  FinishedAnswer failure_answer(const std::exception& error, const Call& call);
  bool count_in_outage();
  void log_failure(postgres::FailureClass failure, const std::exception& error, const Call& call);

  postgres::Pool& pool_;
  auth::FailureThrottle& throttle_;
  const TokenRates::PerSecond default_rates_;
  const Clock& clock_;
  telemetry::Log& log_;
  TenantSnapshots snapshots_;
  auth::TokenUses token_uses_;
  FleetImages fleet_images_;
  counters::Publisher* publisher_ = nullptr;
  const webhooks::Setup* webhooks_ = nullptr;
  const playground::Setup* playground_ = nullptr;
  telemetry::OutageLog* outage_ = nullptr;
};

}  // namespace sluice::server::admin
