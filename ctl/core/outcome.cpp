#include "ctl/core/outcome.hpp"

#include <cstdio>

#include <fmt/core.h>

namespace sluice::ctl {

Exit fail(const std::string& text) {
  std::fflush(stdout);  // what was printed before the error stands before it
  fmt::print(stderr, "sluicectl: {}\n", text);
  return Exit::failed;
}

}  // namespace sluice::ctl
