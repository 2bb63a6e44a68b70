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
  const std::vector<std::pair<std::string_view, FailureClass>> kStates = {
      {"08000", FailureClass::away},     {"08006", FailureClass::away},     {"57P01", FailureClass::away},
      {"57P02", FailureClass::away},     {"57P03", FailureClass::away},     {"57014", FailureClass::timeout},
      {"55P03", FailureClass::timeout},  {"25P03", FailureClass::timeout},  {"40001", FailureClass::conflict},
      {"40P01", FailureClass::conflict}, {"23505", FailureClass::conflict}, {"23503", FailureClass::referenced},
      {"53100", FailureClass::full},     {"53200", FailureClass::full},     {"53300", FailureClass::full},
      {"42501", FailureClass::other},    {"42P01", FailureClass::other},    {"23514", FailureClass::other},
      {"22P02", FailureClass::other},    {"", FailureClass::other},         {"5", FailureClass::other},
  };
  for (const auto& [state, wanted] : kStates) {
    CAPTURE(state);
    CHECK(classify_state(state) == wanted);
  }
}

TEST_CASE("exceptions of libpqxx are sorted the same, also those that tell no SQLSTATE") {
  CHECK(classify(pqxx::sql_error("x", "SELECT", "55P03")) == FailureClass::timeout);
  CHECK(classify(pqxx::sql_error("x", "SELECT", "57P01")) == FailureClass::away);
  CHECK(classify(pqxx::unique_violation("x", "INSERT", "23505")) == FailureClass::conflict);
  CHECK(classify(pqxx::foreign_key_violation("x", "INSERT", "23503")) == FailureClass::referenced);
  CHECK(classify(pqxx::deadlock_detected("x")) == FailureClass::conflict);
  CHECK(classify(pqxx::serialization_failure("x")) == FailureClass::conflict);
  CHECK(classify(pqxx::statement_completion_unknown("x")) == FailureClass::in_doubt);
  CHECK(classify(pqxx::in_doubt_error("x")) == FailureClass::in_doubt);
  CHECK(classify(pqxx::broken_connection("x")) == FailureClass::away);
  CHECK(classify(pqxx::too_many_connections("x")) == FailureClass::full);
  CHECK(classify(pqxx::insufficient_privilege("x")) == FailureClass::other);
  CHECK(classify(std::runtime_error("x")) == FailureClass::other);
}

TEST_CASE("each class has a name of its own") {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kFailureClasses; ++i) {
    CHECK(names.insert(to_string(static_cast<FailureClass>(i))).second);
  }
  CHECK(names.contains("in_doubt"));
}

TEST_CASE("what is logged is the first line: those behind it quote rows") {
  CHECK(describe(std::runtime_error("ERROR:  duplicate key\nDETAIL:  Key (id)=(secret) already exists.")) ==
        "ERROR:  duplicate key");
  CHECK(describe(std::runtime_error("plain")) == "plain");
}

}  // namespace sluice::server
