#include "server/postgres/transaction.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pqxx/pqxx>

#include "common/base/crypto.hpp"
#include "common/tracing/attribute_names.hpp"
#include "server/postgres/failure.hpp"
#include "server/postgres/statement_summary.hpp"

namespace sluice::server::postgres {

void Transaction::set(std::string_view name, std::string_view value, std::string& sql) {
  sql.append(fmt::format("SET LOCAL sluice.{} TO {};", name, work_.quote(std::string(value))));
}

void Transaction::set_deadline(std::chrono::steady_clock::time_point deadline) {
  const auto clock_us =
      exec_text("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")[0][0].as<std::int64_t>();
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(deadline - std::chrono::steady_clock::now());
  if (left.count() <= 0) throw DeadlinePassed();
  deadline_us_ = clock_us + left.count();
}

void Transaction::enter(const Scope& scope) {
  std::string sql;
  set("organization", scope.organization, sql);
  set("tenants", fmt::format("{}", fmt::join(scope.tenants, ",")), sql);
  set("actor", scope.actor, sql);
  set("presented", "", sql);
  exec_text(sql);
}

std::string Transaction::limit_idling(const std::string& limit) {
  static constexpr const char* kSwap =
      "SELECT current_setting('idle_in_transaction_session_timeout'), "
      "set_config('idle_in_transaction_session_timeout', $1, true)";
  return exec(kSwap, limit)[0][0].c_str();
}

void Transaction::present(std::string_view token_id) {
  std::string sql;
  set("presented", token_id, sql);
  exec_text(sql);
}

tracing::ActiveSpan Transaction::begin_span(std::string_view sql) const {
  const std::string summary = summary_of(sql);
  tracing::ActiveSpan span = trace_.child(summary, tracing::SpanKind::client);
  if (!span) return span;
  span->set(tracing::attribute::kDbSystem, "postgresql");
  span->set(tracing::attribute::kDbNamespace, work_.conn().dbname());
  span->set(tracing::attribute::kDbOperation, operation_of(summary));
  span->set(tracing::attribute::kDbQuerySummary, summary);
  return span;
}

// PostgreSQL's message may quote values, so the span gets the SQLSTATE or the class of the failure.
void Transaction::note_failure(const tracing::ActiveSpan& span, const std::exception& error) {
  if (!span) return;
  const auto* const refused = dynamic_cast<const pqxx::sql_error*>(&error);
  const bool has_state = refused != nullptr && !refused->sqlstate().empty();
  span->fail(has_state ? std::string_view(refused->sqlstate()) : to_string(classify(error)));
}

std::string bytea(std::string_view bytes) {
  std::string text = "\\x";
  append_hex(as_bytes(bytes), text);
  return text;
}

std::string text_array(const std::vector<std::string>& texts) {
  std::string literal = "{";
  for (const std::string& text : texts) {
    if (literal.size() > 1) literal += ',';
    literal += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') literal += '\\';
      literal += c;
    }
    literal += '"';
  }
  return literal += '}';
}

}  // namespace sluice::server::postgres
