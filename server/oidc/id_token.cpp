#include "server/oidc/id_token.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include <cjose/cjose.h>
#include <fmt/core.h>

#include "common/base/crypto.hpp"
#include "common/base/utf8.hpp"
#include "common/json/tree.hpp"
#include "server/auth/group_mapping.hpp"

namespace sluice::server::oidc {
namespace {

struct Algorithm {
  std::string_view name;
  KeyType type;
  std::size_t bits;  // of the curve; 0: any length
};

constexpr std::array kAlgorithms{
    Algorithm{"RS256", KeyType::rsa, 0},  Algorithm{"RS384", KeyType::rsa, 0},  Algorithm{"RS512", KeyType::rsa, 0},
    Algorithm{"PS256", KeyType::rsa, 0},  Algorithm{"PS384", KeyType::rsa, 0},  Algorithm{"PS512", KeyType::rsa, 0},
    Algorithm{"ES256", KeyType::ec, 256}, Algorithm{"ES384", KeyType::ec, 384}, Algorithm{"ES512", KeyType::ec, 521},
};

std::unexpected<Error> malformed(std::string_view why) {
  return failure("malformed", fmt::format("the provider's ID token {}", why));
}
std::unexpected<Error> bad_claim(std::string_view why) {
  return failure("claims", fmt::format("the provider's ID token {}", why));
}

// An object in which every name stands once: two readers must not understand it differently.
std::optional<json::Value> read_object(std::string_view text, json::Tree& tree) {
  const auto value = tree.parse(text);
  if (!value || value->type() != json::Type::object) return std::nullopt;
  if (std::ranges::any_of(value->members(), &json::Member::duplicate)) return std::nullopt;
  return *value;
}

struct Header {
  const Algorithm* algorithm = nullptr;
  std::string key_id;  // "": none
};

Result<Header> read_header(std::string_view token) {
  const std::size_t first = token.find('.');
  const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos || token.find('.', second + 1) != std::string_view::npos) {
    return malformed("does not have three parts");
  }
  const auto bytes = from_base64url(token.substr(0, first));
  json::Tree tree;
  const auto header =
      bytes ? read_object({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, tree) : std::nullopt;
  if (!header) return malformed("has a header that is not a JSON object");
  if (header->find("crit") != nullptr) return malformed("demands an extension (crit) that Sluice does not have");
  const std::string_view name = header->text_of("alg");
  const auto* const algorithm = std::ranges::find(kAlgorithms, name, &Algorithm::name);
  if (algorithm == kAlgorithms.end()) {
    return failure("algorithm",
                   "the provider's ID token is not signed with RS, PS or ES and SHA-256, -384 or -512: choose one of "
                   "these for this client at the provider");
  }
  const json::Value* const key_id = header->find("kid");
  if (key_id != nullptr && key_id->type() != json::Type::string) return malformed("has a kid that is not a text");
  return Header{.algorithm = algorithm, .key_id = key_id == nullptr ? std::string() : std::string(key_id->text())};
}

bool fits(const Key& key, const Header& header) {
  return key.type == header.algorithm->type && (header.algorithm->bits == 0 || key.bits == header.algorithm->bits) &&
         (key.algorithm.empty() || key.algorithm == header.algorithm->name) &&
         (header.key_id.empty() || key.id == header.key_id);
}

// The signed text, if the key has signed it.
std::optional<std::string> verified(std::string_view token, const Key& key) {
  cjose_err error{};
  const std::unique_ptr<cjose_jws_t, void (*)(cjose_jws_t*)> signed_text(
      cjose_jws_import(token.data(), token.size(), &error), [](cjose_jws_t* text) {
        if (text != nullptr) cjose_jws_release(text);
      });
  if (signed_text == nullptr || !cjose_jws_verify(signed_text.get(), key.key.get(), &error)) return std::nullopt;
  std::uint8_t* bytes = nullptr;  // belongs to `signed_text`
  std::size_t size = 0;
  if (!cjose_jws_get_plaintext(signed_text.get(), &bytes, &size, &error)) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes), size);
}

Result<std::string> verified_text(std::string_view token, const KeySet& keys) {
  const Result<Header> header = read_header(token);
  if (!header) return std::unexpected(header.error());
  bool found = false;
  for (const Key& key : keys) {
    if (!fits(key, *header)) continue;
    found = true;
    if (auto text = verified(token, key)) return *std::move(text);
  }
  if (!found)
    return failure("unknown_key", "the provider's ID token is signed with a key that its key set does not have");
  return failure("signature", "the provider's ID token has a signature that its keys do not verify");
}

// Whole seconds since 1970; a fraction is cut off.
std::optional<std::int64_t> seconds_of(const json::Value& claims, std::string_view name) {
  const json::Value value = claims.get(name);
  if (value.type() != json::Type::number) return std::nullopt;
  const std::string_view text = value.text();
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || (end != text.data() + text.size() && *end != '.')) return std::nullopt;
  return seconds;
}

Result<> check_audience(const json::Value& claims, const std::string& client_id) {
  const json::Value audience = claims.get("aud");
  bool named = audience.type() == json::Type::string && audience.text() == client_id;
  const auto list = claims.items_of("aud");
  for (const json::Value& item : list) named |= item.type() == json::Type::string && item.text() == client_id;
  if (!named) return bad_claim("is for another client: aud does not name --oidc-client-id");
  const json::Value* const party = claims.find("azp");
  if (party == nullptr && list.size() > 1) return bad_claim("is for several clients, and has no azp");
  if (party != nullptr && claims.text_of("azp") != client_id) return bad_claim("was issued to another client (azp)");
  return {};
}

Result<> check_times(const json::Value& claims, std::int64_t now) {
  const auto expires = seconds_of(claims, "exp");
  const auto issued = seconds_of(claims, "iat");
  if (!expires || !issued) return bad_claim("lacks exp or iat, or they are not numbers of seconds");
  if (*expires <= now - kClockSkewSeconds) return bad_claim("has expired: compare the clocks of both machines");
  if (*issued > now + kClockSkewSeconds)
    return bad_claim("was issued in the future: compare the clocks of both machines");
  if (claims.find("nbf") == nullptr) return {};
  const auto begins = seconds_of(claims, "nbf");
  if (!begins || *begins > now + kClockSkewSeconds) return bad_claim("is not valid yet (nbf)");
  return {};
}

bool is_plain(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// "" if the claim is absent, or nothing to show to people.
std::string shown(const json::Value& claims, std::string_view name) {
  const std::string_view text = claims.text_of(name);
  return is_plain(text) ? std::string(utf8_prefix(text, kMaxNameBytes)) : std::string();
}

void add_group(const json::Value& value, std::vector<std::string>& groups) {
  if (value.type() != json::Type::string) return;
  const std::string_view name = value.text();
  if (!name.empty() && std::ssize(name) <= auth::kMaxGroupBytes) groups.emplace_back(name);
}

Result<Identity> read_identity(const json::Value& claims, const std::string& groups_claim) {
  Identity identity;
  const std::string_view subject = claims.text_of("sub");
  if (subject.empty() || subject.size() > kMaxSubjectBytes || !is_plain(subject)) {
    return bad_claim("has no usable sub: a text of at most 255 bytes without control characters");
  }
  identity.person.subject = subject;
  identity.person.name = shown(claims, "name");
  if (identity.person.name.empty()) identity.person.name = shown(claims, "preferred_username");
  identity.person.email = shown(claims, "email");
  const json::Value groups = claims.get(groups_claim);
  identity.has_groups_claim = groups.type() == json::Type::array || groups.type() == json::Type::string;
  add_group(groups, identity.groups);
  for (const json::Value& item : claims.items_of(groups_claim)) add_group(item, identity.groups);
  return identity;
}

}  // namespace

Result<Identity> check_id_token(std::string_view token, const KeySet& keys, const Expected& expected) {
  if (token.size() > kMaxTokenBytes) return malformed(fmt::format("has more than {} bytes", kMaxTokenBytes));
  const Result<std::string> text = verified_text(token, keys);
  if (!text) return std::unexpected(text.error());
  json::Tree tree;
  const auto claims = read_object(*text, tree);
  if (!claims) return malformed("does not hold a JSON object");
  if (claims->text_of("iss") != expected.issuer) return bad_claim("is of another issuer (iss)");
  if (auto good = check_audience(*claims, expected.client_id); !good) return std::unexpected(good.error());
  if (auto good = check_times(*claims, expected.now_us / 1'000'000); !good) return std::unexpected(good.error());
  if (expected.nonce.empty() || claims->text_of("nonce") != expected.nonce) {
    return bad_claim("answers another sign-in (nonce)");
  }
  return read_identity(*claims, expected.groups_claim);
}

}  // namespace sluice::server::oidc
