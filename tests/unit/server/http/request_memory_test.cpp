// The budget of memory for requests.
#include "server/http/request_memory.hpp"

#include <doctest/doctest.h>

#include <string>

namespace sluice::server {
namespace {

using http::RequestMemory;

constexpr std::size_t kMiB = 1 << 20;

// The status with which a share of `bytes` is refused; 200: it is not.
unsigned raise(RequestMemory::Share& share, std::size_t bytes) {
  try {
    share.raise_to(bytes);
  } catch (const http::Refusal& refusal) {
    return refusal.status;
  }
  return 200;
}

TEST_CASE("shares add up to the limit, and come back") {
  RequestMemory memory(4 * kMiB);
  {
    const auto one = memory.share();
    const auto other = memory.share();
    CHECK(raise(*one, 2 * kMiB) == 200);
    CHECK(memory.used() == 2 * kMiB);
    CHECK(raise(*other, 2 * kMiB) == 503);  // beyond three quarters
    CHECK(memory.used() == 2 * kMiB);
    CHECK(raise(*one, 3 * kMiB) == 200);
    one->lower_to(kMiB);
    one->lower_to(2 * kMiB);  // never raises
    CHECK(memory.used() == kMiB);
    CHECK(raise(*other, 2 * kMiB) == 200);
  }
  CHECK(memory.used() == 0);
  CHECK(memory.refused() == 1);
}

TEST_CASE("large requests leave a quarter to small ones") {
  RequestMemory memory(8 * kMiB);
  const auto large = memory.share();
  CHECK(raise(*large, 6 * kMiB + 1) == 413);
  CHECK(raise(*large, 6 * kMiB) == 200);
  const auto small = memory.share();
  CHECK(raise(*small, RequestMemory::kSmall + 1) == 503);
  CHECK(raise(*small, RequestMemory::kSmall) == 200);
  const auto next = memory.share();
  CHECK(raise(*next, RequestMemory::kSmall) == 200);
  const auto last = memory.share();
  CHECK(raise(*last, 1) == 503);
  CHECK(raise(*small, 0) == 200);  // has it already
}

TEST_CASE("a refusal says how much is needed, and what to do") {
  RequestMemory memory(8 * kMiB);
  const auto share = memory.share();
  try {
    share->raise_to(10 * kMiB);
    FAIL("not refused");
  } catch (const http::Refusal& refusal) {
    CHECK(refusal.type == "body-too-large");
    CHECK(refusal.detail.contains("about 10 MiB"));
    CHECK(refusal.detail.contains("at most 6 MiB of the server's --request-memory"));
  }
  const auto other = memory.share();
  share->raise_to(6 * kMiB);
  try {
    other->raise_to(2 * kMiB);
    FAIL("not refused");
  } catch (const http::Refusal& refusal) {
    CHECK(refusal.type == "overload");
    CHECK(refusal.headers == "Retry-After: 1\r\n");
  }
}

TEST_CASE("a body of many values weighs more than one of the same length with few") {
  std::string zeros = "[0";
  while (zeros.size() < 1'000) zeros += ",0";
  const std::string text(zeros.size(), 'x');
  CHECK(http::weight_of_json(zeros) > 4 * http::weight_of_json(text));
  CHECK(http::weight_of_yaml(zeros) > 4 * http::weight_of_json(zeros));
  CHECK(http::weight_of_json(std::string(100, ' ')) == http::weight_unread(100));
  CHECK(http::weight_of_json("[{}]") == 4 * 8 + 400 + 60);
  CHECK(http::weight_of_yaml("- a: 0\n") == 5 * 8 + 2 * 3 + 300 + 300);
}

}  // namespace
}  // namespace sluice::server
