// Amounts of memory as text: a whole number and a unit, such as "32MB" or "64MiB".
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice {

// Reads digits followed by one of `B`, `kB`, `MB`, `GB` (powers of 1000), `KiB`, `MiB`, `GiB`, `Ki`, `Mi`, `Gi` (powers
// of 1024). nullopt: the text has another form, or the size does not fit into 63 bits.
std::optional<std::uint64_t> parse_byte_size(std::string_view text);

}  // namespace sluice
