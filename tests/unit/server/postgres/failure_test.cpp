#include "server/postgres/failure.hpp"

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <pqxx/except>

namespace sluice::server {

TEST_CASE("SQLSTATEs are sorted by what the caller can do about them") {
  const std::vector<std::pair<std::string_view, postgres::FailureClass>> kStates = {
      {"08000", postgres::FailureClass::away},     {"08006", postgres::FailureClass::away},
      {"57P01", postgres::FailureClass::away},     {"57P02", postgres::FailureClass::away},
      {"57P03", postgres::FailureClass::away},     {"57014", postgres::FailureClass::timeout},
      {"55P03", postgres::FailureClass::timeout},  {"25P03", postgres::FailureClass::timeout},
      {"40001", postgres::FailureClass::conflict}, {"40P01", postgres::FailureClass::conflict},
      {"23505", postgres::FailureClass::conflict}, {"23503", postgres::FailureClass::referenced},
      {"53100", postgres::FailureClass::full},     {"53200", postgres::FailureClass::full},
      {"53300", postgres::FailureClass::full},     {"42501", postgres::FailureClass::other},
      {"42P01", postgres::FailureClass::other},    {"23514", postgres::FailureClass::other},
      {"22P02", postgres::FailureClass::other},    {"", postgres::FailureClass::other},
      {"5", postgres::FailureClass::other},
  };
  for (const auto& [state, wanted] : kStates) {
    CAPTURE(state);
    CHECK(postgres::classify_state(state) == wanted);
  }
}

TEST_CASE("exceptions of libpqxx are sorted the same, also those that tell no SQLSTATE") {
  CHECK(postgres::classify(pqxx::sql_error("x", "SELECT", "55P03")) == postgres::FailureClass::timeout);
  CHECK(postgres::classify(pqxx::sql_error("x", "SELECT", "57P01")) == postgres::FailureClass::away);
  CHECK(postgres::classify(pqxx::unique_violation("x", "INSERT", "23505")) == postgres::FailureClass::conflict);
  CHECK(postgres::classify(pqxx::foreign_key_violation("x", "INSERT", "23503")) == postgres::FailureClass::referenced);
  CHECK(postgres::classify(pqxx::deadlock_detected("x")) == postgres::FailureClass::conflict);
  CHECK(postgres::classify(pqxx::serialization_failure("x")) == postgres::FailureClass::conflict);
  CHECK(postgres::classify(pqxx::statement_completion_unknown("x")) == postgres::FailureClass::in_doubt);
  CHECK(postgres::classify(pqxx::in_doubt_error("x")) == postgres::FailureClass::in_doubt);
  CHECK(postgres::classify(pqxx::broken_connection("x")) == postgres::FailureClass::away);
  CHECK(postgres::classify(pqxx::too_many_connections("x")) == postgres::FailureClass::full);
  CHECK(postgres::classify(pqxx::insufficient_privilege("x")) == postgres::FailureClass::other);
  CHECK(postgres::classify(std::runtime_error("x")) == postgres::FailureClass::other);
}

TEST_CASE("each class has a name of its own") {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < postgres::kFailureClasses; ++i) {
    CHECK(names.insert(to_string(static_cast<postgres::FailureClass>(i))).second);
  }
  CHECK(names.contains("in_doubt"));
}

TEST_CASE("what is logged is the first line: those behind it quote rows") {
  CHECK(postgres::describe(std::runtime_error("ERROR:  duplicate key\nDETAIL:  Key (id)=(secret) already exists.")) ==
        "ERROR:  duplicate key");
  CHECK(postgres::describe(std::runtime_error("plain")) == "plain");
}

}  // namespace sluice::server
