#include "tests/unit/policy/random_policies.hpp"

#include <algorithm>
#include <array>

namespace sluice::policy {
namespace {

const std::array<DimensionRef, 18> kDimensions{{{Dimension::user, ""},
                                                {Dimension::subject, ""},
                                                {Dimension::api_key, ""},
                                                {Dimension::client_id, ""},
                                                {Dimension::endpoint, ""},
                                                {Dimension::resource, ""},
                                                {Dimension::resource, ""},
                                                {Dimension::method, ""},
                                                {Dimension::operation, ""},
                                                {Dimension::service, ""},
                                                {Dimension::application, ""},
                                                {Dimension::tenant, ""},
                                                {Dimension::org, ""},
                                                {Dimension::signal, ""},
                                                {Dimension::source_ip, ""},
                                                {Dimension::region, ""},
                                                {Dimension::tag, "env"},
                                                {Dimension::attr, "http.route"}}};

bool equals(const CheckRequest& request, const DimensionRef& dimension, std::string_view text) {
  const Value* value = request.find(dimension);
  return value && value->text == text;
}

}  // namespace

const std::vector<reference::Condition>& RandomPolicies::conditions() {
  static const std::vector<reference::Condition> kConditions{
      {"region==ab", [](const CheckRequest& r) { return equals(r, {Dimension::region, ""}, "ab"); }},
      {"region!=ab", [](const CheckRequest& r) { return !equals(r, {Dimension::region, ""}, "ab"); }},
      {"tag.env in [a, b] || service==a",
       [](const CheckRequest& r) {
         return equals(r, {Dimension::tag, "env"}, "a") || equals(r, {Dimension::tag, "env"}, "b") ||
                equals(r, {Dimension::service, ""}, "a");
       }},
      {"subject =~ '^a' && !(method==b)",
       [](const CheckRequest& r) {
         const Value* subject = r.find({Dimension::subject, ""});
         return subject && subject->text.starts_with('a') && !equals(r, {Dimension::method, ""}, "b");
       }},
  };
  return kConditions;
}

std::string RandomPolicies::word(Dimension dimension) {
  static const std::array<const char*, 8> kAddresses{"10.0.0.7",    "10.0.0.8",     "10.0.3.7",    "10.1.0.7",
                                                     "2001:db8::7", "2001:db8::17", "2001:db9::7", "somewhere"};
  if (dimension == Dimension::source_ip) return kAddresses[below(kAddresses.size())];
  if (dimension == Dimension::tenant) return "shop";
  if (dimension == Dimension::org) return "acme";
  static const std::array<const char*, 7> kWords{"a", "b", "ab", "abc", "abd", "bc", ""};
  return kWords[below(kWords.size())];
}

std::string RandomPolicies::value(Dimension dimension) {
  if (dimension == Dimension::source_ip) {
    static const std::array<const char*, 8> kBlocks{"10.0.0.0/24", "10.0.0.0/16",   "10.9.9.9/8",    "10.0.0.7/32",
                                                    "10.0.0.*",    "2001:db8::/32", "2001:db8::/64", "0.0.0.0/0"};
    if (one_in(2)) return kBlocks[below(kBlocks.size())];
    std::string address = word(dimension);
    return address == "somewhere" ? "10.0.0.7" : address;
  }
  std::string text = word(dimension);
  return one_in(3) ? text.substr(0, below(text.size() + 1)) + "*" : text;
}

ScopeTerm RandomPolicies::term(DimensionRef dimension) {
  ScopeTerm term{std::move(dimension), {}};
  std::size_t count = one_in(3) ? 1 + below(3) : 1;
  if (one_in(200)) count = 40;  // lists long enough to be left out of the index' keys
  for (std::size_t i = 0; i < count; ++i) {
    term.values.push_back(count == 40 ? "w" + std::to_string(i) : value(term.dimension.dimension));
  }
  if (count == 40) term.values.push_back(word(term.dimension.dimension));
  if (count == 40 && term.dimension.dimension == Dimension::source_ip) term.values = {"10.0.0.0/8"};
  std::ranges::sort(term.values);
  term.values.erase(std::ranges::unique(term.values).begin(), term.values.end());
  return term;
}

Policy RandomPolicies::policy(std::size_t index) {
  Policy policy;
  policy.tenant_id = "shop";
  policy.id = "p" + std::to_string(index);
  std::size_t dimensions = one_in(8) ? 0 : 1 + below(3);
  for (std::size_t i = 0; i < dimensions; ++i) {
    const DimensionRef& dimension = kDimensions[below(kDimensions.size())];
    if (std::ranges::find(policy.scope, dimension, &ScopeTerm::dimension) == policy.scope.end()) {
      policy.scope.push_back(term(dimension));
    }
  }
  std::ranges::sort(policy.scope, {}, &ScopeTerm::dimension);
  policy.plan_id = "plan";
  policy.enforcement.key_by = {{Dimension::service, ""}, {Dimension::subject, ""}};
  if (one_in(5)) policy.enforcement.mode = one_in(4) ? Mode::off : Mode::shadow;
  if (one_in(6)) policy.match_expr = conditions()[below(conditions().size())].text;
  if (one_in(8)) policy.rollout_percent = static_cast<double>(below(101));
  if (one_in(10)) policy.valid_from = WallTime(Micros(kRandomNow + (one_in(2) ? 1 : 0)));
  if (one_in(10)) policy.valid_to = WallTime(Micros(kRandomNow + (one_in(2) ? 1 : 0)));
  if (one_in(40)) policy.valid_to = WallTime(Micros(1));
  policy.enabled = !one_in(12);
  if (one_in(4)) policy.priority = static_cast<std::int64_t>(below(3)) - 1;
  policy.version = 1 + static_cast<std::int64_t>(below(2));
  return policy;
}

Bundle RandomPolicies::bundle() {
  Bundle bundle;
  bundle.organizations = {{"acme", "Acme"}};
  bundle.tenants = {{.id = "shop", .name = "", .organization_id = "acme"}};
  Limit limit;
  limit.name = "all";
  limit.algorithm = Algorithm::fixed_window;
  limit.limit = 10;
  limit.window = std::chrono::minutes(1);
  bundle.plans = {{.tenant_id = "shop", .id = "plan", .name = "", .limits = {limit}, .enforcement = {}}};
  if (one_in(20)) bundle.mode = Mode::shadow;
  if (one_in(20)) bundle.tenants[0].mode = one_in(2) ? Mode::off : Mode::shadow;
  std::size_t policies = 1 + below(40);
  for (std::size_t i = 0; i < policies; ++i) {
    // Some twice but for the id: nothing else tells them apart.
    bundle.policies.push_back(i > 0 && one_in(8) ? bundle.policies.back() : policy(i));
    bundle.policies.back().id = "p" + std::to_string(i);
  }
  return bundle;
}

const CheckRequest& RandomPolicies::request() {
  texts_.clear();
  request_.clear();
  auto set = [&](Dimension dimension, std::string_view text) {
    request_.dimensions[static_cast<std::size_t>(dimension)] = {text, true};
  };
  for (const DimensionRef& dimension : kDimensions) {
    if (one_in(3)) continue;
    std::string_view text = keep(word(dimension.dimension));
    if (dimension.dimension == Dimension::tag) {
      request_.tags.emplace_back("env", text);
    } else if (dimension.dimension == Dimension::attr) {
      request_.attributes.emplace_back("http.route", text);
    } else {
      set(dimension.dimension, text);
    }
  }
  if (one_in(4)) request_.tags.emplace_back("other", "a");
  set(Dimension::org, "acme");
  set(Dimension::tenant, "shop");
  set(Dimension::api_key, keep(word(Dimension::api_key)));
  return request_;
}

}  // namespace sluice::policy
