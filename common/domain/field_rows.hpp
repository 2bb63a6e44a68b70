// Builds the kinds of json::Field that several field tables use.
#pragma once

#include <string_view>

#include "common/base/clock.hpp"
#include "common/domain/enum_text.hpp"
#include "common/json/field.hpp"

namespace sluice::row {

using json::Field;

consteval Field flag(std::string_view name, std::string_view fallback, std::string_view help) {
  return {.name = name, .type = Field::Type::boolean, .fallback = fallback, .help = help};
}

consteval Field choice(std::string_view name, std::string_view choices, std::string_view schema,
                       std::string_view fallback, std::string_view help) {
  return {.name = name,
          .type = Field::Type::text,
          .choices = choices,
          .schema = schema,
          .fallback = fallback,
          .help = help};
}

// A number from 0 to 1.
consteval Field share(std::string_view name, std::string_view help) {
  return {.name = name, .type = Field::Type::number, .max = 1, .help = help};
}

consteval Field duration(std::string_view name, Micros min, Micros max, std::string_view help) {
  return {.name = name,
          .type = Field::Type::duration,
          .min = min.count(),
          .max = max.count(),
          .schema = "Duration",
          .body_schema = "DurationBody",
          .help = help};
}

// Any RFC 3339 time stamp is valid in a request body; a canonical document uses UTC.
consteval Field instant(std::string_view name, std::string_view help) {
  return {.name = name, .type = Field::Type::timestamp, .schema = "Instant", .body_schema = "Time", .help = help};
}

consteval Field mode(std::string_view help) {
  return {.name = "mode",
          .type = Field::Type::text,
          .choices = kModeNames,
          .schema = "Mode",
          .body_schema = "ModeBody",
          .fallback = "enforce",
          .help = help};
}

}  // namespace sluice::row
