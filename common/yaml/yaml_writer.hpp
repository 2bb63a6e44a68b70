// Writes JSON as YAML in block style, for people to read and edit. json_of_yaml() of the result is the same document.
//
// A text is quoted unless every reader of YAML 1.2 and of YAML 1.1 takes it for a text: "on", "no", "1:30" and "1e3"
// are.
#pragma once

#include <string>

#include "common/json/tree.hpp"

namespace sluice::yaml {

// Ends with a line break.
std::string yaml_of_json(const json::Value& document);

}  // namespace sluice::yaml
