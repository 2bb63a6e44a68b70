// Reads the values in what a scrape returns; a clock that tests drive, and options for the metrics they make.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "common/telemetry/metrics.hpp"

namespace sluice::telemetry {

class DrivenClock final : public Clock {
 public:
  std::int64_t now_us() const override { return now; }
  std::int64_t now = 1'000'000'000'000'000;
};

inline MetricsOptions options() {
  return {.workers = 2,
          .redis_error_classes = {"timeout", "loading"},
          .overload_causes = {"in_flight", "matching"},
          .wait_outcomes = {"allowed", "left"},
          .routes = {"/v1/check", "other"},
          .refusal_codes = {"invalid", "missing"}};
}

struct Scraped {
  explicit Scraped(const Registry& metrics) : text("\n" + metrics.render()) {}

  // The value of a series as it is written, "sluice_checks_in_flight" or "x_total{a=\"b\"}"; nothing where it is not
  // exposed.
  std::optional<double> operator[](const std::string& series) const {
    const std::size_t at = text.find("\n" + series + " ");
    if (at == std::string::npos) return std::nullopt;
    return std::strtod(text.c_str() + at + 1 + series.size(), nullptr);
  }
  bool mentions(std::string_view part) const { return text.find(part) != std::string::npos; }

  std::size_t families() const {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find("\n# TYPE ", at)) != std::string::npos; ++at) ++count;
    return count;
  }

  // The sum over all series of a family.
  double sum(const std::string& family) const {
    double total = 0;
    for (std::size_t at = 0; (at = text.find("\n" + family, at)) != std::string::npos; ++at) {
      total += std::strtod(text.c_str() + text.find(' ', text.find('}', at)), nullptr);
    }
    return total;
  }
  std::string text;
};

}  // namespace sluice::telemetry
