#include "common/domain/check_rules.hpp"

#include <fmt/core.h>

#include "common/base/duration.hpp"
#include "common/base/text.hpp"

namespace sluice::check_rules {
namespace {

// A larger number is most likely one of milliseconds. Nobody should be held for half an hour by mistake.
constexpr std::chrono::seconds kMaxPlainWait{999};

bool is_digits(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }

}  // namespace

std::string_view fault_of_name(std::string_view name) {
  return name.empty() ? "a name is empty" : "a name is longer than 256 bytes";
}

std::string_view fault_of_cost(bool is_negative) {
  return is_negative ? "a cost is not negative" : "a cost is at most 2147483647 (2^31-1)";
}

std::string fault_of_limit(std::string_view shown) {
  return fmt::format("a limit must be from 1 to {}; got {}. Leave it out to keep the limit of the plan", kMaxLimit,
                     quoted(shown));
}

std::string fault_of_source_ip(std::string_view text) {
  if (text.find(',') != std::string_view::npos) {
    return fmt::format(
        "source_ip must be one address; got the list {}. Of X-Forwarded-For, send the address that your own proxy "
        "added: usually the last one",
        quoted(text));
  }
  return fmt::format(
      "source_ip must be an IP address, such as 203.0.113.7 or 2001:db8::1, with or without a port; got {}. Leave it "
      "out if you do not know it",
      quoted(text));
}

std::expected<std::chrono::microseconds, std::string> read_wait(std::string_view text) {
  const auto wait = parse_written_duration(text);
  const bool doubtful = wait && *wait > kMaxPlainWait && is_digits(text);
  if (wait && *wait <= kMaxWait && !doubtful) return *wait;
  std::string rule = wait ? "wait must be from 0s to 1d" : wait.error().text;
  if (doubtful) {
    rule = fmt::format(
        "a number without a unit is seconds, at most {0}: write \"{1}ms\" for milliseconds, \"{1}s\" for seconds",
        kMaxPlainWait.count(), text);
  }
  return std::unexpected(fmt::format("{}; got {}. Leave wait out to be answered at once", rule, quoted(text)));
}

}  // namespace sluice::check_rules
