#include "engine/usage/quota_marks.hpp"

#include <algorithm>
#include <string>

#include "common/base/keyed_hash.hpp"
#include "common/domain/quota_period.hpp"
#include "common/limiter/algorithms/quota.hpp"
#include "common/telemetry/decision_log.hpp"

namespace sluice::usage {
namespace {

const Limit& limit_of(const decide::Judgement& judgement, const limiter::QuotaMark& mark) {
  return judgement.rulebook->program->limits[mark.rule];
}

const std::string& counter_of(const decide::Judgement& judgement, const limiter::QuotaMark& mark) {
  return judgement.call.keys[judgement.call.program->rules[mark.rule].group];
}

PeriodBounds period_of(const decide::Judgement& judgement, const limiter::QuotaMark& mark) {
  const Limit& limit = limit_of(judgement, mark);
  return period_at(limit.period, limit.anchor, judgement.outcome->now_us);
}

bool is_of_one_subject(const decide::Judgement& judgement, const limiter::QuotaMark& mark) {
  const DimensionRef subject{Dimension::subject, ""};
  const auto names_subject = [&](const std::vector<DimensionRef>& key_by) {
    return std::ranges::find(key_by, subject) != key_by.end();
  };
  return names_subject(judgement.rulebook->enforcement.key_by) || names_subject(limit_of(judgement, mark).key_by);
}

std::string subject_of(const decide::DecidedCheck& check, const decide::Judgement& judgement,
                       const limiter::QuotaMark& mark) {
  const Value* const subject = check.request.find({Dimension::subject, ""});
  if (!subject || !is_of_one_subject(judgement, mark)) return {};
  if (judgement.rulebook->report_subjects == ReportSubjects::named) return std::string(subject->text);
  return "sha256:" + telemetry::subject_hash(check.tenant.tenant.id, subject->text);
}

}  // namespace

std::optional<limiter::QuotaMark> used_up(const decide::Judgement& judgement) {
  const limiter::Outcome& outcome = *judgement.outcome;
  const LimitReport& report = outcome.report;
  if (outcome.allowed || report.remaining > 0 || report.limit == 0) return std::nullopt;
  if (!judgement.call.program->rules[outcome.binding].periodic) return std::nullopt;
  return limiter::QuotaMark{
      .rule = outcome.binding, .percent = limiter::kQuotaMarks.back(), .limit = report.limit, .used = report.limit};
}

std::uint64_t name_of(const decide::Judgement& judgement, const limiter::QuotaMark& mark) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio
  std::uint64_t name = hash_text(counter_of(judgement, mark));
  const auto period = static_cast<std::uint64_t>(period_of(judgement, mark).from_us);
  for (const std::uint64_t part :
       {period, static_cast<std::uint64_t>(mark.limit), std::uint64_t{mark.rule} << 8 | mark.percent}) {
    name = (name ^ part) * kOdd;
    name ^= name >> 32;
  }
  return name;
}

bool is_hidden(const decide::Judgement& judgement, const limiter::QuotaMark& mark) {
  return judgement.rulebook->report_subjects == ReportSubjects::off && is_of_one_subject(judgement, mark);
}

sync::QuotaReached describe_quota(const decide::DecidedCheck& check, const decide::Judgement& judgement,
                                  const limiter::QuotaMark& mark) {
  const std::string& tenant = check.tenant.tenant.id;
  const policy::Rulebook& rulebook = *judgement.rulebook;
  const PeriodBounds period = period_of(judgement, mark);
  return {.tenant_id = tenant,
          .policy_id = rulebook.is_policy ? rulebook.owner_id : "",
          .plan_id = rulebook.plan_id,
          .limit = limit_of(judgement, mark).name,
          .counter = telemetry::subject_hash(tenant, counter_of(judgement, mark)),
          .subject = subject_of(check, judgement, mark),
          .percent = mark.percent,
          .quota = mark.limit,
          .used = mark.used,
          .from = WallTime(Micros(period.from_us)),
          .to = WallTime(Micros(period.to_us))};
}

}  // namespace sluice::usage
