#include "common/rls_config/unit.hpp"

#include <algorithm>
#include <array>

namespace sluice::rls_config {
namespace {

using namespace std::chrono_literals;

struct Row {
  Unit unit;
  std::string_view name;
  std::chrono::seconds length;
};
constexpr std::array kRows{
    Row{Unit::second, "SECOND", 1s},
    Row{Unit::minute, "MINUTE", 1min},
    Row{Unit::hour, "HOUR", 1h},
    Row{Unit::day, "DAY", std::chrono::days(1)},
    Row{Unit::month, "MONTH", std::chrono::days(30)},
    Row{Unit::year, "YEAR", std::chrono::days(365)},
    Row{Unit::week, "WEEK", std::chrono::days(7)},
};

const Row& row_of(Unit unit) { return kRows[static_cast<std::size_t>(unit) - 1]; }

bool equal_without_case(std::string_view text, std::string_view upper) {
  return std::ranges::equal(text, upper,
                            [](char a, char b) { return (a >= 'a' && a <= 'z' ? a - 'a' + 'A' : a) == b; });
}

}  // namespace

std::chrono::seconds length_of(Unit unit) { return row_of(unit).length; }
std::string_view to_string(Unit unit) { return row_of(unit).name; }

std::optional<Unit> unit_from(std::string_view name) {
  for (const Row& row : kRows) {
    if (equal_without_case(name, row.name)) return row.unit;
  }
  return std::nullopt;
}

std::optional<Unit> unit_from(std::uint64_t number) {
  if (number < 1 || number > kRows.size()) return std::nullopt;
  return static_cast<Unit>(number);
}

}  // namespace sluice::rls_config
