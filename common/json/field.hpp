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
  // Inclusive: bytes of a text, the value of an integer or a number, microseconds of a duration.
  std::int64_t min = 0;
  std::int64_t max = 0;
  int places = -1;                // decimals of a number at most; -1: any
  std::string_view choices = {};  // of a text: "enforce (on), off": its values, an alias in parentheses
  // The component of the OpenAPI document that describes the value. "": the members above describe it.
  std::string_view schema = {};
  std::string_view body_schema = {};  // in a request body, where that takes more than the canonical form has
  std::string_view fallback = {};     // the value of a field that is left out, as JSON
  bool always = false;                // every canonical document has it
  bool body_only = false;             // no canonical document has it
  std::string_view help = {};         // whole sentences
};

// The fields of one object, by the name that the frame of an OpenAPI document calls them.
struct FieldTable {
  std::string_view name;
  std::span<const Field> fields;
};

}  // namespace sluice::json
