// The syntax of nginx's configuration: directives of words, which end in ';' or have a block.
//
// Thread safety: a pure function.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::server::imports {

struct NginxDirective {
  std::vector<std::string> words;  // the name first; never empty. Quotes and escapes are resolved.
  std::uint32_t line = 0;          // of the name
  std::vector<NginxDirective> block;

  std::string_view name() const { return words.front(); }
};

struct NginxFault {
  std::uint32_t line = 0;
  std::string text;
};

// Blocks of Lua code are skipped. Returns the first fault.
std::expected<std::vector<NginxDirective>, NginxFault> parse_nginx(std::string_view text);

}  // namespace sluice::server::imports
