#include "tests/unit/policy/reference_matcher.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <map>

#include "common/base/crypto.hpp"

namespace sluice::policy::reference {
namespace {

// The bits of an address as text of 0 and 1; "" for what is none.
std::string bits_of(const std::string& text) {
  unsigned char bytes[16];
  int size = 0;
  if (inet_pton(AF_INET, text.c_str(), bytes) == 1) {
    size = 4;
  } else if (inet_pton(AF_INET6, text.c_str(), bytes) == 1) {
    size = 16;
  }
  std::string bits;
  for (int i = 0; i < size * 8; ++i) bits += (bytes[i / 8] >> (7 - i % 8)) & 1 ? '1' : '0';
  return bits;
}

bool is_block(const std::string& value) { return value.find('/') != std::string::npos && !value.ends_with('*'); }

bool value_holds(Dimension dimension, const std::string& value, const std::string& text) {
  if (value.ends_with('*')) return text.starts_with(value.substr(0, value.size() - 1));
  if (dimension != Dimension::source_ip) return value == text;
  if (value == text) return true;
  std::string asked = bits_of(text);
  if (!is_block(value)) return !asked.empty() && asked == bits_of(value);
  std::size_t slash = value.find('/');
  std::string base = bits_of(value.substr(0, slash));
  auto length = static_cast<std::size_t>(std::stoi(value.substr(slash + 1)));
  return asked.size() == base.size() && asked.substr(0, length) == base.substr(0, length);
}

bool scope_holds(const Policy& policy, const CheckRequest& request) {
  for (const ScopeTerm& term : policy.scope) {
    const Value* value = request.find(term.dimension);
    if (!value) return false;
    bool any = false;
    for (const std::string& one : term.values) {
      if (value_holds(term.dimension.dimension, one, std::string(value->text))) any = true;
    }
    if (!any) return false;
  }
  return true;
}

bool rolled_out(const Policy& policy, const CheckRequest& request) {
  const Value* subject = request.find({Dimension::subject, ""});
  // The random policies count by subject and service, and the words need no escaping.
  std::string who;
  if (subject) {
    who = subject->text;
  } else {
    const Value* service = request.find({Dimension::service, ""});
    who = (service ? "service=" + std::string(service->text) : std::string("service")) + "|subject";
  }
  Sha256Digest digest = sha256(policy.id + std::string(1, '\0') + who);
  unsigned __int128 number = 0;
  for (int i = 0; i < 8; ++i) number = number * 256 + digest[static_cast<std::size_t>(i)];
  return static_cast<double>(static_cast<std::uint64_t>(number % 10000)) < policy.rollout_percent * 100 - 1e-6;
}

Applicability applicability_of(const Policy& policy, const std::vector<Condition>& conditions,
                               const CheckRequest& request, std::int64_t now_us) {
  if (!policy.enabled) return Applicability::disabled;
  WallTime now{Micros(now_us)};
  if (policy.valid_from && *policy.valid_from > now) return Applicability::not_yet_valid;
  if (policy.valid_to && *policy.valid_to <= now) return Applicability::expired;
  if (!policy.match_expr.empty()) {
    auto condition = std::ranges::find(conditions, policy.match_expr, &Condition::text);
    if (!condition->holds(request)) return Applicability::expression_false;
  }
  return rolled_out(policy, request) ? Applicability::applies : Applicability::outside_rollout;
}

// In the order of the levels, the others behind them in the order of the dimensions.
int place_of(Dimension dimension) {
  static const std::map<Dimension, int> kLevels{
      {Dimension::user, 1},      {Dimension::subject, 1},     {Dimension::api_key, 2},  {Dimension::client, 2},
      {Dimension::client_id, 2}, {Dimension::endpoint, 3},    {Dimension::resource, 3}, {Dimension::operation, 4},
      {Dimension::service, 5},   {Dimension::application, 6}, {Dimension::tenant, 7},   {Dimension::org, 8},
      {Dimension::signal, 9}};
  auto found = kLevels.find(dimension);
  return found == kLevels.end() ? 10 : found->second;
}

// Of one value: exact 1,000,000; a block above every prefix of the text; the longer the more.
int width_of(Dimension dimension, const std::string& value) {
  if (value.ends_with('*')) return static_cast<int>(value.size()) - 1;
  if (dimension == Dimension::source_ip && is_block(value)) {
    int length = std::stoi(value.substr(value.find('/') + 1));
    return 10'000 + length + (value.find(':') == std::string::npos ? 96 : 0);
  }
  return 1'000'000;
}

int widest(const ScopeTerm& term) {
  int width = 1'000'000;
  for (const std::string& value : term.values) width = std::min(width, width_of(term.dimension.dimension, value));
  return width;
}

bool has_method(const Policy& policy) {
  return std::ranges::any_of(policy.scope,
                             [](const ScopeTerm& t) { return t.dimension.dimension == Dimension::method; });
}

int sign(auto a, auto b) { return a < b ? -1 : a > b ? 1 : 0; }

}  // namespace

int level_of(const Policy& policy) {
  int level = 10;
  for (const ScopeTerm& term : policy.scope) level = std::min(level, place_of(term.dimension.dimension));
  return level;
}

Comparison compare(const Policy& a, const Policy& b) {
  if (int order = sign(level_of(a), level_of(b))) return {order, 1};
  if (level_of(a) == 3) {
    if (int order = sign(!has_method(a), !has_method(b))) return {order, 11};
  }
  if (int order = sign(b.priority, a.priority)) return {order, 2};
  if (int order = sign(b.scope.size(), a.scope.size())) return {order, 3};
  // Every dimension that one of them names, in order; one that is not named is wider than any value.
  std::map<std::pair<int, DimensionRef>, std::pair<int, int>> widths;
  for (const ScopeTerm& term : a.scope) {
    widths.try_emplace({place_of(term.dimension.dimension), term.dimension}, -1, -1).first->second.first = widest(term);
  }
  for (const ScopeTerm& term : b.scope) {
    widths.try_emplace({place_of(term.dimension.dimension), term.dimension}, -1, -1).first->second.second =
        widest(term);
  }
  for (const auto& [dimension, width] : widths) {
    if (int order = sign(width.second, width.first)) return {order, 31};
  }
  if (int order = sign(b.version, a.version)) return {order, 4};
  return {sign(a.id, b.id), 5};
}

Answer match(const Bundle& bundle, const std::vector<Condition>& conditions, const CheckRequest& request,
             std::int64_t now_us) {
  Answer answer;
  for (const Policy& policy : bundle.policies) {
    if (scope_holds(policy, request)) {
      answer.candidates.push_back({&policy, applicability_of(policy, conditions, request, now_us)});
    }
  }
  std::ranges::sort(answer.candidates,
                    [](const Candidate& a, const Candidate& b) { return compare(*a.policy, *b.policy).order < 0; });
  auto mode_of = [&](const Policy& policy) {
    return std::max({bundle.mode, bundle.tenants[0].mode, policy.enforcement.mode});
  };
  std::vector<const Policy*> deciding;
  for (const Candidate& candidate : answer.candidates) {
    if (candidate.applicability != Applicability::applies) continue;
    bool is_shadow = mode_of(*candidate.policy) == Mode::shadow;
    if (!is_shadow) deciding.push_back(candidate.policy);
    if (is_shadow && deciding.empty() && answer.shadow.empty()) answer.shadow = candidate.policy->id;
  }
  if (!deciding.empty()) answer.decides = deciding[0]->id;
  if (deciding.size() > 1) answer.decided_by = compare(*deciding[0], *deciding[1]).rule;
  return answer;
}

}  // namespace sluice::policy::reference
