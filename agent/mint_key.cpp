#include "agent/mint_key.hpp"

#include <array>
#include <cstdint>
#include <string_view>

#include "common/base/crypto.hpp"
#include "common/domain/credential.hpp"
#include "common/json/text.hpp"

namespace sluice::agent {
namespace {

std::string random_id() {
  std::array<std::uint8_t, 6> bytes;
  random_bytes(bytes);
  return "key-" + to_hex(bytes);
}

void add(std::string& out, std::string_view key, std::string_view text) {
  out.append(key);
  json::append_string(out, text);
}

}  // namespace

std::string mint_key_document(const MintKeyRequest& request) {
  const std::string id = request.id.empty() ? random_id() : request.id;
  const std::string key = mint_key(id);
  const std::string hash = hash_secret(parse_key(key)->secret);
  std::string out;
  add(out, R"({"id":)", id);
  add(out, R"(,"key":)", key);
  add(out, R"(,"key_hash":)", hash);
  add(out, R"(,"bundle_entry":{"tenant_id":)", request.tenant);
  add(out, R"(,"id":)", id);
  if (!request.name.empty()) add(out, R"(,"name":)", request.name);
  add(out, R"(,"key_hash":)", hash);
  return out.append(R"(,"expires_at":null}})").append("\n");
}

}  // namespace sluice::agent
