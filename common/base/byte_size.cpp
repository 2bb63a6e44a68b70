#include "common/base/byte_size.hpp"

#include <charconv>
#include <limits>

namespace sluice {
namespace {

struct SizeUnit {
  std::string_view name;
  std::uint64_t bytes;
};
constexpr SizeUnit kSizeUnits[] = {{"B", 1},          {"kB", 1'000},     {"MB", 1'000'000}, {"GB", 1'000'000'000},
                                   {"KiB", 1U << 10}, {"MiB", 1U << 20}, {"GiB", 1U << 30}, {"Ki", 1U << 10},
                                   {"Mi", 1U << 20},  {"Gi", 1U << 30}};

}  // namespace

std::optional<std::uint64_t> parse_byte_size(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view name(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const SizeUnit& unit : kSizeUnits) {
    if (unit.name != name) continue;
    if (number > std::numeric_limits<std::int64_t>::max() / unit.bytes) return std::nullopt;
    return number * unit.bytes;
  }
  return std::nullopt;
}

}  // namespace sluice
