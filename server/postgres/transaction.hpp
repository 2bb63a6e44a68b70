// One transaction, in the scope of who asks: row-level security shows and takes nothing beyond it.
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

// What a transaction may see and change.
struct Scope {
  std::string organization;          // "*": everything; "": nothing
  std::vector<std::string> tenants;  // none: all of the organization
  std::string actor;                 // the token's id: whose idempotency keys are seen

  static Scope everything(std::string actor) { return {.organization = "*", .tenants = {}, .actor = std::move(actor)}; }
  bool operator==(const Scope&) const = default;
};

class Transaction {
 public:
  // In no scope yet: nothing can be seen.
  explicit Transaction(pqxx::connection& connection) : work_(connection, "sluice") {}

  // All it reads is of one moment. REQUIRES: nothing was read yet.
  void see_one_state() { work_.exec("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"); }
  void enter(const Scope& scope);
  // Shows the one token of this id, for whoever has yet to prove it.
  void present(std::string_view token_id);

  template <class... Args>
  pqxx::result exec(const std::string& sql, Args&&... args) {
    return work_.exec_params(sql, std::forward<Args>(args)...);
  }
  // Exactly as written, several statements at once too. REQUIRES: no text of a caller in it.
  pqxx::result exec_text(const std::string& sql) { return work_.exec(sql); }

  // Does what takes long and asks nothing of PostgreSQL, which would end a session that is idle meanwhile.
  // REQUIRES: no lock is held that others wait for.
  template <class Work>
  auto unhurried(Work work) {
    const std::string limit = limit_idling("0");
    auto done = work();
    limit_idling(limit);
    return done;
  }

  pqxx::work& work() { return work_; }  // for streams

  void commit() { work_.commit(); }

 private:
  std::string limit_idling(const std::string& limit);  // what it was
  void set(std::string_view name, std::string_view value, std::string& sql);

  pqxx::work work_;
};

// Bytes as PostgreSQL takes them for bytea: "\x…".
std::string bytea(std::string_view bytes);

// A list of texts as the literal of an array.
std::string text_array(const std::vector<std::string>& texts);

}  // namespace sluice::server::postgres
