#include "server/admin/keys_api.hpp"

#include "common/domain/credential.hpp"
#include "common/json/edit.hpp"
#include "common/json/text.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::string_view kHash = "key_hash";

std::string key_id(postgres::Transaction&, std::string_view, const json::Value&) { return store::random_id(Kind::key); }

// The hash of `before`, or that of a new secret.
std::optional<Secret> complete_key(std::string& body, const store::StoredObject* before) {
  json::Tree tree;
  json::Tree old_tree;
  const json::Value given = tree.parse(body).value();
  std::vector<json::NamedText> added;
  std::optional<Secret> secret;
  if (!is_given(given, kHash)) {
    if (before != nullptr) {
      added.emplace_back(kHash, json::string_literal(old_tree.parse(before->document).value().text_of(kHash)));
    } else {
      // Where the id is faulty the call is refused, and the secret is nobody's.
      const std::string_view id = given.text_of("id");
      secret = Secret{"key", mint_key(is_id(id) ? id : "key")};
      added.emplace_back(kHash, json::string_literal(hash_secret(split_key(secret->text)->secret)));
    }
  }
  body = json::edited(given, unshown(given, "key"), added);
  return secret;
}

}  // namespace

const Resource kKeys{Kind::key, "/v1/admin/keys", &draft_key, &key_id, &complete_key};

}  // namespace sluice::server::admin
