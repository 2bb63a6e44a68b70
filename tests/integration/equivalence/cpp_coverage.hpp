// Branch counting for the C++ implementation: this program links a copy of its sources that counts (CMakeLists.txt),
// and asks LLVM's tools which branches were never taken.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sluice::test {

struct CppCoverage {
  std::size_t branches = 0;            // each way of each condition is one
  std::vector<std::string> unreached;  // "file:line:column: never true: source"
};

// Call first: without it a counting program leaves a profile in the folder it runs in.
void leave_no_profile();

// Of the run so far. Nothing where llvm-profdata-19 or llvm-cov-19 is not installed.
std::optional<CppCoverage> cpp_coverage();

}  // namespace sluice::test
