// Errors as values. Exceptions are for program start and, in the server, for refusals and PostgreSQL errors.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

struct Error {
  std::string code;  // snake_case, for programs; stays the same between releases
  std::string text;  // one sentence for people: what failed, why, and what to do
};

template <class T = void>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> failure(std::string code, std::string text) {
  return std::unexpected(Error{std::move(code), std::move(text)});
}

// One invalid place in a document. Parsers report all faults of a document.
struct Fault {
  std::string pointer;  // JSON pointer (RFC 6901) to the value; "" is the whole document
  std::string text;     // the rule that was broken, and how to fix it
  // Where the value begins. Lines and columns (in characters) count from 1. 0 means unknown.
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};
using Faults = std::vector<Fault>;

}  // namespace sluice
