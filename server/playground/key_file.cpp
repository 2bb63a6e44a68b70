#include "server/playground/key_file.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/core.h>

#include "common/domain/credential.hpp"

namespace sluice::server::playground {
namespace {

std::string_view trimmed(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  return line;
}

}  // namespace

std::expected<std::vector<Key>, std::string> parse_keys(std::string_view text) {
  std::vector<Key> keys;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const auto key = parse_key(line);
    if (!key) {
      return std::unexpected(fmt::format(
          "has in line {} no API key: each line is a key as it was shown when it was made, slk_<id>_<secret>", number));
    }
    if (keys.size() >= kMaxKeys) return std::unexpected(fmt::format("has more than {} API keys", kMaxKeys));
    keys.push_back({.id = std::string(key->id), .text = std::string(line)});
  }
  if (keys.empty()) return std::unexpected("is empty; put an API key of each tenant to play with on a line of its own");
  return keys;
}

std::expected<std::vector<Key>, std::string> read_keys(const std::string& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (file.bad()) return std::unexpected("cannot be read");
  return parse_keys(text);
}

}  // namespace sluice::server::playground
