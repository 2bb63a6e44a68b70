// The fields of a check: a table of their names and kinds.
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
    limit_override,
    explain,
    wait,       // of single checks only
    tenant_id,  // must be the tenant of the credential
    refused,    // callers must not send this field; `help` says why
  };

  std::string_view name;
  Kind kind = Kind::dimension;
  Dimension dimension = Dimension::subject;  // for the kind `dimension`
  std::string_view help = {};                // for the OpenAPI document
  std::string_view alias_of = {};            // the field that this is another name of
};

inline constexpr std::size_t kCheckFields = 36;  // at most 64, because check_json.cpp has one bit for each field

// The fields that a caller may send, for the OpenAPI documents. The rows of costs, tags, attributes and
// limit_override are only placeholders, because each openapi.json has its own schemas for these objects.
std::vector<json::Field> check_field_rows();

const CheckField* find_check_field(std::string_view name);

// The field whose name Go would write like this ("UserID" is "user_id"); nullptr if a check has no such field.
const CheckField* check_field_of_go(std::string_view name);

// The field's place in the table; of an alias: that of the field it stands for. REQUIRES: find_check_field() returned
// `field`.
std::size_t check_field_index(const CheckField* field);

// The name of the field that a misspelt name most likely means; "" if no field is similar.
std::string_view nearest_check_field(std::string_view name);

}  // namespace sluice
