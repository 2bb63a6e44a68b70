#include "ctl/core/metrics_text.hpp"

#include <doctest/doctest.h>

namespace sluice::ctl {

TEST_CASE("the series of one metric are read with their labels, and no other line") {
  const auto series = read_metric(
      "# HELP decisions_total Decisions.\n"
      "decisions_total{tenant=\"a\",outcome=\"allowed\"} 12\n"
      "decisions_total{tenant=\"b \\\"x\\\" \\\\ \\n\",outcome=\"denied\"} 3.5\n"
      "decisions_total_created{tenant=\"a\"} 1\n"
      "other 7\n",
      "decisions_total");
  CHECK(series.size() == 2);
  CHECK(series.at({{"tenant", "a"}, {"outcome", "allowed"}}) == 12);
  CHECK(series.at({{"tenant", "b \"x\" \\ \n"}, {"outcome", "denied"}}) == 3.5);
}

TEST_CASE("a metric without labels has one series, and broken lines have none") {
  CHECK(read_metric("up 1\n", "up").at({}) == 1);
  CHECK(read_metric("up{a=\"b\n", "up").empty());
  CHECK(read_metric("up{a=\"b\" 1\n", "up").empty());
  CHECK(read_metric("up one\n", "up").empty());
  CHECK(read_metric("up", "up").empty());
}

}  // namespace sluice::ctl
