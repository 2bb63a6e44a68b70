// Runs a call: one transaction from the token to the commit, the same steps for every route.
#pragma once

#include <string>

#include <pqxx/connection>

#include "common/base/clock.hpp"
#include "common/telemetry/log.hpp"
#include "server/admin/call.hpp"
#include "server/admin/refusal.hpp"
#include "server/admin/tenant_snapshots.hpp"
#include "server/auth/throttle.hpp"
#include "server/counters/publisher.hpp"
#include "server/postgres/pool.hpp"

namespace sluice::server {

inline constexpr unsigned kGoOn = 100;  // "Continue": no refusal

// Thread safety: run() on any thread of the pool, each with its own session.
class Executor {
 public:
  Executor(Pool& pool, FailureThrottle& throttle, const Clock& clock, telemetry::Log& log)
      : pool_(pool), throttle_(throttle), clock_(clock), log_(log) {}

  // Before the first run(): to whom overrides are told.
  void publish_through(Publisher& publisher) { publisher_ = &publisher; }

  // Whether the call may be made, before its body is there: kGoOn, or a refusal. Never throws.
  Answer admit(Session& session, const Call& call);
  // Never throws.
  Answer run(Session& session, const Call& call);

 private:
  struct Performed;

  Answer with_retries(Session& session, const Call& call, Answer (Executor::*step)(pqxx::connection&, const Call&));
  Answer look(pqxx::connection& connection, const Call& call);
  Answer attempt(pqxx::connection& connection, const Call& call);
  Performed perform(pqxx::connection& connection, const Call& call);
  Principal identify(Transaction& tx, const Call& call);
  Answer failed(const std::exception& error, const Call& call);

  Pool& pool_;
  FailureThrottle& throttle_;
  const Clock& clock_;
  telemetry::Log& log_;
  TenantSnapshots snapshots_;
  Publisher* publisher_ = nullptr;
};

// A refusal as it is answered.
Answer problem(const Refusal& refusal, std::string_view request_id);

}  // namespace sluice::server
