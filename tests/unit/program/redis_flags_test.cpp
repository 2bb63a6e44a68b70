#include "common/program/redis_flags.hpp"

#include <doctest/doctest.h>

namespace sluice::program {
namespace {

std::string clear_text_host_of(std::string_view url) {
  const auto target = redis::parse_target(url);
  REQUIRE(target);
  return clear_text_host(*target);
}

TEST_CASE("Without TLS, one host on another machine is enough for clear text to cross the network") {
  CHECK(clear_text_host_of("redis://redis.example") == "redis.example");
  CHECK(clear_text_host_of("redis://:word@10.0.0.1:6380/2") == "10.0.0.1");
  CHECK(clear_text_host_of("redis://[fd00::7]") == "fd00::7");
  CHECK(clear_text_host_of("redis://127.evil.example") == "127.evil.example");
  CHECK(clear_text_host_of("redis+sentinel://localhost,127.0.0.1:1,b.example/main") == "b.example");
  CHECK(clear_text_host_of("redis+cluster://[::1],10.0.0.2:7000,c.example") == "10.0.0.2");
}

TEST_CASE("Clear text stays on this machine, and TLS may go anywhere") {
  for (const char* url :
       {"redis://127.0.0.1", "redis://localhost:6380/1", "redis://[::1]", "redis://[::ffff:127.0.0.1]",
        "redis+sentinel://localhost,127.0.0.2/main", "redis+cluster://[::1],127.0.0.1:7001", "unix:/run/redis.sock",
        "rediss://redis.example", "rediss+sentinel://a,b/main", "rediss+cluster://a.example,b.example"}) {
    CAPTURE(url);
    CHECK(clear_text_host_of(url).empty());
  }
}

}  // namespace
}  // namespace sluice::program
