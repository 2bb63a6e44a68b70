#include "common/domain/check_fields.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace sluice {
namespace {

using Kind = CheckField::Kind;

consteval CheckField named(std::string_view name, Dimension dimension) { return {name, Kind::dimension, dimension}; }

// Sorted by length, so that a name is compared with those of its own length only.
constexpr std::array<CheckField, kCheckFields> kFields{{
    {.name = "cost", .kind = Kind::cost},
    {.name = "tags", .kind = Kind::tags},
    named("user", Dimension::user),
    {.name = "costs", .kind = Kind::costs},
    named("topic", Dimension::topic),
    named("client", Dimension::client),
    named("method", Dimension::method),
    named("region", Dimension::region),
    named("signal", Dimension::signal),
    named("subject", Dimension::subject),
    {.name = "plan_id", .kind = Kind::plan_id},
    named("service", Dimension::service),
    {.name = "explain", .kind = Kind::explain},
    {.name = "api_key", .kind = Kind::api_key},
    named("resource", Dimension::resource),
    named("endpoint", Dimension::endpoint),
    named("severity", Dimension::severity),
    named("job_type", Dimension::job_type),
    named("priority", Dimension::priority),
    named("operation", Dimension::operation),
    named("client_id", Dimension::client_id),
    named("source_ip", Dimension::source_ip),
    named("span_name", Dimension::span_name),
    {.name = "request_id", .kind = Kind::request_id},
    {.name = "attributes", .kind = Kind::attributes},
    named("application", Dimension::application),
    named("environment", Dimension::environment),
    named("consumer_group", Dimension::consumer_group),
}};

constexpr std::size_t kLongestName = kFields.back().name.size();
static_assert(std::ranges::is_sorted(kFields, {}, [](const CheckField& field) { return field.name.size(); }));

// kFirst[n]: where the names of n or more bytes begin.
constexpr std::array<std::uint8_t, kLongestName + 2> kFirst = [] {
  std::array<std::uint8_t, kLongestName + 2> first{};
  for (std::size_t length = 0; length < first.size(); ++length) {
    const auto at =
        std::ranges::lower_bound(kFields, length, {}, [](const CheckField& field) { return field.name.size(); });
    first[length] = static_cast<std::uint8_t>(at - kFields.begin());
  }
  return first;
}();

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// How many letters must change (insert, delete, replace, swap two neighbours), case aside. `name` is at most
// kLongestName + 2 bytes long.
std::size_t distance(std::string_view name, std::string_view field) {
  constexpr std::size_t kColumns = kLongestName + 1;
  std::array<std::array<std::size_t, kColumns>, kLongestName + 3> rows{};
  for (std::size_t i = 0; i <= name.size(); ++i) {
    for (std::size_t j = 0; j <= field.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      const bool same = lower(name[i - 1]) == field[j - 1];
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(name[i - 1]) == field[j - 2] && lower(name[i - 2]) == field[j - 1];
      if (swapped) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[name.size()][field.size()];
}

}  // namespace

const CheckField* find_check_field(std::string_view name) {
  if (name.size() > kLongestName) return nullptr;
  for (std::size_t i = kFirst[name.size()]; i < kFirst[name.size() + 1]; ++i) {
    if (kFields[i].name == name) return &kFields[i];
  }
  return nullptr;
}

std::size_t check_field_index(const CheckField* field) { return static_cast<std::size_t>(field - kFields.data()); }

std::string_view nearest_check_field(std::string_view name) {
  if (name.size() > kLongestName + 2) return {};
  // One letter in three may be wrong, two at most: "tag" is "tags", but "ip" is nothing.
  std::size_t nearest = std::min<std::size_t>(name.size() / 3, 2) + 1;
  std::string_view hint;
  for (const CheckField& field : kFields) {
    if (field.kind == Kind::api_key) continue;
    const std::size_t d = distance(name, field.name);
    if (d >= nearest) continue;
    nearest = d;
    hint = field.name;
  }
  return hint;
}

}  // namespace sluice
