#include "common/policy/counter_key.hpp"

#include <algorithm>
#include <array>

#include "common/base/crypto.hpp"
#include "common/domain/ip_address.hpp"

namespace sluice::policy {
namespace {

constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (char c = 'a'; c <= 'z'; ++c) plain[static_cast<unsigned char>(c)] = true;
  for (char c = 'A'; c <= 'Z'; ++c) plain[static_cast<unsigned char>(c)] = true;
  for (char c = '0'; c <= '9'; ++c) plain[static_cast<unsigned char>(c)] = true;
  for (char c : {'.', '_', '-'}) plain[static_cast<unsigned char>(c)] = true;
  return plain;
}();

// IPv4 addresses have one spelling only, so they are written as they are; so is a text that is no address, which only
// the identity of an override can have.
void append_address(std::string_view text, std::uint8_t ipv6_prefix, std::string& out) {
  const auto address = text.find(':') == std::string_view::npos ? std::nullopt : parse_ip(text);
  if (!address) return append_escaped(text, out);
  AddressText written;
  append_escaped(write_block(block_of(*address, address->bits == 128 ? ipv6_prefix : address->bits), written), out);
}

// `find` returns the value of a dimension, or nullptr if it is absent.
template <class Find>
void append_found(std::span<const DimensionRef> dimensions, std::uint8_t ipv6_prefix, Find find, std::string& out) {
  std::size_t start = out.size();
  for (const DimensionRef& dimension : dimensions) {
    if (out.size() > start) out.push_back('|');
    out += dimension_name(dimension.dimension);
    if (!dimension.name.empty()) {
      out.push_back('.');
      append_escaped(dimension.name, out);
    }
    if (const Value* value = find(dimension)) {
      out.push_back('=');
      if (dimension.dimension == Dimension::source_ip) [[unlikely]] {
        append_address(value->text, ipv6_prefix, out);
      } else {
        append_escaped(value->text, out);
      }
    }
  }
  shorten_identity(start, out);
}

// Dimensions that a limit adds to key_by come after the hash tag, so all counter keys of one identity are in one slot
// of Redis Cluster.
template <class Find>
void append_group_key(std::string_view key_head, const Rulebook& rulebook, std::size_t group, Find find,
                      std::string& out) {
  out += key_head;
  const Enforcement& enforcement = rulebook.enforcement;
  append_found(enforcement.key_by, enforcement.ipv6_prefix, find, out);
  out.push_back('}');
  out += rulebook.is_policy ? ":p=" : ":l=";
  out += rulebook.owner_id;
  const limiter::Group& compiled = rulebook.program->groups[group];
  if (compiled.added.empty()) return;
  out += ":k=";
  out += rulebook.program->limits[compiled.first].name;
  out.push_back('|');
  append_found(compiled.added, enforcement.ipv6_prefix, find, out);
}

auto find_in(const CheckRequest& request) {
  return [&request](const DimensionRef& dimension) { return request.find(dimension); };
}

}  // namespace

void append_escaped(std::string_view text, std::string& out) {
  const std::size_t before = out.size();
  out.resize_and_overwrite(before + kMaxEscaped * text.size(),
                           [&](char* bytes, std::size_t) { return write_escaped(text, bytes + before) - bytes; });
}

char* write_escaped(std::string_view text, char* to) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (kPlain[byte]) [[likely]] {
      *to++ = c;
      continue;
    }
    *to++ = '%';
    *to++ = kHex[byte >> 4];
    *to++ = kHex[byte & 15];
  }
  return to;
}

void shorten_identity(std::size_t start, std::string& out) {
  if (out.size() - start <= kMaxIdentity) return;
  Sha256Digest digest = sha256(std::string_view(out).substr(start));
  out.resize(start);
  out.push_back('#');
  append_hex(digest, out);
}

void append_identity(const Enforcement& enforcement, const CheckRequest& request, std::string& out) {
  append_found(enforcement.key_by, enforcement.ipv6_prefix, find_in(request), out);
}

void counter_keys(std::string_view key_head, const Rulebook& rulebook, const CheckRequest& request,
                  std::vector<std::string>& keys, std::string_view pattern) {
  std::size_t groups = rulebook.program->groups.size();
  if (keys.size() < groups) keys.resize(groups);
  const auto write_keys = [&](auto find) {
    for (std::size_t g = 0; g < groups; ++g) {
      keys[g].clear();
      append_group_key(key_head, rulebook, g, find, keys[g]);
    }
  };
  if (pattern.empty()) return write_keys(find_in(request));
  const Value of_pattern{pattern, true};
  write_keys([&](const DimensionRef& dimension) {
    return dimension.dimension == Dimension::resource ? &of_pattern : request.find(dimension);
  });
}

std::string counter_key(std::string_view key_head, const Rulebook& rulebook, std::size_t group,
                        std::span<const std::pair<DimensionRef, std::string>> identity, TrailingSlash trailing_slash) {
  Value value;
  std::string resource;
  auto find = [&](const DimensionRef& dimension) -> const Value* {
    auto found = std::ranges::find(identity, dimension, [](const auto& pair) { return pair.first; });
    if (found == identity.end()) return nullptr;
    value = {found->second, true};
    if (dimension.dimension == Dimension::resource) {
      resource = found->second;
      value.text = canonical_resource(resource);
      if (trailing_slash == TrailingSlash::same) value.text = without_trailing_slash(value.text);
    }
    return &value;
  };
  std::string key;
  append_group_key(key_head, rulebook, group, find, key);
  return key;
}

}  // namespace sluice::policy
