#include "agent/api/refusals.hpp"

#include <algorithm>

#include "agent/api/check_problems.hpp"
#include "common/http/problem_table.hpp"

namespace sluice::agent::api {
namespace {

bool is_refusal(unsigned status) { return status >= 400 && status < 500; }

std::vector<RefusalCause> make_causes() {
  std::vector<RefusalCause> causes;
  for (const http::ProblemKind& kind : http::problem_table()) {
    if (kind.by == http::AnsweredBy::server || !is_refusal(kind.status)) continue;
    if (kind.type == kUnauthorized) {  // each of its problems has a code of its own
      for (const CredentialProblem& credential : credential_problems()) {
        causes.push_back({std::string(to_string(credential.fault)), std::string(credential.detail)});
      }
      continue;
    }
    std::string code = http::code_of({.status = kind.status, .type = kind.type});
    const auto known = std::ranges::find(causes, code, &RefusalCause::code);
    if (known == causes.end()) {
      causes.push_back({std::move(code), std::string(kind.when)});
    } else {
      known->why.append(" ").append(kind.when);
    }
  }
  return causes;
}

}  // namespace

std::span<const RefusalCause> refusal_causes() {
  static const std::vector<RefusalCause> causes = make_causes();
  return causes;
}

void count_refusal(telemetry::CounterVector& counters, const http::Problem& problem) {
  if (!is_refusal(problem.status)) return;
  const auto causes = refusal_causes();
  const auto cause = std::ranges::find(causes, http::code_of(problem), &RefusalCause::code);
  if (cause != causes.end()) counters.count(static_cast<std::size_t>(cause - causes.begin()));
}

RefusalLog::RefusalLog(const telemetry::CounterVector& counters, telemetry::Log& log)
    : counters_(counters), log_(log), told_(refusal_causes().size()) {}

void RefusalLog::tick(Time now) {
  for (std::size_t i = 0; i < told_.size(); ++i) {
    Told& told = told_[i];
    const std::uint64_t total = counters_.value(i);
    if (total == told.count || (told.at && now - *told.at < kEvery)) continue;
    const RefusalCause& cause = refusal_causes()[i];
    log_.info("requests_refused", "Callers sent requests that the agent refused.",
              {{"code", cause.code}, {"count", total - told.count}, {"total", total}, {"why", cause.why}});
    told = {total, now};
  }
}

}  // namespace sluice::agent::api
