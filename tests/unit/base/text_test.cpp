#include "common/base/text.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace sluice {
namespace {

std::string nearest_of(std::string_view name, const std::vector<std::string>& known) {
  NearestNames nearest(name);
  for (const std::string& each : known) nearest.offer(each);
  return did_you_mean(nearest.names());
}

TEST_CASE("the names that a misspelt one most likely means are offered, the nearest first") {
  CHECK(nearest_of("premiun", {"basic", "premium"}) == R"( Did you mean "premium"?)");
  CHECK(nearest_of("orders", {"ordrs2", "order", "ordres"}) == R"( Did you mean "order", "ordres" or "ordrs2"?)");
}

TEST_CASE("a part that is left out, a plural and a missing _id count as one error") {
  CHECK(nearest_of("ip", {"id", "source_ip"}) == R"( Did you mean "source_ip"?)");
  CHECK(nearest_of("verify", {"audit", "audit verify"}) == R"( Did you mean "audit verify"?)");
  CHECK(nearest_of("policy", {"plans", "policies"}) == R"( Did you mean "policies"?)");
  CHECK(nearest_of("policies", {"policy"}) == R"( Did you mean "policy"?)");
  CHECK(nearest_of("tenants", {"organizations", "tenant_ids"}) == R"( Did you mean "tenant_ids"?)");
  CHECK(nearest_of("ip", {"trip", "ia"}).empty());
}

TEST_CASE("names that are not alike are not offered") {
  CHECK(nearest_of("gold", {"premium", "basic"}).empty());
  CHECK(nearest_of("", {"a"}).empty());
  CHECK(nearest_of(std::string(65, 'a'), {std::string(64, 'a')}).empty());
}

TEST_CASE("of many names alike, the three nearest are offered, in order of the alphabet where they are equally near") {
  CHECK(nearest_of("plan-1", {"plan-9", "plan-5", "plan-3", "plan-22", "plan-2"}) ==
        R"( Did you mean "plan-2", "plan-3" or "plan-5"?)");
}

TEST_CASE("the effort is bounded: of very many names the last ones are not compared") {
  NearestNames nearest("premiun");
  const std::string unlike(60, 'x');
  for (int i = 0; i < 1000; ++i) nearest.offer(unlike);
  nearest.offer("premium");
  CHECK(nearest.names().empty());
}

TEST_CASE("control characters and bytes that are no text are shown as escapes, and nothing else is") {
  CHECK(visible("a \"b\" ü € \\n") == "a \"b\" ü € \\n");
  CHECK(visible("a\nb\r\t") == "a\\nb\\u000d\\u0009");
  CHECK(visible(std::string("\0\x1b[31m\x7f", 7)) == "\\u0000\\u001b[31m\\u007f");
  CHECK(visible("\u0080x\u009f\u00a0") == "\\u0080x\\u009f\u00a0");
  CHECK(visible("a\xC2") == "a\\xc2");  // cut within a character
  CHECK(visible("\xff\xfe€\xC0\x80") == "\\xff\\xfe€\\xc0\\x80");
  CHECK(visible("") == "");
}

}  // namespace
}  // namespace sluice
