// One transaction in a scope. PostgreSQL's row-level security hides rows outside the scope and refuses to write them.
//
// Each statement becomes a span below the one that the transaction belongs to. The span has a summary of the statement,
// never its text or its parameters: both may hold values.
//
// Thread: that of its connection. Everything throws what libpqxx throws.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <pqxx/connection>
#include <pqxx/result>
#include <pqxx/transaction>

#include "common/tracing/parent.hpp"

namespace sluice::server::postgres {

// The rows that a transaction may see and change.
struct Scope {
  std::string organization;          // "*": all rows; "": no rows
  std::vector<std::string> tenants;  // empty: all tenants of the organization
  std::string actor;                 // id of the admin token whose Idempotency-Keys the transaction also sees

  static Scope everything(std::string actor) { return {.organization = "*", .tenants = {}, .actor = std::move(actor)}; }
  bool operator==(const Scope&) const = default;
};

// The deadline of a transaction has passed. The transaction must not commit.
struct DeadlinePassed : std::exception {
  const char* what() const noexcept override { return "the deadline of the transaction has passed"; }
};

class Transaction {
 public:
  // The transaction sees no rows before enter().
  explicit Transaction(pqxx::connection& connection, tracing::Parent trace = {})
      : work_(connection, "sluice"), trace_(std::move(trace)) {}

  // REQUIRES: called before the first read.
  void use_one_snapshot() { exec_text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"); }
  // Reads PostgreSQL's clock. From then on deadline_us() is the deadline on that clock, never later than `deadline`:
  // the remaining time is taken after PostgreSQL has answered. Throws DeadlinePassed if no time is left.
  void set_deadline(std::chrono::steady_clock::time_point deadline);
  // Unix time in µs on PostgreSQL's clock; kNoDeadline before set_deadline().
  static constexpr std::int64_t kNoDeadline = std::numeric_limits<std::int64_t>::max();
  std::int64_t deadline_us() const { return deadline_us_; }
  void enter(const Scope& scope);
  // Makes the token with this id visible until the next enter(), so that the sender of the token can be authenticated.
  void present(std::string_view token_id);

  template <class... Args>
  pqxx::result exec(const std::string& sql, Args&&... args) {
    return traced(sql, [&] { return work_.exec_params(sql, std::forward<Args>(args)...); });
  }
  // `sql` may hold several statements. REQUIRES: `sql` contains no text from a request.
  pqxx::result exec_text(const std::string& sql) {
    return traced(sql, [&] { return work_.exec(sql); });
  }

  // Runs a long `task` that does not use PostgreSQL. REQUIRES: the transaction holds no lock that others wait for.
  template <class Task>
  auto without_idle_timeout(Task task) {
    const std::string limit = limit_idling("0");
    auto done = task();
    limit_idling(limit);
    return done;
  }

  pqxx::work& work() { return work_; }

  void commit() {
    traced("COMMIT", [this] { work_.commit(); });
  }

  // The span that the transaction belongs to.
  const tracing::Parent& trace() const { return trace_; }

 private:
  template <class Run>
  std::invoke_result_t<Run&> traced(std::string_view sql, Run run) {
    if (!trace_) return run();
    const tracing::ActiveSpan span = begin_span(sql);
    try {
      return run();
    } catch (const std::exception& error) {
      note_failure(span, error);
      throw;
    }
  }
  tracing::ActiveSpan begin_span(std::string_view sql) const;
  static void note_failure(const tracing::ActiveSpan& span, const std::exception& error);

  std::string limit_idling(const std::string& limit);  // returns the former limit
  void set(std::string_view name, std::string_view value, std::string& sql);

  pqxx::work work_;
  const tracing::Parent trace_;
  std::int64_t deadline_us_ = kNoDeadline;
};

// Literals of PostgreSQL: "\x…" for bytes, "{…}" for an array.
std::string bytea(std::string_view bytes);
std::string text_array(const std::vector<std::string>& texts);

}  // namespace sluice::server::postgres
