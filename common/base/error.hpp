// Errors as values: a code for programs and a text for people.
//
// Code that decides checks returns Result<T>. Exceptions are for program start and, in the server, for refusals and
// PostgreSQL errors.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

struct Error {
  std::string code;  // snake_case; programs compare it, so it stays the same between releases
  std::string text;  // one sentence: what failed, why, and what to do about it where that helps
};

template <class T = void>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> failure(std::string code, std::string text) {
  return std::unexpected(Error{std::move(code), std::move(text)});
}

// One invalid place in a document; users read "validation error". Readers report all faults of a document, not only the
// first.
struct Fault {
  std::string pointer;  // JSON pointer (RFC 6901) to the value; "" is the whole document
  std::string text;     // the rule that was broken, and how to fix it
  // Where the value begins in the text that was read. Lines and columns (in characters) count from 1; 0: not known.
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};
using Faults = std::vector<Fault>;

}  // namespace sluice
