#include "ctl/core/time_option.hpp"

#include <chrono>

#include <fmt/core.h>

#include "common/base/duration.hpp"
#include "common/base/text.hpp"
#include "common/base/timestamp.hpp"

namespace sluice::ctl {

Result<std::string> time_of(std::string_view option, const std::string& text) {
  if (parse_timestamp(text)) return text;
  const auto ago = parse_duration(text);
  if (!ago || ago->count() < 0) {
    return failure(
        "time", fmt::format("{} must be a duration such as 1h, or a time such as 2027-03-31T09:00:00Z; got {}", option,
                            sluice::quoted(text)));
  }
  return format_timestamp(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now() - *ago));
}

Result<std::chrono::milliseconds> duration_of(std::string_view option, const std::string& text,
                                              std::chrono::milliseconds least) {
  const auto duration = parse_duration(text);
  if (duration && *duration >= least) return std::chrono::ceil<std::chrono::milliseconds>(*duration);
  return failure("duration", fmt::format("{} must be a duration such as 30s{}; got {}", option,
                                         least.count() > 1 ? fmt::format(", at least {} ms", least.count()) : "",
                                         sluice::quoted(text)));
}

}  // namespace sluice::ctl
