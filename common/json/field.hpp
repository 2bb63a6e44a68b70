// Tables of the fields of JSON objects, for reading objects and for the OpenAPI document. Programs write the canonical
// form of a document. A request body may also use aliases and leave out fields.
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
  int places = -1;                // the most decimals of a number; -1: no limit
  std::string_view choices = {};  // the valid texts, aliases in parentheses: "enforce (on), off"
  // A name in components/schemas of the OpenAPI document. If it is empty, the members above describe the value.
  std::string_view schema = {};
  std::string_view body_schema = {};  // the schema in request bodies, if that differs
  // The default value. The canonical form leaves out a field that has this value.
  std::string_view fallback = {};
  bool always = false;         // the canonical form always has the field
  bool body_only = false;      // only request bodies have the field
  std::string_view help = {};  // whole sentences
};

// Another limiter's name of a field, which request bodies may use.
struct FieldAlias {
  std::string_view name;
  std::string_view field;
};

// The fields of one object. OpenAPI schemas refer to the table by `name`.
struct FieldTable {
  std::string_view name;
  std::span<const Field> fields;
};

}  // namespace sluice::json
