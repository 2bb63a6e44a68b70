// Amounts of CPU and memory as Kubernetes writes them: "250m", "0.5", "64Mi", "128M".
//
// Parsing accepts digits, an optional fraction and an optional suffix: `m` for CPU; k M G T P or Ki Mi Gi Ti Pi for
// memory. A sign or an exponent is an error. Writing uses Kubernetes' canonical form, so that the API server stores
// exactly the text that was written.
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::server::injector {

// Returns thousandths of a CPU: "0.5" is 500. nullopt: the text is malformed, or the result is too large for the type,
// not whole or not positive.
std::optional<std::int64_t> parse_cpu(std::string_view text);
std::string cpu_text(std::int64_t milli);

// Returns bytes. nullopt: as for parse_cpu().
std::optional<std::int64_t> parse_memory(std::string_view text);
std::string memory_text(std::int64_t bytes);

}  // namespace sluice::server::injector
