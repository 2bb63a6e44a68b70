// Amounts of memory as text, such as "32MB" or "64MiB".
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

// Reads digits followed by one of `B`, `kB`, `MB`, `GB` (powers of 1000), `KiB`, `MiB`, `GiB`, `Ki`, `Mi`, `Gi` (powers
// of 1024). The size must fit into 63 bits.
std::optional<std::uint64_t> parse_byte_size(std::string_view text);

}  // namespace sluice
