// Amounts of CPU and memory as Kubernetes writes them: "250m", "0.5", "64Mi", "128M".
//
// Parsing takes digits with an optional fraction and one of Kubernetes' suffixes; no sign and no exponent. Writing uses
// Kubernetes' canonical form, so that the API server stores exactly the text that was written.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::server::injector {

// Thousandths of a CPU. nullopt for another form, for less than a thousandth, and for values that are too large.
std::optional<std::int64_t> parse_cpu(std::string_view text);
std::string cpu_text(std::int64_t milli);

// Whole bytes; nullopt for anything else.
std::optional<std::int64_t> parse_memory(std::string_view text);
std::string memory_text(std::int64_t bytes);

}  // namespace sluice::server::injector
