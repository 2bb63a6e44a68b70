// The index: it may offer too much, never too little, and it does not ask what is about something else.
#include "common/objects/bundle_json.hpp"
#include "common/policy/policy_index.hpp"

#include <algorithm>

#include "tests/unit/domain/allocations.hpp"
#include "tests/unit/policy/policy_helpers.hpp"

namespace sluice::policy {
namespace {

std::string list_of(const std::string& head, int count, const std::string& tail = "") {
  std::string list = "[";
  for (int i = 0; i < count; ++i) list += (i > 0 ? ",\"" : "\"") + head + std::to_string(i) + tail + '"';
  return list + "]";
}

// How many policies a look-up offers; a policy counts as often as it is offered.
struct Offers {
  explicit Offers(const std::string& members) : snapshot(snapshot_of(members)) {
    index.change({}, in_order(shop(*snapshot)));
  }
  std::size_t for_request(const std::string& body) const {
    TestRequest test(body);
    std::vector<Posting> found;
    index.look_up(test.request, found);
    std::size_t offers = 0;
    for (const Posting& posting : found) {
      CHECK_FALSE(posting.empty());
      CHECK(std::ranges::is_sorted(posting, [](const auto& a, const auto& b) { return precedes(a, b); }));
      offers += posting.size();
    }
    return offers;
  }
  std::shared_ptr<const Snapshot> snapshot;
  PolicyIndex index;
};

TEST_CASE("of a thousand policies a look-up offers those about the request alone") {
  std::vector<std::string> all;
  for (int i = 0; i < 250; ++i) {
    const std::string n = std::to_string(i);
    all.push_back(policy("exact" + n, R"({"resource":"r)" + n + "\"}"));
    all.push_back(policy("prefix" + n, R"({"operation":"op)" + n + "-*\"}"));
    all.push_back(policy("block" + n, R"({"source_ip":"10.)" + n + ".0.0/16\"}"));
    all.push_back(policy("tag" + n, R"({"tag.t)" + n + R"(":"v","service":"s"})"));
  }
  const Offers offers(policies(all));
  CHECK(offers.for_request(R"({"resource":"r17"})") == 1);
  CHECK(offers.for_request(R"({"resource":"r17","operation":"op17-x","source_ip":"10.17.3.4","service":"s"})") == 3);
  CHECK(offers.for_request(R"({"tags":{"t17":"v"},"service":"s"})") == 1);
  CHECK(offers.for_request(R"({"tags":{"t17":"v"}})") == 0);
  CHECK(offers.for_request(R"({"resource":"r","operation":"op17","source_ip":"11.0.0.1","service":"s"})") == 0);
}

TEST_CASE("lists whose combinations are too many for the index still match by every value, and by those alone") {
  const std::string scope = R"({"resource":)" + list_of("r", 40) + R"(,"region":)" + list_of("e", 40) + R"(,"tag.t":)" +
                            list_of("t", 40, "*") + "}";
  const std::string all = policies({policy("a", scope)});
  auto snapshot = snapshot_of(all);
  auto applies = [&](const std::string& resource, const std::string& region, const std::string& tag) {
    return Asked(snapshot,
                 R"({"resource":")" + resource + R"(","region":")" + region + R"(","tags":{"t":")" + tag + "\"}}")
               .decides() == "a";
  };
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i), m = std::to_string(39 - i);
    CHECK(applies("r" + n, "e" + m, "t" + n + "x"));
  }
  CHECK_FALSE(applies("r40", "e0", "t0"));
  CHECK_FALSE(applies("r0", "e40", "t0"));
  CHECK_FALSE(applies("r0", "e0", "u0"));
}

TEST_CASE("a list of a thousand values is found by each of them") {
  auto snapshot = snapshot_of(policies({policy("a", R"({"subject":)" + list_of("u", 1'000) + R"(,"method":"GET"})")}));
  for (int i = 0; i < 1'000; i += 37) {
    CHECK(Asked(snapshot, R"({"method":"GET","subject":"u)" + std::to_string(i) + "\"}").decides() == "a");
  }
  CHECK(Asked(snapshot, R"({"method":"GET","subject":"u1000"})").decides() == "");
}

TEST_CASE("prefixes of any length and tags of any name are found beside each other") {
  std::vector<std::string> all;
  for (int i = 1; i <= 100; ++i) {
    const std::string n = std::to_string(i), text(static_cast<std::size_t>(i), 'x');
    all.push_back(policy("prefix" + n, R"({"resource":")" + text + "*\"}"));
    all.push_back(policy("tag" + n, R"({"tag.t)" + n + R"(":")" + text + R"(","resource":")" + text + "*\"}"));
  }
  auto snapshot = snapshot_of(policies(all));
  for (int i = 1; i <= 100; ++i) {
    const std::string n = std::to_string(i), text(static_cast<std::size_t>(i), 'x');
    CHECK(Asked(snapshot, R"({"resource":")" + text + "\"}").decides() == "prefix" + n);
    CHECK(Asked(snapshot, R"({"resource":")" + text + R"(","tags":{"t)" + n + R"(":")" + text + "\"}}").decides() ==
          "tag" + n);
  }
}

TEST_CASE("a policy that two of its values bring up is one candidate") {
  Asked asked(policies({policy("a", R"({"resource":["GET:/a","GET:*","G*"],"source_ip":["10.0.0.0/8","10.*"]})"),
                        policy("b", "{}")}),
              R"({"resource":"GET:/a","source_ip":"10.0.0.7"})");
  REQUIRE(asked.all.size() == 2);
  CHECK(asked.all[0].policy->id() == "a");
  CHECK(asked.all[1].policy->id() == "b");
}

TEST_CASE("candidates come in order of precedence, wherever the index found them") {
  Asked asked(policies({policy("global", "{}"), policy("service", R"({"service":"s"})"),
                        policy("prefix", R"({"resource":"r*"})"), policy("exact", R"({"resource":"r"})"),
                        policy("tag", R"({"tag.t":"t"})"), policy("block", R"({"source_ip":"10.0.0.0/8"})")}),
              R"({"resource":"r","service":"s","source_ip":"10.0.0.7","tags":{"t":"t"}})");
  std::string order;
  for (const Candidate& candidate : asked.all) order += candidate.policy->id() + " ";
  CHECK(order == "exact prefix service block tag global ");
}

TEST_CASE("which scopes the index can use: not those of org, tenant and a lone star alone") {
  auto indexable = [](const std::string& scope) {
    auto snapshot = snapshot_of(policies({policy("a", scope)}));
    return is_indexable(in_order(shop(*snapshot))[0]->scope);
  };
  for (const char* scope : {R"({"resource":"r"})", R"({"resource":"r*"})", R"({"source_ip":"0.0.0.0/0"})",
                            R"({"tag.t":"v"})", R"({"attr.a":"v*"})", R"({"org":"acme","region":"eu"})",
                            R"({"resource":"*","region":"eu"})", R"({"api_key":"k1"})"}) {
    CAPTURE(scope);
    CHECK(indexable(scope));
  }
  for (const char* scope : {"{}", R"({"org":"acme"})", R"({"tenant":"shop"})", R"({"org":"acme","tenant":"sh*"})",
                            R"({"resource":"*"})", R"({"resource":["r","*"]})", R"({"tag.t":"*","org":"acme"})"}) {
    CAPTURE(scope);
    CHECK_FALSE(indexable(scope));
  }
}

std::vector<std::string> without_index(int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(policy("p" + std::to_string(i), i % 2 == 0 ? "{}" : R"({"org":"acme"})"));
  }
  return all;
}

TEST_CASE("a tenant may have 64 policies that no index finds, and one more is refused with its place") {
  std::vector<std::string> all = without_index(64);
  all.insert(all.begin(), policy("indexed", R"({"resource":"r"})"));
  CHECK(Asked(policies(all), R"({"resource":"x"})").all.size() == 64);

  all.push_back(policy("one-more", R"({"resource":"*"})"));
  auto bundle = parse_bundle(R"({"format":"sluice/v1","organizations":[{"id":"acme","name":"Acme"}],
    "tenants":[{"id":"shop","organization_id":"acme"}],)" +
                             policies(all) + "}");
  REQUIRE(bundle);
  auto snapshot = build_snapshot(*bundle, 1, kNow);
  REQUIRE_FALSE(snapshot);
  REQUIRE(snapshot.error().size() == 1);
  CHECK(snapshot.error()[0].pointer == "/policies/65/scope");
  CHECK(snapshot.error()[0].text.find("more than 64 policies") != std::string::npos);
}

TEST_CASE("what cannot apply for now is asked by explanations alone, and explained") {
  Asked asked(policies({policy("off-duty", R"({"resource":"r"})", R"("enabled":false)"),
                        policy("long-gone", R"({"resource":"r*"})", R"("valid_to":"2020-01-01T00:00:00Z")"),
                        policy("here", "{}")}),
              R"({"resource":"r"})");
  CHECK(asked.decides() == "here");
  REQUIRE(asked.all.size() == 3);
  CHECK(asked.all[0].applicability == Applicability::disabled);
  CHECK(asked.all[1].applicability == Applicability::expired);
  CHECK(asked.all[2].applicability == Applicability::applies);
}

TEST_CASE("a policy that ends soon, or that a clock set back makes valid again, is still found") {
  constexpr std::int64_t kHour = 3'600'000'000;
  const std::string ends_at_eight = policies({policy("a", "{}", R"("valid_to":"2027-01-15T08:00:00Z")")});  // kNow
  CHECK(winner(ends_at_eight, R"({"resource":"r"})", kNow) == "");
  CHECK(winner(ends_at_eight, R"({"resource":"r"})", kNow - 1) == "a");
  CHECK(winner(ends_at_eight, R"({"resource":"r"})", kNow - 20 * kHour) == "a");
  const std::string ends_at_nine = policies({policy("a", "{}", R"("valid_to":"2027-01-15T09:00:00Z")")});
  CHECK(winner(ends_at_nine, R"({"resource":"r"})", kNow + kHour - 1) == "a");
  CHECK(winner(ends_at_nine, R"({"resource":"r"})", kNow + kHour) == "");
}

#ifdef SLUICE_COUNTS_ALLOCATIONS
TEST_CASE("finding the policy of a request allocates nothing in the steady state") {
  std::vector<std::string> all;
  for (int i = 0; i < 50; ++i) {
    const std::string n = std::to_string(i);
    all.push_back(policy("exact" + n, R"({"resource":"r)" + n + R"(","method":["GET","PUT"]})"));
    all.push_back(policy("tag" + n, R"({"tag.a-name-too-long-for-a-short-string)" + n + R"(":"v*"})"));
    all.push_back(policy("share" + n, R"({"service":"s)" + n + "\"}", R"("rollout_percent":0.01,"key_by":["user"])"));
    all.push_back(policy("expr" + n, R"({"source_ip":"10.0.0.0/)" + std::to_string(8 + i % 20) + "\"}",
                         R"("match_expr":"region =~ '^eu' && tag.env in [prod, test]")"));
  }
  auto snapshot = snapshot_of(policies(all));
  const std::string body = R"({"resource":"none","user":"a-user-with-a-rather-long-name","service":"s7",
    "source_ip":"10.0.0.7","region":"us","tags":{"a-name-too-long-for-a-short-string7":"w","env":"prod"}})";
  TestRequest test(body);
  const CompiledPolicy* first = match(*snapshot, shop(*snapshot), test.request, kNow).decides;
  const AllocationCount count;
  const CompiledPolicy* again = match(*snapshot, shop(*snapshot), test.request, kNow).decides;
  CHECK(count.so_far() == 0);
  CHECK(again == first);
}
#endif

}  // namespace
}  // namespace sluice::policy
