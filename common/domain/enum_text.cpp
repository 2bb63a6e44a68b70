#include "common/domain/enum_text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice {
namespace {

template <class Enum>
using Alias = std::pair<std::string_view, Enum>;

constexpr std::array<Alias<Mode>, 2> kModeAliases{{{"on", Mode::enforce}, {"monitor", Mode::shadow}}};

template <class Enum>
std::optional<Enum> by_name(std::string_view text, Enum last) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const auto value = static_cast<Enum>(i);
    if (to_string(value) == text) return value;
  }
  return std::nullopt;
}

template <class Enum, std::size_t kCount>
std::optional<Enum> by_alias(std::string_view text, const std::array<Alias<Enum>, kCount>& aliases) {
  const auto found = std::ranges::find(aliases, text, &Alias<Enum>::first);
  if (found == aliases.end()) return std::nullopt;
  return found->second;
}

}  // namespace

std::optional<Align> align_from(std::string_view text) { return by_name(text, Align::first); }
std::optional<Period> period_from(std::string_view text) { return by_name(text, Period::year); }
std::optional<Action> action_from(std::string_view text) { return by_name(text, Action::shadow_only); }

std::optional<Mode> mode_from(std::string_view text) {
  const auto mode = by_name(text, Mode::off);
  return mode ? mode : by_alias(text, kModeAliases);
}

std::optional<FailureMode> failure_mode_from(std::string_view text) { return by_name(text, FailureMode::fail_degrade); }
std::optional<DegradeAction> degrade_action_from(std::string_view text) {
  return by_name(text, DegradeAction::downgrade);
}
std::optional<Expose> expose_from(std::string_view text) { return by_name(text, Expose::none); }
std::optional<ReportSubjects> report_subjects_from(std::string_view text) { return by_name(text, ReportSubjects::off); }

}  // namespace sluice
