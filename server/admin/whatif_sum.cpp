#include "server/admin/whatif_sum.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/base/clock.hpp"
#include "common/base/timestamp.hpp"

namespace sluice::server::admin {
namespace {

using sluice::sync::WhatIfAnswer;
using sluice::sync::WhatIfCounts;
using sluice::sync::WhatIfOutcome;
using sluice::sync::WhatIfStatus;

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

void write_reason(json::Writer& out, std::string_view code, std::string_view text) {
  out.begin_object();
  out.field("code", code);
  out.field("text", text);
  out.end_object();
}

}  // namespace

std::string whatif_time(std::int64_t us) { return format_timestamp(WallTime(Micros(us))); }

void WhatIfSum::add(const WhatIfAnswer* answer) {
  if (answer == nullptr) {
    ++silent_;
    return;
  }
  ++statuses_[static_cast<std::size_t>(answer->status)];
  if (answer->status == WhatIfStatus::failed && first_failure_.empty()) first_failure_ = answer->text;
  if (answer->status == WhatIfStatus::judged) add_judged(*answer);
}

void WhatIfSum::add_judged(const WhatIfAnswer& answer) {
  for (const auto& [begin_us, counts] : answer.minutes) {
    minutes_[begin_us] += counts;
    totals_ += counts;
  }
  for (const auto& [subject, admitted, denied] : answer.subjects) {
    Subject& sum = subjects_[subject];
    sum.admitted += admitted;
    sum.denied += denied;
    ++sum.agents;
  }
  fallen_ += answer.fallen;
  short_of_memory_ = short_of_memory_ || answer.short_of_memory;
  complete_since_us_ = std::max(complete_since_us_.value_or(answer.complete_since_us), answer.complete_since_us);
}

std::int64_t WhatIfSum::recorded() const { return totals_.judged() + totals_[WhatIfOutcome::not_matched]; }

void WhatIfSum::write(json::Writer& out) const {
  const std::int64_t denied = totals_[WhatIfOutcome::denied];
  out.field("would_deny", denied);
  out.field("denied_share", share(denied, totals_.judged()));
  out.key("totals");
  out.begin_object();
  write_counts(out, totals_);
  out.end_object();
  out.key("minutes");
  out.begin_list();
  for (const auto& [begin_us, counts] : minutes_) {
    out.begin_object();
    out.field("at", whatif_time(begin_us));
    write_counts(out, counts);
    out.end_object();
  }
  out.end_list();
  write_subjects(out);
  write_agents(out);
  out.field("missing_share", share(fallen_, fallen_ + recorded()));
  if (complete_since_us_) {
    out.field("complete_since", whatif_time(*complete_since_us_));
  } else {
    out.null_field("complete_since");
  }
  write_reasons(out);
}

void WhatIfSum::write_subjects(json::Writer& out) const {
  std::vector<std::pair<std::string_view, const Subject*>> all;
  for (const auto& [name, subject] : subjects_) all.emplace_back(name, &subject);
  std::ranges::sort(all, [](const auto& a, const auto& b) {
    if (a.second->denied != b.second->denied) return a.second->denied > b.second->denied;
    if (a.second->admitted != b.second->admitted) return a.second->admitted > b.second->admitted;
    return a.first < b.first;
  });
  out.key("subjects");
  out.begin_list();
  for (std::size_t i = 0; i < std::min(all.size(), kSubjectsShown); ++i) {
    out.begin_object();
    out.field("subject", all[i].first);
    out.field("admitted", all[i].second->admitted);
    out.field("denied", all[i].second->denied);
    out.field("agents", all[i].second->agents);
    out.end_object();
  }
  out.end_list();
}

void WhatIfSum::write_agents(json::Writer& out) const {
  out.key("agents");
  out.begin_object();
  out.field("asked", std::accumulate(statuses_.begin(), statuses_.end(), silent_));
  for (const WhatIfStatus status : {WhatIfStatus::judged, WhatIfStatus::no_recording, WhatIfStatus::not_recorded,
                                    WhatIfStatus::failed, WhatIfStatus::too_old}) {
    out.field(to_string(status), count(status));
  }
  out.field("silent", silent_);
  out.end_object();
}

// Each reason says why the numbers may differ from what enforcing the policy would have done.
void WhatIfSum::write_reasons(json::Writer& out) const {
  std::vector<std::pair<std::string_view, std::string>> reasons;
  const auto of_agents = [&](std::string_view code, std::int64_t agents, std::string_view text) {
    if (agents > 0) reasons.emplace_back(code, fmt::format("{} of the tenant's agents {}.", agents, text));
  };
  if (std::accumulate(statuses_.begin(), statuses_.end(), silent_) == 0) {
    reasons.emplace_back("no_agents", "No live agent serves the tenant, so nobody was asked.");
  }
  of_agents("silent", silent_, "did not answer in time");
  of_agents("no_recording", count(WhatIfStatus::no_recording), "run without --record-decisions");
  of_agents("not_recorded", count(WhatIfStatus::not_recorded), "do not have the tenant's record_requests yet");
  of_agents("too_old", count(WhatIfStatus::too_old), "are of a release that cannot be asked");
  of_agents("failed", count(WhatIfStatus::failed), "could not judge: " + first_failure_);
  if (fallen_ > 0) {
    reasons.emplace_back("fallen_out",
                         fmt::format("{} requests of this time are no longer recorded: give agents a larger "
                                     "--record-decisions, or ask for fewer minutes.",
                                     fallen_));
  } else if (complete_since_us_ && *complete_since_us_ > from_us_) {
    reasons.emplace_back("recorded_later",
                         fmt::format("Requests are recorded by all agents that answered only since {}.",
                                     whatif_time(*complete_since_us_)));
  }
  if (short_of_memory_) {
    reasons.emplace_back("short_of_memory", "An agent had no memory to count all identities apart.");
  }
  if (totals_[WhatIfOutcome::held] > 0) {
    reasons.emplace_back("held", fmt::format("{} requests would have waited; what comes after a wait is not judged.",
                                             totals_[WhatIfOutcome::held]));
  }
  if (std::ranges::any_of(subjects_, [](const auto& each) { return each.second.agents > 1; })) {
    reasons.emplace_back("subjects_of_several_agents",
                         "Requests of one subject went to several agents. Each agent judges only those that it got, so "
                         "more would be denied.");
  }
  out.field("complete", reasons.empty());
  out.key("reasons");
  out.begin_list();
  for (const auto& [code, text] : reasons) write_reason(out, code, text);
  out.end_list();
}

}  // namespace sluice::server::admin
