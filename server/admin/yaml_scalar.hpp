// Plain scalars of YAML as JSON values: the core schema of YAML 1.2.2, chapter 10.3. "yes", "on" and dates are texts.
//
// Thread safety: a pure function.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace sluice::server::admin {

// JSON text for a plain scalar. Numbers keep the digits they are written with; "+1", "01" and ".5" lose or gain what
// JSON wants so, hexadecimal and octal ones become decimal. Refused, with a sentence: what JSON has no number for.
std::expected<std::string, std::string> json_of_plain(std::string_view text);

}  // namespace sluice::server::admin
