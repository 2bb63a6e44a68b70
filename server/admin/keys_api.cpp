#include "server/admin/keys_api.hpp"

#include "common/domain/credential.hpp"
#include "common/json/edit.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::string_view kHash = "key_hash";

std::string key_id(postgres::Transaction&, std::string_view, const json::Value&) { return store::random_id(Kind::key); }

// A body without `key_hash` gets the `key_hash` of `before`. Without `before` it gets the hash of a new secret.
json::Value complete_key(json::Tree& tree, const json::Value& body, const store::StoredObject* before,
                         std::optional<Secret>& secret) {
  std::vector<json::Member> added;
  if (!is_given(body, kHash)) {
    if (before != nullptr) {
      added.push_back({kHash, *tree.parse(before->document).value().find(kHash)});
    } else {
      // A call with an invalid id will be refused, so its secret is never shown.
      const std::string_view id = body.text_of("id");
      secret = Secret{"key", mint_key(is_id(id) ? id : "key")};
      added.push_back({kHash, tree.string(hash_secret(split_key(secret->text)->secret))});
    }
  }
  return json::edited(tree, body, members_to_drop(body, "key"), added);
}

}  // namespace

const Resource kKeys{Kind::key, "/v1/admin/keys", &in_tenant<Kind::key>, &key_id, nullptr, &complete_key};

}  // namespace sluice::server::admin
