#include "server/admin/executor.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/core.h>
#include <pqxx/pqxx>

#include "server/admin/answers.hpp"
#include "server/admin/caller_gate.hpp"
#include "server/admin/idempotency.hpp"
#include "server/admin/name_check.hpp"
#include "server/admin/playground_api.hpp"
#include "server/admin/quota_check.hpp"
#include "server/admin/routes.hpp"
#include "server/auth/authenticate.hpp"
#include "server/counters/affected.hpp"
#include "server/counters/outbox.hpp"
#include "server/sessions/session_store.hpp"

namespace sluice::server::admin {
namespace {

constexpr int kAttempts = 4;
constexpr std::size_t kReadersBody = 1 << 20;  // bytes; for callers who may only check a body, and store none

FinishedAnswer unavailable(const Call& call, std::string detail, std::string_view type = "unavailable") {
  return http::problem(http::Refusal(503, std::string(type), std::move(detail), {}, "Retry-After: 1\r\n"),
                       call.request_id);
}

FinishedAnswer too_late(const Call& call) {
  return unavailable(call, "PostgreSQL did not answer in time; nothing was changed.", "busy");
}

FinishedAnswer concurrent_change(const Call& call) {
  return http::problem(http::Refusal(409, "concurrent-change",
                                     "Another call changed this object at the same time, or the id is taken. Read the "
                                     "object again, then repeat the call."),
                       call.request_id);
}

void check_body_size(const auth::Principal& principal, const Call& call) {
  if (call.body_bytes <= kReadersBody || auth::allows(principal.role, auth::Permission::configure)) return;
  throw http::Refusal(
      413, "body-too-large",
      fmt::format("A caller with the role {} may send at most {} bytes; these roles may send more: {}.",
                  to_string(principal.role), kReadersBody, auth::roles_with(auth::Permission::configure)));
}

void check_permission(const auth::Principal& principal, const Route& route) {
  if (!auth::allows(principal.role, route.permission)) {
    throw http::Refusal(
        403, "forbidden",
        fmt::format("This route needs the permission {}. The role {} does not have it; these roles do: {}.",
                    to_string(route.permission), to_string(principal.role), auth::roles_with(route.permission)));
  }
  if (principal.scope_level() < route.level) {
    throw http::Refusal(
        403, "forbidden",
        route.level == auth::Level::platform
            ? "This route needs a token for the whole platform; this token is limited to an organization."
            : "This route needs a token for the whole organization; this token is limited to tenants.");
  }
}

}  // namespace

FinishedAnswer Executor::run(postgres::Session& session, const Call& call, CallProgress& progress) {
  try {
    call.memory->raise_to(call.yaml ? http::weight_of_yaml(call.body) : http::weight_of_json(call.body));
  } catch (const http::Refusal& refusal) {
    progress.finish();
    return http::problem(refusal, call.request_id);
  }
  return run_step(session, call, progress, &Executor::attempt);
}

FinishedAnswer Executor::admit(postgres::Session& session, const Call& call, CallProgress& progress) {
  return run_step(session, call, progress, &Executor::check_caller);
}

FinishedAnswer Executor::run_step(postgres::Session& session, const Call& call, CallProgress& progress, Step step) {
  FinishedAnswer answer = with_retries(session, call, progress, step);
  // A cancel request may still be on its way to this connection.
  if (!progress.finish()) session.drop();
  return answer;
}

FinishedAnswer Executor::check_caller(pqxx::connection& connection, const Call& call, CallProgress& /*progress*/) {
  postgres::Transaction tx(connection, call.trace);
  authenticate_caller(tx, call);
  FinishedAnswer answer;
  answer.status = kAdmitted;
  return answer;
}

// Repeats `step` after a conflict or a lost connection, as long as nothing was committed.
FinishedAnswer Executor::with_retries(postgres::Session& session, const Call& call, CallProgress& progress, Step step) {
  for (int attempts = 1;; ++attempts) {
    pqxx::connection* const connection = session.connection();
    if (connection == nullptr) {
      count_in_outage();
      return unavailable(call, "PostgreSQL cannot be reached; nothing was changed.");
    }
    if (!progress.attempt(session.shared())) return too_late(call);
    const bool last = attempts == kAttempts;
    try {
      return (this->*step)(*connection, call, progress);
    } catch (const http::Refusal& refusal) {
      return http::problem(refusal, call.request_id);
    } catch (const postgres::DeadlinePassed&) {
      pool_.count_failure(postgres::FailureClass::timeout);
      return too_late(call);
    } catch (const ConcurrentChange&) {
      if (last) return concurrent_change(call);
    } catch (const std::exception& error) {
      const postgres::FailureClass failure = postgres::classify(error);
      pool_.count_failure(failure);
      if (failure == postgres::FailureClass::away) session.drop();
      // After a `conflict` or `away`, nothing was committed. After `away`, the next attempt gets a new connection.
      const bool again = failure == postgres::FailureClass::conflict || failure == postgres::FailureClass::away;
      if (last && failure == postgres::FailureClass::conflict) return concurrent_change(call);
      if (last || !again) return failure_answer(error, call);
    }
  }
}

// Also limits `tx` to the caller's scope, and checks the caller's permission. Throws Refusal.
auth::Principal Executor::authenticate_caller(postgres::Transaction& tx, const Call& call) {
  if (call.route->open) return enter_as_visitor(tx, playground_);
  const std::int64_t now_us = clock_.now_us();
  auto principal = call.session.empty() ? auth::authenticate(tx, call.authorization, now_us)
                                        : sessions::authenticate(tx, call.session.hash, now_us);
  if (!principal) throw unauthorized(throttle_, call, principal.error(), now_us);
  tx.enter(principal->scope());
  check_permission(*principal, *call.route);
  check_body_size(*principal, call);
  return std::move(*principal);
}

// A call whose overrides and resets are not published yet.
struct Executor::CommittedCall {
  Answer answer;
  std::optional<std::int64_t> revision;
  auth::Principal principal;
  bool wrote_rows = false;                     // Context::wrote_rows
  bool idempotent = false;                     // whether the answer is stored under the Idempotency-Key
  std::vector<counters::CounterRef> counters;  // counter keys to publish
  std::vector<counters::RulesPtr> rules;       // compiled by the call

  FinishedAnswer finished(bool published) const {
    return finish(answer, {.revision = revision, .published = published});
  }
};

// Runs the call up to its commit, or finds the stored answer of an earlier call with the same Idempotency-Key.
Executor::CommittedCall Executor::run_transaction(pqxx::connection& connection, const Call& call,
                                                  CallProgress& progress) {
  postgres::Transaction tx(connection, call.trace);
  if (call.route->one_snapshot) tx.use_one_snapshot();
  if (call.route->changes() && progress.deadline() != CallProgress::Time::max()) tx.set_deadline(progress.deadline());
  CommittedCall done{.answer = {},
                     .revision = std::nullopt,
                     .principal = authenticate_caller(tx, call),
                     .wrote_rows = false,
                     .idempotent = false,
                     .counters = {},
                     .rules = {}};
  const bool idempotent = !call.idempotency_key.empty() && call.route->takes_idempotency_key();
  if (idempotent) {
    if (auto earlier = begin_idempotent(tx, done.principal, call)) {
      done.answer = std::move(*earlier);
      return done;
    }
  }
  store::ChangeLog log;
  Context context{.call = call,
                  .principal = done.principal,
                  .tx = tx,
                  .log = log,
                  .now_us = clock_.now_us(),
                  .snapshots = snapshots_,
                  .fleet_images = fleet_images_,
                  .default_rates = default_rates_,
                  .publisher = publisher_,
                  .webhooks = webhooks_,
                  .playground = playground_};
  done.answer = call.route->handler(context);
  done.wrote_rows = context.wrote_rows;
  if (!log.empty()) {
    done.rules = std::move(context.compiled);
    done.counters = counters::affected_counters(tx, log.changes(), context.now_us, done.rules);
    std::ranges::move(context.resets, std::back_inserter(done.counters));
    counters::enqueue(tx, done.counters);
    check_names(tx, log);
    check_quotas(tx, log);
    done.revision = log.record(tx, {.id = done.principal.token_id,
                                    .role = std::string(to_string(done.principal.role)),
                                    .source = call.source,
                                    .session_id = done.principal.session_id,
                                    .request_id = call.request_id})
                        .number;
  }
  if (idempotent) finish_idempotent(tx, done.principal, call, done.finished(done.counters.empty()));
  if (idempotent || !log.empty() || done.wrote_rows) {
    if (!progress.may_commit()) throw postgres::DeadlinePassed();
    tx.commit();
  }
  done.idempotent = idempotent;
  return done;
}

void Executor::note_use(pqxx::connection& connection, const CommittedCall& done, const Call& call) noexcept {
  const std::string& token = done.principal.token_id;
  try {
    if (call.route->open || !token_uses_.is_due(token, clock_.now_us())) return;
    postgres::Transaction tx(connection, call.trace);
    auth::record_use(tx, token);
    tx.commit();
  } catch (const std::exception& error) {
    pool_.count_failure(postgres::classify(error));
  }
}

FinishedAnswer Executor::attempt(pqxx::connection& connection, const Call& call, CallProgress& progress) {
  const CommittedCall done = run_transaction(connection, call, progress);
  note_use(connection, done, call);
  if (done.counters.empty() || publisher_ == nullptr) return done.finished(done.counters.empty());
  FinishedAnswer answer = done.finished(true);
  const bool published = publisher_->publish(
      connection, done.principal.scope(), done.counters, done.rules,
      [&](postgres::Transaction& tx) {
        if (done.idempotent && done.answer.published) finish_idempotent(tx, done.principal, call, answer);
      },
      call.trace);
  return published ? std::move(answer) : done.finished(false);
}

bool Executor::count_in_outage() { return outage_ != nullptr && outage_->count(); }

void Executor::log_failure(postgres::FailureClass failure, const std::exception& error, const Call& call) {
  if (failure == postgres::FailureClass::away && count_in_outage()) return;
  log_.write(failure == postgres::FailureClass::other ? telemetry::LogLevel::error : telemetry::LogLevel::warn,
             "database_failure", "A call could not be completed.",
             {{"class", to_string(failure)}, {"error", postgres::describe(error)}, {"request_id", call.request_id}});
}

FinishedAnswer Executor::failure_answer(const std::exception& error, const Call& call) {
  const postgres::FailureClass failure = postgres::classify(error);
  log_failure(failure, error, call);
  switch (failure) {
    case postgres::FailureClass::in_doubt:
      return unavailable(call,
                         "The connection to PostgreSQL was lost during the commit: the change may or may not be "
                         "stored. Repeat the call with the same Idempotency-Key, or read the object.",
                         "in-doubt");
    case postgres::FailureClass::timeout:
      return unavailable(call, "Another change held a lock for too long; nothing was changed.", "busy");
    case postgres::FailureClass::referenced:
      return http::problem(http::Refusal(409, "referenced",
                                         "Another call created, changed or removed a related object at the same time: "
                                         "one that this object refers to, or one that refers to it. Check these "
                                         "objects, then repeat the call."),
                           call.request_id);
    case postgres::FailureClass::away:
    case postgres::FailureClass::full:
      return unavailable(call, "PostgreSQL cannot serve this now; nothing was changed.");
    case postgres::FailureClass::conflict:
    case postgres::FailureClass::other:
      break;
  }
  return http::problem(
      http::Refusal(500, "internal", "The server failed unexpectedly. Its log names the cause under the request id."),
      call.request_id);
}

}  // namespace sluice::server::admin
