// One transaction in a scope. PostgreSQL's row-level security hides rows outside the scope and refuses to write them.
//
// Thread safety: none; it belongs to the thread of its connection. Everything throws what libpqxx throws (failure.hpp).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pqxx/connection>
#include <pqxx/result>
#include <pqxx/transaction>

namespace sluice::server::postgres {

// The rows that a transaction may see and change.
struct Scope {
  std::string organization;          // "*": all rows; "": no rows
  std::vector<std::string> tenants;  // empty: all tenants of the organization
  std::string actor;                 // the admin token's id: the transaction also sees this token's Idempotency-Keys

  static Scope everything(std::string actor) { return {.organization = "*", .tenants = {}, .actor = std::move(actor)}; }
  bool operator==(const Scope&) const = default;
};

class Transaction {
 public:
  // The transaction starts in no scope and sees no rows.
  explicit Transaction(pqxx::connection& connection) : work_(connection, "sluice") {}

  // Makes all reads see the same state of the database. REQUIRES: called before the first read.
  void use_one_snapshot() { work_.exec("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"); }
  // Sets the scope, until the end of the transaction or the next enter().
  void enter(const Scope& scope);
  // Makes the token with this id visible until the next enter(), so that the sender of the token can be authenticated.
  void present(std::string_view token_id);

  template <class... Args>
  pqxx::result exec(const std::string& sql, Args&&... args) {
    return work_.exec_params(sql, std::forward<Args>(args)...);
  }
  // Executes `sql` as it is; it may hold several statements. REQUIRES: `sql` contains no text from a request.
  pqxx::result exec_text(const std::string& sql) { return work_.exec(sql); }

  // Runs `work`, which takes long and does not use PostgreSQL. Switches off the idle time-out meanwhile, so that
  // PostgreSQL does not end this session. REQUIRES: the transaction holds no lock that others wait for.
  template <class Work>
  auto without_idle_timeout(Work work) {
    const std::string limit = limit_idling("0");
    auto done = work();
    limit_idling(limit);
    return done;
  }

  pqxx::work& work() { return work_; }  // for functions that take a transaction of libpqxx

  void commit() { work_.commit(); }

 private:
  std::string limit_idling(const std::string& limit);  // returns the former limit
  void set(std::string_view name, std::string_view value, std::string& sql);

  pqxx::work work_;
};

// Bytes in PostgreSQL's text form of bytea: "\x…".
std::string bytea(std::string_view bytes);

// A list of texts as an array literal.
std::string text_array(const std::vector<std::string>& texts);

}  // namespace sluice::server::postgres
