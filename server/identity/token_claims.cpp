#include "server/identity/token_claims.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "common/base/crypto.hpp"
#include "common/json/tree.hpp"

namespace sluice::server::identity {
namespace {

constexpr std::size_t kParts = 3;
constexpr std::int64_t kMaxUnixSeconds = 253'402'300'799;  // the end of the year 9999

std::optional<std::array<std::string_view, kParts>> parts_of(std::string_view token) {
  std::array<std::string_view, kParts> parts;
  for (std::size_t i = 0; i < kParts; ++i) {
    const std::size_t dot = token.find('.');
    if ((dot == std::string_view::npos) != (i == kParts - 1)) return std::nullopt;
    parts[i] = token.substr(0, dot);
    if (parts[i].empty()) return std::nullopt;
    token.remove_prefix(std::min(token.size(), parts[i].size() + 1));
  }
  return parts;
}

std::optional<json::Value> object_of(std::string_view part, json::Tree& tree) {
  const auto bytes = from_base64url(part);
  if (!bytes) return std::nullopt;
  const auto value = tree.parse({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  if (!value || value->type() != json::Type::object) return std::nullopt;
  return *value;
}

// Reads whole seconds; a fraction is cut off.
std::optional<WallTime> time_of(const json::Value* value) {
  if (value == nullptr || value->type() != json::Type::number) return std::nullopt;
  const std::string_view text = value->text();
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || (end != text.data() + text.size() && *end != '.')) return std::nullopt;
  return WallTime(std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, kMaxUnixSeconds)));
}

}  // namespace

bool TokenClaims::is_for(std::string_view audience) const {
  return std::ranges::find(audiences, audience) != audiences.end();
}

std::optional<TokenClaims> read_claims(std::string_view token) {
  const auto parts = parts_of(token);
  json::Tree header_tree;
  json::Tree tree;
  if (!parts || !object_of((*parts)[0], header_tree) || !from_base64url((*parts)[2])) return std::nullopt;
  const auto body = object_of((*parts)[1], tree);
  if (!body) return std::nullopt;
  TokenClaims claims;
  claims.expires_at = time_of(body->find("exp"));
  if (const json::Value* const audience = body->find("aud"); audience != nullptr) {
    if (audience->type() == json::Type::string) claims.audiences.emplace_back(audience->text());
    if (audience->type() == json::Type::array) {
      for (const json::Value& item : audience->items()) {
        if (item.type() == json::Type::string) claims.audiences.emplace_back(item.text());
      }
    }
  }
  return claims;
}

}  // namespace sluice::server::identity
