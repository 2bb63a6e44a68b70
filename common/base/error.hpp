// Errors are values: a code a program can switch on and a text that helps the reader act.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

struct Error {
  std::string code;  // snake_case, stable
  std::string text;  // one sentence: what, why, and where it helps what to do
};

template <class T = void>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> failure(std::string code, std::string text) {
  return std::unexpected(Error{std::move(code), std::move(text)});
}

// One faulty place in a document. Readers of documents report all faults, not the first.
struct Fault {
  std::string pointer;  // JSON pointer (RFC 6901); "" is the whole document
  std::string text;     // the rule that was broken, and the fix
  // Where the pointer leads in the text that was read, in characters from 1; 0 where that is not known.
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};
using Faults = std::vector<Fault>;

}  // namespace sluice
