#include "common/policy/counter_key.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "common/base/crypto.hpp"
#include "common/base/short_text.hpp"
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

// So many bytes are looked at together.
constexpr std::ptrdiff_t kRun = 4;
bool are_plain(const char* at) {
  const auto plain = [at](int i) { return static_cast<unsigned>(kPlain[static_cast<unsigned char>(at[i])]); };
  return (plain(0) & plain(1) & plain(2) & plain(3)) != 0;  // one branch for all
}

// IPv4 addresses have one spelling only, so they are written as they are; so is a text that is no address, which only
// the identity of an override can have.
char* write_address(std::string_view text, std::uint8_t ipv6_prefix, char* to) {
  const auto address = text.find(':') == std::string_view::npos ? std::nullopt : parse_ip(text);
  if (!address) return write_escaped(text, to);
  AddressText written;
  return write_escaped(write_block(block_of(*address, address->bits == 128 ? ipv6_prefix : address->bits), written),
                       to);
}

// The identity is hashed if it is too long. Returns its end.
char* shorten(char* begin, char* end) {
  if (static_cast<std::size_t>(end - begin) <= kMaxIdentity) [[likely]]
    return end;
  const Sha256Digest digest = sha256(std::string_view(begin, end));
  std::string hex;
  append_hex(digest, hex);
  *begin = '#';
  return put_text(hex, begin + 1);
}

// The most bytes that write_found() needs. `find` returns the value of a dimension, or nullptr if it is absent.
template <class Find>
std::size_t most_of(std::span<const DimensionRef> dimensions, Find find) {
  std::size_t most = 0;
  for (const DimensionRef& dimension : dimensions) {
    const Value* const value = find(dimension);
    const std::size_t size = value == nullptr ? 0 : std::max(value->text.size(), sizeof(AddressText));
    most += 3 + dimension_name(dimension.dimension).size() + kMaxEscaped * (dimension.name.size() + size);
  }
  return most;
}

template <class Find>
char* write_found(std::span<const DimensionRef> dimensions, std::uint8_t ipv6_prefix, Find find, char* to) {
  char* const begin = to;
  for (const DimensionRef& dimension : dimensions) {
    if (to != begin) *to++ = '|';
    to = put_text(dimension_name(dimension.dimension), to);
    if (!dimension.name.empty()) {
      *to++ = '.';
      to = write_escaped(dimension.name, to);
    }
    if (const Value* value = find(dimension)) {
      *to++ = '=';
      to = dimension.dimension == Dimension::source_ip ? write_address(value->text, ipv6_prefix, to)
                                                       : write_escaped(value->text, to);
    }
  }
  return shorten(begin, to);
}

// Dimensions that a limit adds to key_by come after the hash tag, so all counter keys of one identity are in one slot
// of Redis Cluster. Returns the size of the key's tag.
template <class Find>
std::size_t write_group_key(std::string_view key_head, const Rulebook& rulebook, std::size_t group, Find find,
                            std::string& out) {
  const Enforcement& enforcement = rulebook.enforcement;
  const limiter::Group& compiled = rulebook.program->groups[group];
  const std::string_view tail = rulebook.key_tail.text;
  std::size_t most = key_head.size() + most_of(enforcement.key_by, find) + tail.size();
  if (!compiled.added.empty()) [[unlikely]]
    most += 4 + rulebook.program->limits[compiled.first].name.size() + most_of(compiled.added, find);
  std::size_t tag_size = 0;
  out.resize_and_overwrite(most, [&](char* const begin, std::size_t) {
    char* to = put_text(key_head, begin);
    to = write_found(enforcement.key_by, enforcement.ipv6_prefix, find, to);
    tag_size = static_cast<std::size_t>(to - begin);
    to = put_text(tail, to);
    if (compiled.added.empty()) return to - begin;
    to = put_text(":k=", to);
    to = put_text(rulebook.program->limits[compiled.first].name, to);
    *to++ = '|';
    return write_found(compiled.added, enforcement.ipv6_prefix, find, to) - begin;
  });
  return tag_size;
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
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    for (; end - at >= kRun && are_plain(at); at += kRun, to += kRun) std::memcpy(to, at, kRun);
    if (at == end) break;
    const char c = *at++;
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
  out.resize(static_cast<std::size_t>(shorten(out.data() + start, out.data() + out.size()) - out.data()));
}

void append_identity(const Enforcement& enforcement, const CheckRequest& request, std::string& out) {
  const auto find = find_in(request);
  const std::size_t before = out.size();
  out.resize_and_overwrite(before + most_of(enforcement.key_by, find), [&](char* bytes, std::size_t) {
    return write_found(enforcement.key_by, enforcement.ipv6_prefix, find, bytes + before) - bytes;
  });
}

limiter::CounterHash counter_keys(std::string_view key_head, const Rulebook& rulebook, const CheckRequest& request,
                                  std::vector<std::string>& keys, std::string_view pattern) {
  const std::size_t groups = rulebook.program->groups.size();
  if (keys.size() < groups) keys.resize(groups);
  const auto write_keys = [&](auto find) {
    const std::size_t tag_size = write_group_key(key_head, rulebook, 0, find, keys[0]);
    for (std::size_t g = 1; g < groups; ++g) write_group_key(key_head, rulebook, g, find, keys[g]);
    const std::string_view tag = std::string_view(keys[0]).substr(0, tag_size);
    const bool tail_is_rest = tag_size + rulebook.key_tail.text.size() == keys[0].size();
    return tail_is_rest ? limiter::CounterHash::of(tag, rulebook.key_tail.hash) : limiter::CounterHash::of(keys[0]);
  };
  if (pattern.empty()) return write_keys(find_in(request));
  const Value of_pattern{pattern, true};
  return write_keys([&](const DimensionRef& dimension) {
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
  write_group_key(key_head, rulebook, group, find, key);
  return key;
}

}  // namespace sluice::policy
