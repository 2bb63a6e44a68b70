// Turns the words of JSON documents ("enforce", "fail_open") and their aliases into the enums of plan.hpp. Algorithms
// have a table of their own in algorithm.hpp.
#pragma once

#include <optional>
#include <string_view>

#include "common/domain/plan.hpp"

namespace sluice {

std::optional<Align> align_from(std::string_view text);
std::optional<Period> period_from(std::string_view text);
std::optional<Action> action_from(std::string_view text);
std::optional<Mode> mode_from(std::string_view text);  // also "on" (enforce) and "monitor" (shadow)
std::optional<FailureMode> failure_mode_from(std::string_view text);
std::optional<DegradeAction> degrade_action_from(std::string_view text);
std::optional<Expose> expose_from(std::string_view text);
std::optional<ReportSubjects> report_subjects_from(std::string_view text);

// All names of each enum, for error texts.
inline constexpr std::string_view kAlignNames = "epoch, first";
inline constexpr std::string_view kPeriodNames = "hour, day, week, month, year";
inline constexpr std::string_view kActionNames =
    "allow, deny, delay, sample, drop, downgrade, drop_low_priority, shadow_only";
inline constexpr std::string_view kModeNames = "enforce (on), shadow (monitor), off";
inline constexpr std::string_view kFailureModeNames = "fail_closed, fail_open, fail_degrade";
inline constexpr std::string_view kDegradeActionNames = "local_limit, downgrade";
inline constexpr std::string_view kExposeNames = "all, remaining, none";
inline constexpr std::string_view kReportSubjectsNames = "hashed, named, off";

}  // namespace sluice
