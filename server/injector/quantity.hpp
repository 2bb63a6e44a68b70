// Amounts of CPU and memory as Kubernetes writes them: "250m", "0.5", "64Mi", "128M".
//
// A sign or an exponent is an error. cpu_text() and memory_text() write Kubernetes' canonical form, which the API
// server stores unchanged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::server::injector {

// Returns thousandths of a CPU: "0.5" is 500. nullopt: the text is malformed, or the result is too large, not whole or
// not positive.
std::optional<std::int64_t> parse_cpu(std::string_view text);
std::string cpu_text(std::int64_t milli);

// Returns bytes. nullopt: as for parse_cpu().
std::optional<std::int64_t> parse_memory(std::string_view text);
std::string memory_text(std::int64_t bytes);

}  // namespace sluice::server::injector
