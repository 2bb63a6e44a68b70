// Runs a call: one transaction from the token to the commit, the same steps for every route.
#pragma once

#include <string>

#include <pqxx/connection>

#include "common/base/clock.hpp"
#include "common/telemetry/log.hpp"
#include "server/admin/call.hpp"
#include "server/admin/tenant_snapshots.hpp"
#include "server/auth/throttle.hpp"
#include "server/counters/publisher.hpp"
#include "server/http/refusal.hpp"
#include "server/postgres/pool.hpp"

namespace sluice::server::admin {

inline constexpr unsigned kGoOn = 100;  // "Continue": no refusal

// Thread safety: run() on any thread of the pool, each with its own session.
class Executor {
 public:
  Executor(postgres::Pool& pool, auth::FailureThrottle& throttle, const Clock& clock, telemetry::Log& log)
      : pool_(pool), throttle_(throttle), clock_(clock), log_(log) {}

  // Before the first run(): to whom overrides are told.
  void publish_through(counters::Publisher& publisher) { publisher_ = &publisher; }

  // Whether the call may be made, before its body is there: kGoOn, or a refusal. Never throws.
  FinishedAnswer admit(postgres::Session& session, const Call& call);
  // Never throws.
  FinishedAnswer run(postgres::Session& session, const Call& call);

 private:
  struct Performed;

  FinishedAnswer with_retries(postgres::Session& session, const Call& call,
                              FinishedAnswer (Executor::*step)(pqxx::connection&, const Call&));
  FinishedAnswer look(pqxx::connection& connection, const Call& call);
  FinishedAnswer attempt(pqxx::connection& connection, const Call& call);
  Performed perform(pqxx::connection& connection, const Call& call);
  auth::Principal identify(postgres::Transaction& tx, const Call& call);
  FinishedAnswer failed(const std::exception& error, const Call& call);

  postgres::Pool& pool_;
  auth::FailureThrottle& throttle_;
  const Clock& clock_;
  telemetry::Log& log_;
  TenantSnapshots snapshots_;
  counters::Publisher* publisher_ = nullptr;
};

}  // namespace sluice::server::admin
