#include "common/domain/dimension.hpp"

#include <doctest/doctest.h>

#include <set>

#include "common/domain/plan.hpp"

using sluice::Dimension;
using sluice::DimensionRef;
using sluice::parse_dimension;

TEST_CASE("dimensions have the names and the order of the identity") {
  const std::string_view expected[] = {
      "org",       "tenant",    "application", "service",  "environment", "signal",  "operation",
      "endpoint",  "resource",  "method",      "user",     "subject",     "api_key", "client",
      "client_id", "source_ip", "region",      "severity", "span_name",   "topic",   "consumer_group",
      "job_type",  "priority",  "tag",         "attr"};
  std::size_t i = 0;
  for (const std::string_view name : expected) {
    CAPTURE(name);
    CHECK(sluice::dimension_name(static_cast<Dimension>(i++)) == name);
  }
  CHECK(i == sluice::kNamedDimensions + 2);
}

TEST_CASE("every named dimension reads back from its text") {
  for (std::size_t i = 0; i < sluice::kNamedDimensions; ++i) {
    const auto dimension = static_cast<Dimension>(i);
    const auto read = parse_dimension(sluice::dimension_name(dimension));
    REQUIRE(read);
    CHECK(*read == DimensionRef{dimension, ""});
    CHECK(to_string(*read) == sluice::dimension_name(dimension));
  }
}

TEST_CASE("tag.NAME and attr.NAME read back; only the first dot separates") {
  CHECK(parse_dimension("tag.env") == DimensionRef{Dimension::tag, "env"});
  CHECK(parse_dimension("attr.http.route") == DimensionRef{Dimension::attr, "http.route"});
  CHECK(parse_dimension("tag..") == DimensionRef{Dimension::tag, "."});
  CHECK(to_string(DimensionRef{Dimension::tag, "env"}) == "tag.env");
  CHECK(to_string(DimensionRef{Dimension::attr, "http.route"}) == "attr.http.route");
}

TEST_CASE("a tag or an attribute without a name is no dimension") {
  for (const std::string_view text : {"tag", "attr", "tag.", "attr."}) {
    CAPTURE(text);
    CHECK_FALSE(parse_dimension(text));
  }
}

TEST_CASE("unknown, misspelt and decorated names are no dimension") {
  for (const std::string_view text : {"", ".", ".env", "subjct", "Subject", "subject ", " subject", "subject.",
                                      "subject.x", "tags.env", "tagenv", "attributes.x"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_dimension(text));
  }
}

TEST_CASE("references order by dimension, then by name") {
  const std::set<DimensionRef> sorted{{Dimension::attr, "a"},
                                      {Dimension::tag, "b"},
                                      {Dimension::subject, ""},
                                      {Dimension::tag, "a"},
                                      {Dimension::org, ""}};
  std::string order;
  for (const DimensionRef& reference : sorted) order += to_string(reference) + " ";
  CHECK(order == "org subject tag.a tag.b attr.a ");
}

TEST_CASE("the enums of a plan have their wire names") {
  using namespace sluice;
  CHECK(to_string(Algorithm::token_bucket) == "token_bucket");
  CHECK(to_string(Algorithm::leaky_bucket) == "leaky_bucket");
  CHECK(to_string(Algorithm::fixed_window) == "fixed_window");
  CHECK(to_string(Algorithm::sliding_window) == "sliding_window");
  CHECK(to_string(Algorithm::sliding_window_log) == "sliding_window_log");
  CHECK(to_string(Algorithm::concurrency) == "concurrency");
  CHECK(to_string(Algorithm::quota) == "quota");
  CHECK(to_string(Align::epoch) == "epoch");
  CHECK(to_string(Align::first) == "first");
  CHECK(to_string(Period::hour) == "hour");
  CHECK(to_string(Period::day) == "day");
  CHECK(to_string(Period::week) == "week");
  CHECK(to_string(Period::month) == "month");
  CHECK(to_string(Period::year) == "year");
  CHECK(to_string(Action::allow) == "allow");
  CHECK(to_string(Action::deny) == "deny");
  CHECK(to_string(Action::delay) == "delay");
  CHECK(to_string(Action::sample) == "sample");
  CHECK(to_string(Action::drop) == "drop");
  CHECK(to_string(Action::downgrade) == "downgrade");
  CHECK(to_string(Action::drop_low_priority) == "drop_low_priority");
  CHECK(to_string(Action::shadow_only) == "shadow_only");
  CHECK(to_string(Mode::enforce) == "enforce");
  CHECK(to_string(Mode::shadow) == "shadow");
  CHECK(to_string(Mode::off) == "off");
  CHECK(to_string(FailureMode::fail_closed) == "fail_closed");
  CHECK(to_string(FailureMode::fail_open) == "fail_open");
  CHECK(to_string(FailureMode::fail_degrade) == "fail_degrade");
  CHECK(to_string(DegradeAction::local_limit) == "local_limit");
  CHECK(to_string(DegradeAction::downgrade) == "downgrade");
}
