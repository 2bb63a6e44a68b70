#include "common/grpc/timeout.hpp"

#include <charconv>
#include <cstdint>

namespace sluice::grpc {

std::optional<std::chrono::milliseconds> parse_timeout(std::string_view text) {
  constexpr std::size_t kMostDigits = 8;
  if (text.size() < 2 || text.size() > kMostDigits + 1) return std::nullopt;
  const std::string_view digits = text.substr(0, text.size() - 1);
  if (digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  std::int64_t amount = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), amount);
  using std::chrono::ceil;
  using std::chrono::milliseconds;
  switch (text.back()) {
    case 'H':
      return std::chrono::hours(amount);
    case 'M':
      return std::chrono::minutes(amount);
    case 'S':
      return std::chrono::seconds(amount);
    case 'm':
      return milliseconds(amount);
    case 'u':
      return ceil<milliseconds>(std::chrono::microseconds(amount));
    case 'n':
      return ceil<milliseconds>(std::chrono::nanoseconds(amount));
    default:
      return std::nullopt;
  }
}

}  // namespace sluice::grpc
