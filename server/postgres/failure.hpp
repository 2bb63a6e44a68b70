// Classes of failures of PostgreSQL, by what the caller can do about them.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace sluice::server::postgres {

enum class FailureClass : std::uint8_t {
  away,        // no connection, a connection lost before COMMIT, or PostgreSQL is starting or stopping
  in_doubt,    // the connection was lost during COMMIT: the transaction may or may not be committed
  timeout,     // a lock or a statement took too long
  conflict,    // deadlock, serialization failure, or a unique key that a concurrent transaction took: retry
  referenced,  // a foreign key constraint was violated
  full,        // disk, memory or connections are used up
  other,       // a bug, or an unexpected schema
};
inline constexpr std::size_t kFailureClasses = 7;

// The name in logs and metrics; "unreachable" for `away`.
std::string_view to_string(FailureClass failure);

FailureClass classify(const std::exception& error);
FailureClass classify_state(std::string_view sqlstate);

// Returns only the first line of the exception's text, because further lines may quote values from rows.
std::string describe(const std::exception& error);

}  // namespace sluice::server::postgres
