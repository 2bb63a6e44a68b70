// The C interface from several threads. ThreadSanitizer runs this.
#include <doctest/doctest.h>

#include "tests/unit/libsluice/c_crowd.hpp"

namespace sluice {
namespace {

TEST_CASE("C: threads check, lease and load at once, and the counters hold exactly what they were allowed") {
  CCrowd crowd({});
  crowd.run(20);
  crowd.require_order();
}

TEST_CASE("C: threads share a memory limit") {
  CCrowd crowd({{"memory_limit", "1000000"}});
  crowd.run(3);
  crowd.require_order();
}

}  // namespace
}  // namespace sluice
