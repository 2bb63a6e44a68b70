// Tables of the fields of JSON objects. A reader takes a field's type and range from its row, and the OpenAPI document
// is made of the same row, so that the two cannot differ.
//
// Thread safety: constants.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::json {

struct Field {
  enum class Type : std::uint8_t { text, boolean, integer, number, duration, timestamp, other };

  std::string_view name;
  Type type = Type::other;
  // Inclusive bounds: for the bytes of a text, the value of an integer or number, or the microseconds of a duration.
  std::int64_t min = 0;
  std::int64_t max = 0;
  int places = -1;                // the most decimals that a number may have; -1: no limit
  std::string_view choices = {};  // the values of a text, aliases in parentheses: "enforce (on), off"
  // The component of the OpenAPI document that describes the value. "": the members above describe it.
  std::string_view schema = {};
  std::string_view body_schema = {};  // the component for request bodies, if they accept more than the canonical form
  std::string_view fallback = {};     // the value of a field that is left out, as JSON
  bool always = false;                // every canonical document has it
  bool body_only = false;             // no canonical document has it
  std::string_view help = {};         // whole sentences
};

// The fields of one object. `name`: how the schemas of an OpenAPI document refer to the table, such as "plan".
struct FieldTable {
  std::string_view name;
  std::span<const Field> fields;
};

}  // namespace sluice::json
