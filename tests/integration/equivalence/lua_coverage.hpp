// Branch counting for the production scripts: an instrumented copy is made from their text, run beside them, and asked
// which of its branches were ever taken.
//
// A branch is: each arm of an if (the missing else too), each loop's body, each function's body, and each right operand
// of `and` and `or` (in `a and b or c`: b, and c).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::test {

struct LuaBranch {
  std::size_t line = 0;
  std::string what;  // "then", "else", "no else", "do", "function", "and", "or"
};

struct InstrumentedScript {
  std::string text;
  std::vector<LuaBranch> branches;
};

// `hits` is the hash in which the copy counts, by index of the branch. Throws std::runtime_error on text it cannot
// follow.
InstrumentedScript instrument(std::string_view script, std::string_view hits);

}  // namespace sluice::test
