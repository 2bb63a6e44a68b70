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

TEST_CASE("a key that was verified is not hashed again, and nothing else profits from that") {
  const ApiRig rig("");
  const policy::Snapshot& snapshot = *rig.decider.snapshot();
  VerifiedKeys verified;
  const auto hashes = [&](std::string_view key, bool good) {
    work = {};
    const auto found = authenticate(snapshot, key, rig.clock.now, &verified);
    CHECK(found.has_value() == good);
    if (!found) CHECK(found.error() == CredentialFault::unknown);
    return work.hashes;
  };
  CHECK(hashes(rig.shop_key, true) == 1);
  CHECK(hashes(rig.shop_key, true) == 0);
  CHECK(hashes(mint_key("shop-key"), false) == 1);  // another secret
  CHECK(hashes(mint_key("nobody"), false) == 1);
  CHECK(hashes(rig.shop_key, true) == 0);
  verified.clear();
  CHECK(hashes(rig.shop_key, true) == 1);
}

TEST_CASE("many verified keys take turns in their places") {
  const ApiRig rig("");
  const std::vector<policy::KeyView> keys(200);
  VerifiedKeys verified;
  const auto secret = [](std::size_t i) { return std::string(kSecretDigits, static_cast<char>('0' + i)); };
  CHECK_FALSE(verified.contains(nullptr, std::string(kSecretDigits, '\0')));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    CHECK_FALSE(verified.contains(&keys[i], secret(i % 10)));
    verified.add(keys[i], secret(i % 10));
    CHECK(verified.contains(&keys[i], secret(i % 10)));
    CHECK_FALSE(verified.contains(&keys[i], secret((i + 1) % 10)));
  }
  CHECK(std::ranges::any_of(keys, [&](const policy::KeyView& key) { return verified.contains(&key, secret(9)); }));
}

TEST_CASE("a verified key is forgotten with its snapshot") {
  ApiRig rig("");
  const auto hashes = [&] {
    work = {};
    CHECK(rig.decider.authenticate(rig.shop_key));
    return work.hashes;
  };
  CHECK(hashes() == 1);
  CHECK(hashes() == 0);
  const policy::Snapshot& before = *rig.decider.snapshot();
  const auto after = policy::next_snapshot(before, {}, before.revision + 1, rig.clock.now, "next");
  REQUIRE(after);
  rig.decider.set_snapshot(*after);
  CHECK(hashes() == 1);
  policy::SnapshotDelta revocation;
  revocation.removed = {{Kind::key, "shop", "shop-key"}};
  const auto last = policy::next_snapshot(**after, revocation, (*after)->revision + 1, rig.clock.now, "last");
  REQUIRE(last);
  rig.decider.set_snapshot(*last);
  CHECK_FALSE(rig.decider.authenticate(rig.shop_key));
}

}  // namespace
}  // namespace sluice::decide
