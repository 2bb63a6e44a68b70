#include "server/admin/keys_api.hpp"

#include "common/base/timestamp.hpp"
#include "common/domain/credential.hpp"
#include "common/json/edit.hpp"

namespace sluice::server::admin {
namespace {

constexpr std::string_view kHash = "key_hash";

std::string key_id(postgres::Transaction&, std::string_view, const json::Value&) { return store::random_id(Kind::key); }

// An existing key may get or keep such a date: that is how it is ended, and it must stay editable.
void refuse_past_end(const Context& context, const json::Value& body, Faults& faults) {
  const auto end = parse_timestamp(body.text_of("expires_at"));
  if (!end || end->time_since_epoch().count() > context.now_us) return;
  faults.push_back({"/expires_at",
                    "expires_at is in the past, so the key could never be used: write a time to come, or leave "
                    "expires_at out for a key that does not expire"});
}

// A body without `key_hash` gets the `key_hash` of `before`. Without `before` it gets the hash of a new secret.
json::Value complete_key(Context& context, json::Tree& tree, const json::Value& body, const store::StoredObject* before,
                         std::optional<Secret>& secret, Remarks& remarks) {
  if (before == nullptr) refuse_past_end(context, body, remarks.faults);
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
