#include "agent/mint_key.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "common/domain/credential.hpp"
#include "common/json/tree.hpp"

using namespace sluice;
using namespace sluice::agent;

namespace {

// The members that are strings, those of bundle_entry as "entry.<name>"; null as "null".
std::map<std::string, std::string> minted(const MintKeyRequest& request) {
  json::Tree tree;
  const std::string text = mint_key_document(request);
  CHECK(text.ends_with("}\n"));
  const auto root = tree.parse(text);
  REQUIRE(root.has_value());
  std::map<std::string, std::string> found;
  const auto take = [&](const json::Value& object, const std::string& prefix) {
    for (const json::Member& member : object.members()) {
      const std::string name = prefix + std::string(member.name);
      if (member.value.type() == json::Type::string) found[name] = member.value.text();
      if (member.value.type() == json::Type::null) found[name] = "null";
    }
  };
  take(*root, "");
  for (const json::Member& member : root->members()) {
    if (member.name == "bundle_entry") take(member.value, "entry.");
  }
  return found;
}

}  // namespace

TEST_CASE("mint-key gives a key, its hash and the entry a bundle needs to accept it") {
  auto made = minted({.id = "k1", .tenant = "shop", .name = "Prod \"app\"\n"});
  const auto presented = parse_key(made["key"]);
  REQUIRE(presented.has_value());
  CHECK(presented->id == "k1");
  CHECK(made["id"] == "k1");
  const auto hash = parse_key_hash(made["entry.key_hash"]);
  REQUIRE(hash.has_value());
  CHECK(verify(*hash, presented->secret));
  CHECK(made["key_hash"] == made["entry.key_hash"]);
  CHECK(made["entry.id"] == "k1");
  CHECK(made["entry.tenant_id"] == "shop");
  CHECK(made["entry.name"] == "Prod \"app\"\n");
  CHECK(made["entry.expires_at"] == "null");
}

TEST_CASE("The entry for the bundle does not hold the secret") {
  const std::string text = mint_key_document({.id = "k1", .tenant = "shop", .name = ""});
  const std::string key = minted({.id = "k1", .tenant = "shop", .name = ""})["key"];
  CHECK(key.size() == 56);
  CHECK(text.find("slk_") == text.rfind("slk_"));
  CHECK(text.find("\"name\"") == std::string::npos);
}

TEST_CASE("Without an id a fresh one is made each time") {
  const std::string first = minted({.id = "", .tenant = "t", .name = ""})["id"];
  CHECK(is_id(first));
  CHECK(first != minted({.id = "", .tenant = "t", .name = ""})["id"]);
}
