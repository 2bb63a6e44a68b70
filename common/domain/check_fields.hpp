// The fields of a check: a table of their names and kinds. Also finds the field that an unknown name most likely means.
//
// Thread safety: pure functions over constant tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/domain/dimension.hpp"
#include "common/json/field.hpp"

namespace sluice {

struct CheckField {
  enum class Kind : std::uint8_t {
    dimension,
    plan_id,
    request_id,
    cost,
    costs,
    tags,
    attributes,
    explain,
    api_key,  // callers may not send it, because it follows from the credential
  };

  std::string_view name;
  Kind kind = Kind::dimension;
  Dimension dimension = Dimension::subject;  // for the kind `dimension`
  std::string_view help = {};                // for the OpenAPI document
};

inline constexpr std::size_t kCheckFields = 28;  // at most 64: check_json.cpp has one bit for each field

// The fields that a caller may send, for the OpenAPI documents. The rows of the objects costs, tags and attributes are
// placeholders: each openapi.json has its own schemas for these three, which replace the rows.
std::vector<json::Field> check_field_rows();

// The field with this name; nullptr: there is none.
const CheckField* find_check_field(std::string_view name);

// The field's place in the table, 0 to kCheckFields − 1. REQUIRES: find_check_field() returned `field`.
std::size_t check_field_index(const CheckField* field);

// The name of the field that a misspelt name most likely means; "": no field is similar. Finds errors in case, and
// letters that are missing, added, wrong or swapped.
std::string_view nearest_check_field(std::string_view name);

}  // namespace sluice
