#include "common/policy/compile.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "common/domain/limit_numbers.hpp"
#include "common/policy/levels.hpp"
#include "common/policy/precedence.hpp"

namespace sluice::policy {
namespace {

constexpr std::int64_t kLongUs = 86'400'000'000;  // one day

std::int64_t micros(WallTime time) { return time.time_since_epoch().count(); }

bool depends_on_trailing_slash(const ScopeTerm& term) {
  return term.dimension.dimension == Dimension::resource &&
         std::ranges::any_of(term.values, [](const std::string& written) {
           const std::string value = canonical_scope_resource(written);
           return value.ends_with('/') || value.ends_with("/*");
         });
}

// Sets what matching and precedence need, except the match expression.
void compile_matching(const Policy& policy, TrailingSlash trailing_slash, CompiledPolicy& out) {
  out.scope = compile_scope(policy.scope, trailing_slash);
  out.enabled = policy.enabled;
  out.mode = policy.enforcement.mode;
  if (policy.valid_from) out.valid_from_us = micros(*policy.valid_from);
  if (policy.valid_to) out.valid_to_us = micros(*policy.valid_to);
  out.rollout = static_cast<std::uint32_t>(std::llround(policy.rollout_percent * (kWholeRollout / 100)));
  int level = kGlobalLevel;
  for (const Term& term : out.scope) {
    level = std::min(level, level_of(term.dimension.dimension));
    if (term.dimension.dimension == Dimension::method) out.names_method = true;
    if (!term.patterns.empty()) out.has_patterns = true;
  }
  out.level = static_cast<std::uint8_t>(level);
  out.priority = policy.priority;
  if (std::ranges::any_of(policy.scope, depends_on_trailing_slash)) {
    out.slashed_scope = std::make_shared<const std::vector<ScopeTerm>>(policy.scope);
  }
  out.order = order_of(out);
}

}  // namespace

Faults fit_faults(const Enforcement& enforcement, const std::vector<Limit>& limits) {
  Faults faults;
  for (const Limit& limit : limits) {
    for (const DimensionRef& added : limit.key_by) {
      if (std::ranges::find(enforcement.key_by, added) == enforcement.key_by.end()) continue;
      faults.push_back(
          {"/key_by",
           fmt::format("limit {} already adds {}; a limit's key_by can only add dimensions that this key_by lacks",
                       limit.name, to_string(added))});
    }
    if (enforcement.action != Action::delay) continue;
    if (auto fault = debt_fault(limit, enforcement.max_delay)) faults.push_back({"/max_delay", std::move(*fault)});
  }
  return faults;
}

std::shared_ptr<CompiledPolicy> compile_policy(const Policy& policy, TrailingSlash trailing_slash,
                                               ProgramPool::Shared program, std::int64_t now_us, Faults& faults) {
  auto compiled = std::make_shared<CompiledPolicy>();
  compiled->rulebook = {.owner_id = policy.id,
                        .is_policy = true,
                        .plan_id = policy.plan_id,
                        .version = policy.version,
                        .report_subjects = policy.report_subjects,
                        .enforcement = policy.enforcement,
                        .metadata = policy.metadata,
                        .program = std::move(program)};
  compile_matching(policy, trailing_slash, *compiled);
  compiled->dormant = !policy.enabled || dormant_from_us(*compiled) <= now_us;
  if (policy.match_expr.empty()) return compiled;
  if (auto expression = MatchExpr::parse(policy.match_expr)) {
    compiled->expression = std::make_shared<const MatchExpr>(std::move(*expression));
  } else {
    faults.push_back({"/match_expr", fmt::format("column {}: {}", expression.error().column, expression.error().text)});
  }
  return compiled;
}

void compile_scope_again(TrailingSlash trailing_slash, CompiledPolicy& policy) {
  policy.scope = compile_scope(*policy.slashed_scope, trailing_slash);
  policy.order = order_of(policy);
}

std::int64_t dormant_from_us(const CompiledPolicy& policy) {
  return policy.valid_to_us > INT64_MAX - kLongUs ? INT64_MAX : policy.valid_to_us + kLongUs;
}

Rulebook rulebook_of(const Plan& plan, ProgramPool::Shared program) {
  return {.owner_id = plan.id,
          .is_policy = false,
          .plan_id = plan.id,
          .version = 0,
          .enforcement = plan.enforcement,
          .metadata = {},
          .program = std::move(program)};
}

}  // namespace sluice::policy
