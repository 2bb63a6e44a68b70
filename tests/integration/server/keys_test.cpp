// API keys: the secret is shown once and kept as a hash.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "common/domain/credential.hpp"
#include "tests/integration/server/admin_rig.hpp"

namespace sluice::server::test {
namespace {

struct Acme : AdminRig {
  Acme() { found_acme(); }
};

constexpr std::string_view kProdApp = R"({"tenant_id":"shop","name":"prod-app"})";

bool opens(const std::string& hash, const std::string& key) {
  const auto presented = parse_key(key);
  const auto stored = parse_key_hash(hash);
  return presented && stored && verify(*stored, presented->secret);
}

}  // namespace

TEST_CASE_FIXTURE(Acme, "a key is minted, shown once, and opens what its hash says") {
  const admin::FinishedAnswer made = ask("POST", "/v1/admin/keys", kProdApp);
  REQUIRE(made.status == 201);
  const std::string id = at(made, "/id");
  CHECK(id.starts_with("key-"));
  CHECK(at(made, "/key").starts_with("slk_" + id + "_"));
  CHECK(opens(at(made, "/key_hash"), at(made, "/key")));
  const admin::FinishedAnswer read = ask("GET", "/v1/admin/keys/" + id);
  CHECK(at(read, "/key") == "(absent)");
  CHECK(at(read, "/key_hash") == at(made, "/key_hash"));
  CHECK(header(made, "Location") == "/v1/admin/keys/" + id);
  const std::string secret = at(made, "/key").substr(at(made, "/key").rfind('_') + 1);
  for (const char* column : {"SELECT document FROM keys", "SELECT document FROM versions", "SELECT after FROM audit"}) {
    CHECK(execute(column).find(secret) == std::string::npos);
  }
  CHECK(execute("SELECT after FROM audit WHERE kind = 'key'").find("fingerprint:") != std::string::npos);
}

TEST_CASE_FIXTURE(Acme, "a repeated call makes no second key and does not show the first again") {
  const Headers headers{{"idempotency-key", "once"}};
  const admin::FinishedAnswer made = ask("POST", "/v1/admin/keys", kProdApp, headers);
  const admin::FinishedAnswer again = ask("POST", "/v1/admin/keys", kProdApp, headers);
  CHECK(again.status == 201);
  CHECK(at(again, "/id") == at(made, "/id"));
  CHECK(at(again, "/key") == "null");
  CHECK(at(again, "/secret_already_shown") == "true");
  CHECK(at(again, "/revision") == at(made, "/revision"));
  CHECK(execute("SELECT count(*) FROM keys") == "1");
  CHECK(execute("SELECT body FROM idempotency").find("slk_") == std::string::npos);
}

TEST_CASE_FIXTURE(Acme, "a key whose hash is given is imported: its secret is not ours to show") {
  const std::string key = mint_key("k1");
  const std::string hash = hash_secret(split_key(key)->secret);
  const admin::FinishedAnswer made =
      ask("PUT", "/v1/admin/keys/k1", fmt::format(R"({{"tenant_id":"shop","key_hash":"{}"}})", hash));
  CHECK(made.status == 201);
  CHECK(at(made, "/key") == "(absent)");
  CHECK(at(made, "/key_hash") == hash);
}

TEST_CASE_FIXTURE(Acme, "PUT mints under a new id, and keeps the hash of the key that is there") {
  const admin::FinishedAnswer made = ask("PUT", "/v1/admin/keys/prod", kProdApp);
  REQUIRE(made.status == 201);
  CHECK(opens(at(made, "/key_hash"), at(made, "/key")));
  const admin::FinishedAnswer same = ask("PUT", "/v1/admin/keys/prod", kProdApp);
  CHECK(same.status == 200);
  CHECK(at(same, "/version") == "1");
  CHECK(at(same, "/key") == "(absent)");
  const admin::FinishedAnswer renamed = ask("PUT", "/v1/admin/keys/prod", R"({"tenant_id":"shop","name":"other"})");
  CHECK(at(renamed, "/key_hash") == at(made, "/key_hash"));
  const std::string hash = hash_secret("another secret");
  const admin::FinishedAnswer rotated =
      ask("PATCH", "/v1/admin/keys/prod", fmt::format(R"({{"key_hash":"{}"}})", hash));
  CHECK(at(rotated, "/key_hash") == hash);
  CHECK(at(rotated, "/version") == "3");
}

TEST_CASE_FIXTURE(Acme, "an end of a key is set and cleared") {
  REQUIRE(
      ask("PUT", "/v1/admin/keys/prod", R"({"tenant_id":"shop","expires_at":"2031-05-01T00:00:00+02:00"})").status ==
      201);
  CHECK(at(ask("GET", "/v1/admin/keys/prod"), "/expires_at") == "2031-04-30T22:00:00Z");
  const admin::FinishedAnswer cleared = ask("PATCH", "/v1/admin/keys/prod", R"({"expires_at":null})");
  CHECK(cleared.status == 200);
  CHECK(at(cleared, "/expires_at") == "(absent)");
}

TEST_CASE_FIXTURE(Acme, "what GET answers, PUT takes back") {
  REQUIRE(ask("PUT", "/v1/admin/keys/prod", kProdApp).status == 201);
  const admin::FinishedAnswer read = ask("GET", "/v1/admin/keys/prod");
  const admin::FinishedAnswer put = ask("PUT", "/v1/admin/keys/prod", read.body);
  CHECK(put.status == 200);
  CHECK(put.body == read.body);
}

TEST_CASE_FIXTURE(Acme, "a faulty key hears of all its faults, and a secret cannot be chosen") {
  const admin::FinishedAnswer refused =
      ask("POST", "/v1/admin/keys",
          R"({"tenant_id":"none","id":"K 1","key_hash":"x","expires_at":"soon","key":"slk_mine"})");
  CHECK(refused.status == 422);
  CHECK(faulty(refused) == "/tenant_id /id /key_hash /expires_at /key");
}

TEST_CASE_FIXTURE(Acme, "keys are listed by tenant and name, and a key of another organization is not there") {
  REQUIRE(ask("PUT", "/v1/admin/keys/a", R"({"tenant_id":"shop","name":"app"})").status == 201);
  REQUIRE(ask("PUT", "/v1/admin/keys/b", R"({"tenant_id":"bank","name":"app"})").status == 201);
  REQUIRE(ask("PUT", "/v1/admin/keys/c", R"({"tenant_id":"kiosk"})").status == 201);
  CHECK(each(ask("GET", "/v1/admin/keys"), "id") == "a b c");
  CHECK(each(ask("GET", "/v1/admin/keys?tenant_id=bank"), "id") == "b");
  CHECK(each(ask("GET", "/v1/admin/keys?name=app"), "id") == "a b");
  const std::string acme = token("org_admin", R"("organization_id":"acme")");
  CHECK(each(ask_as(acme, "GET", "/v1/admin/keys"), "id") == "a b");
  CHECK(ask_as(acme, "GET", "/v1/admin/keys/c").status == 404);
  CHECK(ask_as(acme, "DELETE", "/v1/admin/keys/c").status == 404);
  // Its id is taken all the same: ids of keys are global.
  CHECK(ask_as(acme, "PUT", "/v1/admin/keys/c", kProdApp).status == 409);
  CHECK(ask("DELETE", "/v1/admin/keys/c").status == 204);
}

TEST_CASE_FIXTURE(Acme, "a token of one tenant leaves the tenant out") {
  const std::string shop = token("org_admin", R"("organization_id":"acme","tenant_ids":["shop"])");
  const admin::FinishedAnswer made = ask_as(shop, "POST", "/v1/admin/keys", R"({"name":"x"})");
  CHECK(made.status == 201);
  CHECK(at(made, "/tenant_id") == "shop");
  CHECK(faulty(ask_as(shop, "POST", "/v1/admin/keys", R"({"tenant_id":"bank"})")) == "/tenant_id");
}

}  // namespace sluice::server::test
