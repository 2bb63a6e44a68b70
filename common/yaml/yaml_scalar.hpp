// Converts plain (unquoted) scalars of YAML to JSON, by the core schema of YAML 1.2.2, chapter 10.3. So `yes`, `on` and
// dates become texts.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace sluice::yaml {

// Numbers keep their digits, but "+1", "01" and ".5" become 1, 1 and 0.5. Hexadecimal and octal numbers become decimal.
// Infinity, NaN, and hexadecimal or octal numbers of more than 64 bits are errors.
std::expected<std::string, std::string> json_of_plain(std::string_view text);

}  // namespace sluice::yaml
