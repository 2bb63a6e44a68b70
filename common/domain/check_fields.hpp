// The names a check may have at its top level.
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
    api_key,  // known, to be refused with a reason: it follows from the credential
  };

  std::string_view name;
  Kind kind = Kind::dimension;
  Dimension dimension = Dimension::subject;  // of kind dimension
  std::string_view help = {};                // for people
};

inline constexpr std::size_t kCheckFields = 28;  // fits the bits of a 64-bit set

// The fields that a caller may send, for the OpenAPI documents. costs, tags and attributes are objects, which a
// document describes itself.
std::vector<json::Field> check_field_rows();

// nullptr for a name that is no field.
const CheckField* find_check_field(std::string_view name);

// 0 … kCheckFields − 1; `field` is one that find_check_field returned.
std::size_t check_field_index(const CheckField* field);

// The field a misspelt name most likely means (case, a letter missing, added, wrong, or two swapped); "" for none.
std::string_view nearest_check_field(std::string_view name);

}  // namespace sluice
