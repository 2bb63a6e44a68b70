#include "server/admin/keys_api.hpp"

#include "common/domain/credential.hpp"
#include "server/admin/json_edit.hpp"

namespace sluice::server {
namespace {

constexpr std::string_view kHash = "key_hash";

std::string key_id(Transaction&, std::string_view, const JsonValue&) { return random_id(Kind::key); }

// The hash of `before`, or that of a new secret.
std::optional<Secret> complete_key(std::string& body, const StoredObject* before) {
  JsonTree tree;
  JsonTree old_tree;
  const JsonValue given = tree.parse(body).value();
  std::vector<NamedText> added;
  std::optional<Secret> secret;
  if (!is_given(given, kHash)) {
    if (before != nullptr) {
      added.emplace_back(kHash, json_string(text_member(old_tree.parse(before->document).value(), kHash)));
    } else {
      // Where the id is faulty the call is refused, and the secret is nobody's.
      const std::string_view id = text_member(given, "id");
      secret = Secret{"key", mint_key(is_id(id) ? id : "key")};
      added.emplace_back(kHash, json_string(hash_secret(split_key(secret->text)->secret)));
    }
  }
  body = edited(given, unshown(given, "key"), added);
  return secret;
}

}  // namespace

const Resource kKeys{Kind::key, "/v1/admin/keys", &draft_key, &key_id, &complete_key};

}  // namespace sluice::server
