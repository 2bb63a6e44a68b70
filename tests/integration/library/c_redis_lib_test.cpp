// The C interface from several threads, with counters in a real Redis. ThreadSanitizer runs this.
#include <doctest/doctest.h>

#include "tests/integration/support/redis_server.hpp"
#include "tests/unit/libsluice/c_crowd.hpp"

namespace sluice {
namespace {

TEST_CASE("C: threads check, lease and load at once, and Redis holds exactly what they were allowed") {
  const test::RedisServer redis;
  // Without threads of the engine, whoever waits runs the loop; asynchronous checks would need one who does for them.
  CCrowd crowd({{"redis_url", redis.unix_url()}, {"redis_deadline_ms", "10000"}, {"threads", "2"}});
  crowd.run(6);
  crowd.require_order();
}

}  // namespace
}  // namespace sluice
