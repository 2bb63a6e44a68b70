// The quotas of which a check has reached a share that is reported, so that the server can tell the tenant's webhooks.
// All functions are pure.
#pragma once

#include <cstdint>
#include <optional>

#include "common/limiter/counter_store.hpp"
#include "common/sync/report.hpp"
#include "engine/decide/observer.hpp"

namespace sluice::usage {

// The mark of a quota that denied the check because it is used up. The check that used it up has reported that before;
// but its report may be lost, or an override may have lowered the limit below what is used.
std::optional<limiter::QuotaMark> used_up(const decide::Judgement& judgement);

// Names the mark of one counter. Equal marks of one snapshot have equal names.
std::uint64_t name_of(const decide::Judgement& judgement, const limiter::QuotaMark& mark);

// Whether the policy's `report_subjects` keeps the counter out of reports.
bool is_hidden(const decide::Judgement& judgement, const limiter::QuotaMark& mark);

// REQUIRES: is_hidden() is false.
sync::QuotaReached describe_quota(const decide::DecidedCheck& check, const decide::Judgement& judgement,
                                  const limiter::QuotaMark& mark);

}  // namespace sluice::usage
