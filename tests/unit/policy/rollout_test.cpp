// The share of subjects that a policy applies to while it is rolled out.
#include "common/policy/rollout.hpp"

#include <cmath>
#include <cstdlib>

#include "tests/unit/policy/policy_helpers.hpp"

namespace sluice::policy {
namespace {

// What is published: anyone can compute these from the policy document.
TEST_CASE("a subject's number is the published one") {
  CHECK(rollout_number("orders", "user:42") == 8171);
  CHECK(rollout_number("checkout", "client é") == 1538);
  CHECK(rollout_number("orders", "") == 7482);
}

TEST_CASE("policy id and subject are told apart where they meet") {
  CHECK(rollout_number("a", "bc") == 7297);
  CHECK(rollout_number("ab", "c") == 5165);
}

std::string subject(int i) { return "user:" + std::to_string(i); }

CompiledPolicy rolled_out(std::uint32_t share, std::int64_t version = 1) {
  CompiledPolicy policy;
  policy.rulebook.owner_id = "orders";
  policy.rulebook.version = version;
  policy.rollout = share;
  return policy;
}

bool applies(const CompiledPolicy& policy, const std::string& who) {
  CheckRequest request;
  request.dimensions[static_cast<std::size_t>(Dimension::subject)] = {who, true};
  return in_rollout(policy, request);
}

TEST_CASE("of 10,000 subjects a rollout takes its share, within what chance allows") {
  for (int share : {50, 100, 1'000, 2'500, 5'000, 9'000, 9'900}) {
    CAPTURE(share);
    const CompiledPolicy policy = rolled_out(static_cast<std::uint32_t>(share));
    int taken = 0;
    for (int i = 0; i < 10'000; ++i) taken += applies(policy, subject(i));
    const double p = share / 10'000.0;  // four standard deviations of as many coins
    CHECK(std::abs(taken - share) < 4 * std::sqrt(10'000 * p * (1 - p)));
  }
}

TEST_CASE("raising the percentage never drops a subject") {
  for (int i = 0; i < 200; ++i) {
    bool was_in = false;
    for (std::uint32_t share = 0; share <= kWholeRollout; share += 50) {
      const bool is_in = applies(rolled_out(share), subject(i));
      CHECK((is_in || !was_in));
      was_in = is_in;
    }
    CHECK(was_in);
  }
}

TEST_CASE("a subject stays in or out from version to version") {
  for (int i = 0; i < 200; ++i) {
    CHECK(applies(rolled_out(3'000, 1), subject(i)) == applies(rolled_out(3'000, 7), subject(i)));
  }
}

TEST_CASE("two policies of the same percentage take different subjects") {
  int both = 0;
  for (int i = 0; i < 1'000; ++i) {
    both += rollout_number("orders", subject(i)) < 5'000 && rollout_number("payments", subject(i)) < 5'000;
  }
  CHECK(both > 150);
  CHECK(both < 350);
}

std::string with_rollout(const std::string& percent, const std::string& who = "user:42") {
  return winner(
      policies({policy("orders", R"({"resource":"r"})", "\"rollout_percent\":" + percent), policy("behind", "{}")}),
      R"({"resource":"r","subject":")" + who + "\"}");
}

TEST_CASE("a percentage has two decimals, and takes the numbers below a hundred times itself") {
  CHECK(with_rollout("81.71") == "behind");  // user:42 has the number 8171
  CHECK(with_rollout("81.72") == "orders");
}

TEST_CASE("0 percent takes nobody, 100 everybody") {
  for (int i = 0; i < 20; ++i) {
    CHECK(with_rollout("0", subject(i)) == "behind");
    CHECK(with_rollout("100", subject(i)) == "orders");
  }
  // The lowest and the highest number there are.
  for (const char* who : {"user:28731", "user:3433"}) {
    CHECK(with_rollout("0", who) == "behind");
    CHECK(with_rollout("100", who) == "orders");
  }
}

// The number for a request, of policy `p` that counts by `key_by`.
std::uint32_t number_of(const std::string& key_by, const std::string& request) {
  Asked asked(policies({policy("p", "{}", "\"key_by\":" + key_by)}), request);
  return rollout_number(*asked.found.decides, asked.test.request);
}

TEST_CASE("where there is no subject the identity is taken in its place") {
  CHECK(number_of(R"(["user"])", R"({"user":"u:1"})") == 9455);              // user=u%3A1
  CHECK(number_of(R"(["user","api_key"])", R"({"resource":"r"})") == 9488);  // user|api_key=k1
  CHECK(number_of(R"(["user"])", R"({"resource":"r"})") == rollout_number("p", "user"));
  CHECK(number_of("[]", R"({"resource":"r"})") == rollout_number("p", ""));
}

TEST_CASE("a subject is taken also where the policy does not count by it, and not where it is empty") {
  CHECK(number_of(R"(["user"])", R"({"user":"u:1","subject":"user:42"})") == rollout_number("p", "user:42"));
  CHECK(number_of(R"(["user"])", R"({"user":"u:1","subject":""})") == rollout_number("p", "user=u%3A1"));
}

TEST_CASE("a long identity is taken as its counter is named") {
  const std::string who(300, 'x');
  CHECK(number_of(R"(["user","region"])", R"({"user":")" + who.substr(0, 250) + R"(","region":"eu"})") !=
        number_of(R"(["user","region"])", R"({"user":")" + who.substr(0, 250) + R"(","region":"us"})"));
}

}  // namespace
}  // namespace sluice::policy
