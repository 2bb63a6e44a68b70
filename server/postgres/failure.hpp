// What can go wrong with PostgreSQL, sorted by what the caller can do about it.
//
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace sluice::server::postgres {

enum class FailureClass : std::uint8_t {
  away,        // no connection, it was lost before COMMIT was sent, or PostgreSQL is starting or stopping
  in_doubt,    // the connection was lost while committing: it may have happened
  timeout,     // a lock or a statement took too long
  conflict,    // deadlock, serialization, or a unique key that somebody else was quicker to take: try again
  referenced,  // a foreign key
  full,        // disk, memory or connections are used up
  other,       // a bug, or a schema that is not ours
};
inline constexpr std::size_t kFailureClasses = 7;

std::string_view to_string(FailureClass failure);

// Of an exception that came out of libpqxx.
FailureClass classify(const std::exception& error);
// Of an SQLSTATE, such as "40P01".
FailureClass classify_state(std::string_view sqlstate);

// For a log line: what libpqxx said, on one line, without values from rows.
std::string describe(const std::exception& error);

}  // namespace sluice::server::postgres
