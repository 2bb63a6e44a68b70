// Completes the schemas of an OpenAPI document from tables of fields.
//
// A schema in the frame (the document without operations) may have the members below. Generated members replace them.
//   {"fields": "plan"}            the properties of a request body; each of them may be null
//     "form": "document"          the properties of the canonical form (field.hpp) instead
//     "required": ["id"]          these properties are required; in a body they must not be null
//     "nullable": false           in a body: no property may be null
//     "properties": {…}           replace properties of the table; new names come last
//   {"choices": "plan.mode"}      a string with the values of that field; with "form": "body" their aliases too
//   {"page_of": "Plan"}           an object with one page of a list (`items`, `next`)
//
// Thread safety: pure functions.
#pragma once

#include <span>
#include <string>

#include "common/json/field.hpp"
#include "common/json/tree.hpp"

namespace sluice::openapi {

// `schemas`: components/schemas of a frame. Returns compact JSON.
// Throws std::logic_error if a schema names a table, a field or a schema that does not exist.
std::string complete_schemas(const json::Value& schemas, std::span<const json::FieldTable> tables);

}  // namespace sluice::openapi
