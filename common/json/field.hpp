// Tables of the fields of JSON objects. Each row describes one field. The code that reads an object takes a field's
// name and range from its row, and the OpenAPI document is generated from the same row, so the two cannot differ.
//
// Documents have two forms. The canonical form is the one that the programs write. A request body may also use other
// forms of a value, such as aliases, and may leave fields out.
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
  // Inclusive bounds: of a text's length in bytes, of an integer or number, or of a duration in microseconds.
  std::int64_t min = 0;
  std::int64_t max = 0;
  int places = -1;                // the most decimals that a number may have; -1: no limit
  std::string_view choices = {};  // the valid texts, aliases in parentheses: "enforce (on), off"
  // The value's schema: its name in components/schemas of the OpenAPI document. "": the members above describe the
  // value.
  std::string_view schema = {};
  std::string_view body_schema = {};  // the schema in request bodies; "": the same as `schema`
  // The default, as the documentation shows it. The canonical form leaves out a field that has its default.
  std::string_view fallback = {};
  bool always = false;         // every document in canonical form has the field
  bool body_only = false;      // only request bodies have the field
  std::string_view help = {};  // whole sentences, for the OpenAPI document
};

// The fields of one object. `name`: how the schemas of an OpenAPI document refer to the table, such as "plan".
struct FieldTable {
  std::string_view name;
  std::span<const Field> fields;
};

}  // namespace sluice::json
