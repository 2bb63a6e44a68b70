// Reads the file of --playground-key-file: API keys of tenants, one a line.
//
// Thread safety: pure functions, but for the reading of the file.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::server::playground {

struct Key {
  std::string id;
  std::string text;  // the whole API key: never logged, never sent to a browser

  bool operator==(const Key&) const = default;
};

inline constexpr std::size_t kMaxKeys = 100;

// Empty lines and those that begin with # are skipped. The error completes "the flag …", and has no part of a key.
std::expected<std::vector<Key>, std::string> parse_keys(std::string_view text);
std::expected<std::vector<Key>, std::string> read_keys(const std::string& path);

}  // namespace sluice::server::playground
