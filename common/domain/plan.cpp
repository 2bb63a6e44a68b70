#include "common/domain/plan.hpp"

#include <array>
#include <cstddef>

namespace sluice {
namespace {

// Names in the order of the enumerators.
constexpr std::array<std::string_view, 2> kAligns{"epoch", "first"};
constexpr std::array<std::string_view, 5> kPeriods{"hour", "day", "week", "month", "year"};
constexpr std::array<std::string_view, 8> kActions{
    "allow", "deny", "delay", "sample", "drop", "downgrade", "drop_low_priority", "shadow_only"};
constexpr std::array<std::string_view, 3> kModes{"enforce", "shadow", "off"};
constexpr std::array<std::string_view, 3> kFailureModes{"fail_closed", "fail_open", "fail_degrade"};
constexpr std::array<std::string_view, 2> kDegradeActions{"local_limit", "downgrade"};
constexpr std::array<std::string_view, 3> kExposes{"all", "remaining", "none"};
constexpr std::array<std::string_view, 3> kReportSubjects{"hashed", "named", "off"};

static_assert(static_cast<std::size_t>(Align::first) + 1 == kAligns.size());
static_assert(static_cast<std::size_t>(Period::year) + 1 == kPeriods.size());
static_assert(static_cast<std::size_t>(Action::shadow_only) + 1 == kActions.size());
static_assert(static_cast<std::size_t>(Mode::off) + 1 == kModes.size());
static_assert(static_cast<std::size_t>(FailureMode::fail_degrade) + 1 == kFailureModes.size());
static_assert(static_cast<std::size_t>(DegradeAction::downgrade) + 1 == kDegradeActions.size());
static_assert(static_cast<std::size_t>(Expose::none) + 1 == kExposes.size());
static_assert(static_cast<std::size_t>(ReportSubjects::off) + 1 == kReportSubjects.size());

}  // namespace

std::string_view to_string(Align align) { return kAligns[static_cast<std::size_t>(align)]; }
std::string_view to_string(Period period) { return kPeriods[static_cast<std::size_t>(period)]; }
std::string_view to_string(Action action) { return kActions[static_cast<std::size_t>(action)]; }
std::string_view to_string(Mode mode) { return kModes[static_cast<std::size_t>(mode)]; }
std::string_view to_string(FailureMode mode) { return kFailureModes[static_cast<std::size_t>(mode)]; }
std::string_view to_string(DegradeAction action) { return kDegradeActions[static_cast<std::size_t>(action)]; }
std::string_view to_string(Expose what) { return kExposes[static_cast<std::size_t>(what)]; }
std::string_view to_string(ReportSubjects how) { return kReportSubjects[static_cast<std::size_t>(how)]; }

}  // namespace sluice
