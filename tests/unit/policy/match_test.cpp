#include "common/policy/match.hpp"

#include "common/policy/levels.hpp"
#include "common/policy/precedence.hpp"
#include "tests/unit/policy/policy_helpers.hpp"

namespace sluice::policy {
namespace {

std::string winner(const std::string& members, const std::string& request) {
  auto snapshot = snapshot_of(members);
  TestRequest test(request);
  Match found = match(*snapshot, shop(*snapshot), test.request, kNow);
  return found.decides ? found.decides->id() : "";
}

TEST_CASE("a policy applies where every dimension of its scope has one of its values") {
  std::string one = policies({policy("a", R"({"resource":["GET:/a","GET:/b"],"method":"GET","tag.env":"prod"})")});
  CHECK(winner(one, R"({"resource":"GET:/a","method":"GET","tags":{"env":"prod"}})") == "a");
  CHECK(winner(one, R"({"resource":"GET:/b","method":"GET","tags":{"env":"prod"}})") == "a");
  CHECK(winner(one, R"({"resource":"GET:/c","method":"GET","tags":{"env":"prod"}})") == "");
  CHECK(winner(one, R"({"resource":"GET:/a","method":"PUT","tags":{"env":"prod"}})") == "");
  CHECK(winner(one, R"({"resource":"GET:/a","tags":{"env":"prod"}})") == "");
  CHECK(winner(one, R"({"resource":"GET:/a","method":"GET"})") == "");
}

TEST_CASE("a policy without a scope applies to every request") {
  CHECK(winner(policies({policy("all", "{}")}), R"({"resource":"x"})") == "all");
}

TEST_CASE("each of the ten levels beats the next") {
  const std::pair<const char*, const char*> levels[] = {{"subject", "s"},   {"client_id", "c"}, {"resource", "r"},
                                                        {"operation", "o"}, {"service", "v"},   {"application", "a"},
                                                        {"signal", "g"}};
  for (std::size_t i = 0; i + 1 < std::size(levels); ++i) {
    auto scope = [&](std::size_t level) {
      return std::string("{\"") + levels[level].first + "\":\"" + levels[level].second + "\"}";
    };
    std::string request = std::string("{\"") + levels[i].first + "\":\"" + levels[i].second + "\",\"" +
                          levels[i + 1].first + "\":\"" + levels[i + 1].second + "\"}";
    // The less specific one has the name and the priority that would win, were levels not first.
    CAPTURE(request);
    CHECK(winner(policies({policy("a", scope(i + 1), R"("priority":100)"), policy("b", scope(i))}), request) == "b");
  }
}

TEST_CASE("tenant ranks above org, org above signal, signal above global") {
  CHECK(level_of(Dimension::application) < level_of(Dimension::tenant));
  CHECK(level_of(Dimension::tenant) < level_of(Dimension::org));
  CHECK(level_of(Dimension::org) < level_of(Dimension::signal));
  CHECK(level_of(Dimension::signal) < kGlobalLevel);
}

TEST_CASE("a route with a method ranks above one without") {
  CHECK(winner(policies({policy("a", R"({"resource":"r"})", R"("priority":100)"),
                         policy("b", R"({"resource":"r","method":"GET"})")}),
               R"({"resource":"r","method":"GET"})") == "b");
}

TEST_CASE("within a level the higher priority wins") {
  CHECK(winner(policies({policy("a", R"({"resource":"r"})"), policy("b", R"({"endpoint":"r"})", R"("priority":1)")}),
               R"({"resource":"r","endpoint":"r"})") == "b");
}

TEST_CASE("at the same priority the narrower scope wins") {
  CHECK(winner(policies({policy("a", R"({"resource":"r"})"), policy("b", R"({"resource":"r","region":"eu"})")}),
               R"({"resource":"r","region":"eu"})") == "b");
}

TEST_CASE("between equal scopes the higher version wins, then the smaller id") {
  CHECK(winner(policies({policy("a", R"({"resource":"r"})"), policy("b", R"({"resource":"r"})", R"("version":2)")}),
               R"({"resource":"r"})") == "b");
  CHECK(winner(policies({policy("b", R"({"resource":"r"})"), policy("a", R"({"resource":"r"})")}),
               R"({"resource":"r"})") == "a");
}

TEST_CASE("a disabled policy and one outside its validity leave the decision to the next") {
  std::string behind = policy("behind", "{}");
  for (const char* out :
       {R"("enabled":false)", R"("valid_to":"2020-01-01T00:00:00Z")", R"("valid_from":"2100-01-01T00:00:00Z")"}) {
    CAPTURE(out);
    CHECK(winner(policies({policy("front", R"({"resource":"r"})", out), behind}), R"({"resource":"r"})") == "behind");
  }
  CHECK(winner(policies({policy("front", R"({"resource":"r"})",
                                R"("valid_from":"2020-01-01T00:00:00Z","valid_to":"2100-01-01T00:00:00Z")"),
                         behind}),
               R"({"resource":"r"})") == "front");
}

TEST_CASE("validity begins at valid_from and ends before valid_to") {
  CompiledPolicy policy;
  policy.valid_from_us = 100;
  policy.valid_to_us = 200;
  CheckRequest request;
  CHECK(judge(policy, request, 99) == Verdict::not_yet_valid);
  CHECK(judge(policy, request, 100) == Verdict::applies);
  CHECK(judge(policy, request, 199) == Verdict::applies);
  CHECK(judge(policy, request, 200) == Verdict::expired);
}

TEST_CASE("a shadow policy is set aside and never hides the enforcing one behind it") {
  auto snapshot =
      snapshot_of(policies({policy("shadow", R"({"resource":"r"})", R"("mode":"shadow")"), policy("behind", "{}")}));
  TestRequest test(R"({"resource":"r"})");
  Match found = match(*snapshot, shop(*snapshot), test.request, kNow);
  REQUIRE(found.decides);
  REQUIRE(found.shadow);
  CHECK(found.decides->id() == "behind");
  CHECK(found.shadow->id() == "shadow");
}

TEST_CASE("a shadow policy that ranks below the deciding one is not judged") {
  auto snapshot =
      snapshot_of(policies({policy("front", R"({"resource":"r"})"), policy("shadow", "{}", R"("mode":"shadow")")}));
  TestRequest test(R"({"resource":"r"})");
  CHECK(match(*snapshot, shop(*snapshot), test.request, kNow).shadow == nullptr);
}

TEST_CASE("of three levels of mode, off beats shadow beats enforce") {
  CHECK(effective_mode(Mode::enforce, Mode::enforce, Mode::enforce) == Mode::enforce);
  CHECK(effective_mode(Mode::enforce, Mode::shadow, Mode::enforce) == Mode::shadow);
  CHECK(effective_mode(Mode::shadow, Mode::enforce, Mode::off) == Mode::off);
  CHECK(effective_mode(Mode::off, Mode::shadow, Mode::enforce) == Mode::off);
}

TEST_CASE("an absent dimension is not an empty one") {
  std::string one = policies({policy("a", R"({"region":""})")});
  CHECK(winner(one, R"({"resource":"r","region":""})") == "a");
  CHECK(winner(one, R"({"resource":"r"})") == "");
}

}  // namespace
}  // namespace sluice::policy
