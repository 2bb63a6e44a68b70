#include "server/oidc/key_set.hpp"

#include <optional>

#include <cjose/cjose.h>
#include <fmt/core.h>
#include <jansson.h>

namespace sluice::server::oidc {
namespace {

struct Released {
  void operator()(json_t* value) const { json_decref(value); }
};
using Json = std::unique_ptr<json_t, Released>;

std::string text_of(const json_t* object, const char* member) {
  const char* const text = json_string_value(json_object_get(object, member));
  return text == nullptr ? std::string() : std::string(text);
}

std::optional<KeyType> type_of(cjose_jwk_kty_t type) {
  if (type == CJOSE_JWK_KTY_RSA) return KeyType::rsa;
  if (type == CJOSE_JWK_KTY_EC) return KeyType::ec;
  return std::nullopt;
}

// nullopt: the key cannot verify a signature here.
std::optional<Key> read_key(json_t* item) {
  const std::string use = text_of(item, "use");
  if (!json_is_object(item) || (!use.empty() && use != "sig")) return std::nullopt;
  cjose_err error{};
  std::shared_ptr<cjose_jwk_t> jwk(cjose_jwk_import_json(reinterpret_cast<cjose_header_t*>(item), &error),
                                   [](cjose_jwk_t* key) {
                                     if (key != nullptr) cjose_jwk_release(key);
                                   });
  if (jwk == nullptr) return std::nullopt;
  const auto type = type_of(cjose_jwk_get_kty(jwk.get(), &error));
  const std::size_t bits = cjose_jwk_get_keysize(jwk.get(), &error);
  if (!type || (*type == KeyType::rsa && bits < kMinRsaBits)) return std::nullopt;
  return Key{.id = text_of(item, "kid"),
             .algorithm = text_of(item, "alg"),
             .type = *type,
             .bits = bits,
             .key = std::move(jwk)};
}

}  // namespace

Result<KeySet> read_key_set(std::string_view document) {
  json_error_t error{};
  const Json set(json_loadb(document.data(), document.size(), JSON_REJECT_DUPLICATES, &error));
  const json_t* const keys = json_object_get(set.get(), "keys");
  if (!json_is_array(keys)) return failure("document", "the provider's key set is not a JSON object with keys");
  if (json_array_size(keys) > kMaxKeys) {
    return failure("document", fmt::format("the provider's key set has more than {} keys", kMaxKeys));
  }
  KeySet found;
  for (std::size_t i = 0; i < json_array_size(keys); ++i) {
    if (auto key = read_key(json_array_get(keys, i))) found.push_back(std::move(*key));
  }
  return found;
}

}  // namespace sluice::server::oidc
