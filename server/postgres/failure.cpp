#include "server/postgres/failure.hpp"

#include <algorithm>

#include <pqxx/except>

namespace sluice::server::postgres {

std::string_view to_string(FailureClass failure) {
  static constexpr std::array<std::string_view, kFailureClasses> kNames{
      "unreachable", "in_doubt", "timeout", "conflict", "referenced", "full", "other"};
  return kNames[static_cast<std::size_t>(failure)];
}

// https://www.postgresql.org/docs/15/errcodes-appendix.html
FailureClass classify_state(std::string_view state) {
  if (state.starts_with("08") || state.starts_with("57P")) return FailureClass::away;
  if (state == "55P03" || state == "57014" || state == "25P03") return FailureClass::timeout;
  if (state == "40001" || state == "40P01" || state == "23505") return FailureClass::conflict;
  if (state == "23503") return FailureClass::referenced;
  if (state.starts_with("53")) return FailureClass::full;
  return FailureClass::other;
}

FailureClass classify(const std::exception& error) {
  if (dynamic_cast<const pqxx::in_doubt_error*>(&error) != nullptr) return FailureClass::in_doubt;
  // In libpqxx 6.4 the next three exceptions are not derived from sql_error and have no SQLSTATE.
  if (dynamic_cast<const pqxx::statement_completion_unknown*>(&error) != nullptr) return FailureClass::in_doubt;
  if (dynamic_cast<const pqxx::transaction_rollback*>(&error) != nullptr) return FailureClass::conflict;
  if (dynamic_cast<const pqxx::too_many_connections*>(&error) != nullptr) return FailureClass::full;
  if (const auto* sql = dynamic_cast<const pqxx::sql_error*>(&error)) {
    // If PostgreSQL itself ends the session, it sends an SQLSTATE before it closes the connection.
    return classify_state(sql->sqlstate());
  }
  if (dynamic_cast<const pqxx::broken_connection*>(&error) != nullptr) return FailureClass::away;
  return FailureClass::other;
}

std::string describe(const std::exception& error) {
  std::string text = error.what();
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

}  // namespace sluice::server::postgres
