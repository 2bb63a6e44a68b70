// Completes the schemas of an OpenAPI document. In the frame, a schema may name a table of fields; its properties are
// then generated from that table.
//
// The members below are replaced by what they stand for. Other members of the schema stay.
//   {"fields": "plan"}            the properties of a request body; each may be null, which means absent
//     "form": "document"          the properties of the canonical form instead; those that it always has are required
//     "required": ["id"]          in a body: these properties are required and may not be null
//     "nullable": false           in a body: no property may be null
//     "properties": {…}           replace the table's properties of the same name; new names come last
//   {"choices": "plan.mode"}      a text with the values of that field; with "form": "body" their aliases too
//   {"page_of": "Plan"}           a page of a list
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>

#include "common/json/field.hpp"
#include "common/json/tree.hpp"

namespace sluice::openapi {

// The object components/schemas of a frame, completed, as compact JSON.
// Throws std::logic_error for a table, a field or a schema that does not exist.
std::string complete_schemas(const json::Value& schemas, std::span<const json::FieldTable> tables);

}  // namespace sluice::openapi
