// Builds an SQL statement with parameters. Values from outside are always parameters, never SQL text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <pqxx/pqxx>

#include "server/postgres/transaction.hpp"

namespace sluice::server::store {

class Statement {
 public:
  explicit Statement(std::string text) : text_(std::move(text)) {}

  Statement& add(std::string_view sql) {
    text_ += sql;
    return *this;
  }
  // Writes the number of the parameter `value` after each '$' of `sql`.
  Statement& add(std::string_view sql, std::optional<std::string> value) {
    values_.push_back(std::move(value));
    for (const char c : sql) {
      text_ += c;
      if (c == '$') text_ += std::to_string(values_.size());
    }
    return *this;
  }
  // Throws what libpqxx throws.
  pqxx::result run(postgres::Transaction& tx) const {
    std::vector<const char*> parameters;
    for (const auto& value : values_) parameters.push_back(value ? value->c_str() : nullptr);
    return tx.exec(text_, pqxx::prepare::make_dynamic_params(parameters));
  }

 private:
  std::string text_;
  std::vector<std::optional<std::string>> values_;
};

// SQL that converts a timestamp column to RFC 3339 text. REQUIRES: the SQL runs on a connection from
// postgres::connect(), which sets the time zone to UTC.
inline std::string as_timestamp(std::string_view column) {
  return std::string("to_char(").append(column).append(R"(, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))");
}

}  // namespace sluice::server::store
