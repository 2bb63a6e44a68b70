// What a refused API key costs. This program counts the SHA-256 hashes that it computes, by a function of its own in
// front of OpenSSL's.
#define OPENSSL_SUPPRESS_DEPRECATED  // as common/base/crypto.cpp
#include <dlfcn.h>
#include <openssl/sha.h>

#include "common/policy/snapshot_delta.hpp"
#include "tests/unit/agent/api/api_rig.hpp"

namespace {

// Of all hashes that were ended since the last reset.
struct HashWork {
  int hashes = 0;
  std::size_t bytes = 0;

  bool operator==(const HashWork&) const = default;
};
HashWork work;

template <class Function>
Function* of_openssl(Function*, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int SHA256_Update(SHA256_CTX* context, const void* bytes, std::size_t size) {
  work.bytes += size;
  return of_openssl(SHA256_Update, "SHA256_Update")(context, bytes, size);
}
extern "C" int SHA256_Final(unsigned char* digest, SHA256_CTX* context) {
  ++work.hashes;
  return of_openssl(SHA256_Final, "SHA256_Final")(digest, context);
}

namespace sluice::decide {
namespace {

using agent::api::ApiRig;

TEST_CASE("an API key costs one hash of the same length, whether it is revoked, unknown or good") {
  const ApiRig rig("");
  const policy::Snapshot& before = *rig.decider.snapshot();
  policy::SnapshotDelta revocation;
  revocation.removed = {{Kind::key, "shop", "shop-key"}};
  const auto after = policy::next_snapshot(before, revocation, before.revision + 1, rig.clock.now, "next");
  REQUIRE(after);

  const auto cost = [&rig](const policy::Snapshot& snapshot, std::string_view key, bool good) {
    work = {};
    const auto found = authenticate(snapshot, key, rig.clock.now);
    const HashWork done = work;
    CHECK(found.has_value() == good);
    if (!found) CHECK(found.error() == CredentialFault::unknown);
    return done;
  };
  const HashWork good = cost(before, rig.shop_key, true);
  CHECK(good == HashWork{.hashes = 1, .bytes = kSaltBytes + kSecretDigits});
  CHECK(cost(**after, rig.shop_key, false) == good);         // revoked
  CHECK(cost(**after, mint_key("nobody"), false) == good);   // an id that never was
  CHECK(cost(before, mint_key("shop-key"), false) == good);  // the id of another key
}

}  // namespace
}  // namespace sluice::decide
