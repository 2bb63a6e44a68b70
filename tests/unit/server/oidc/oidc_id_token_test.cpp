// ID tokens: what is taken, and every forgery that is not.
#include "server/oidc/id_token.hpp"

#include <doctest/doctest.h>

#include "tests/unit/server/oidc/signed_tokens.hpp"

namespace sluice::server::oidc::test {
namespace {

struct Provider {
  SigningKey key = SigningKey::rsa("one");
  KeySet keys = read_key_set(key_set(key.json())).value();

  std::string fault(std::string_view token) const {
    const auto checked = check_id_token(token, keys, expected());
    return checked ? "taken" : checked.error().code;
  }
  std::string fault_of(std::string_view change) const { return fault(key.sign("RS256", claims(change))); }
};

}  // namespace

TEST_CASE_FIXTURE(Provider, "a token of the provider names the person and their groups") {
  const auto identity = check_id_token(key.sign("RS256", claims()), keys, expected());
  REQUIRE(identity.has_value());
  CHECK(identity->person.subject == "248289761001");
  CHECK(identity->person.name == "Ada Lovelace");
  CHECK(identity->person.email == "ada@example.com");
  CHECK(identity->has_groups_claim);
  CHECK(identity->groups == std::vector<std::string>{"staff", "sluice-admins"});
}

TEST_CASE("every algorithm with a public key is taken, with the key that fits") {
  const SigningKey rsa = SigningKey::rsa("rsa");
  const SigningKey small = SigningKey::ec("p256");
  const SigningKey middle = SigningKey::ec("p384", CJOSE_JWK_EC_P_384);
  const SigningKey large = SigningKey::ec("p521", CJOSE_JWK_EC_P_521);
  const KeySet keys = read_key_set(key_set(rsa.json(), small.json(), middle.json(), large.json())).value();
  REQUIRE(keys.size() == 4);
  for (const std::string_view name : {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}) {
    CAPTURE(name);
    CHECK(check_id_token(rsa.sign(name, claims()), keys, expected()).has_value());
    CHECK(check_id_token(rsa.sign(name, claims(), ""), keys, expected())
              .has_value());  // without a kid: all keys are tried
  }
  CHECK(check_id_token(small.sign("ES256", claims()), keys, expected()).has_value());
  CHECK(check_id_token(middle.sign("ES384", claims()), keys, expected()).has_value());
  CHECK(check_id_token(large.sign("ES512", claims()), keys, expected()).has_value());
}

TEST_CASE_FIXTURE(Provider, "a changed token is refused, in whatever part") {
  const std::string token = key.sign("RS256", claims());
  CHECK(fault(token) == "taken");
  const std::size_t first = token.find('.');
  const std::size_t second = token.find('.', first + 1);
  const std::string forged = token.substr(0, first + 1) + part(claims(R"("sub":"root")")) + token.substr(second);
  CHECK(fault(forged) == "signature");
  std::string bent = token;
  bent[second + 20] = bent[second + 20] == 'A' ? 'B' : 'A';
  CHECK(fault(bent) == "signature");
  CHECK(fault(token.substr(0, second + 1)) == "signature");
  CHECK(fault(token.substr(0, second)) == "malformed");
  CHECK(fault(token + ".") == "malformed");
  CHECK(fault("") == "malformed");
}

TEST_CASE_FIXTURE(Provider, "a token of somebody else's key is refused, also under this key's name") {
  const SigningKey thief = SigningKey::rsa("thief");
  CHECK(fault(thief.sign("RS256", claims())) == "unknown_key");
  CHECK(fault(thief.sign("RS256", claims(), "one")) == "signature");
  CHECK(fault(thief.sign("RS256", claims(), "")) == "signature");
}

TEST_CASE_FIXTURE(Provider, "a token without a signature is refused") {
  const std::string body = part(claims());
  for (const std::string_view name : {"none", "None", "NONE", ""}) {
    CHECK(fault(fmt::format("{}.{}.", part(fmt::format(R"({{"alg":"{}"}})", name)), body)) == "algorithm");
  }
  CHECK(fault(fmt::format("{}.{}.", part("{}"), body)) == "algorithm");
}

TEST_CASE_FIXTURE(Provider, "a token that is signed with the public key as a secret is refused") {
  const std::string signed_text = fmt::format("{}.{}", part(R"({"alg":"HS256","kid":"one"})"), part(claims()));
  for (const std::string& secret : {key.json(), std::string("one")}) {
    CHECK(fault(fmt::format("{}.{}", signed_text, to_base64url(hmac_sha256(as_bytes(secret), signed_text)))) ==
          "algorithm");
  }
}

TEST_CASE("a symmetric key in the key set verifies nothing") {
  const std::string secret = "01234567890123456789012345678901";
  const KeySet keys =
      read_key_set(key_set(fmt::format(R"({{"kty":"oct","kid":"one","k":"{}"}})", part(secret)))).value();
  CHECK(keys.empty());
}

TEST_CASE_FIXTURE(Provider, "a header that two readers could understand differently is refused") {
  const std::string body = part(claims());
  CHECK(fault(fmt::format("{}.{}.x", part(R"({"alg":"none","alg":"RS256"})"), body)) == "malformed");
  CHECK(fault(fmt::format("{}.{}.x", part(R"({"alg":"RS256","crit":["b64"],"b64":false})"), body)) == "malformed");
  CHECK(fault(fmt::format("{}.{}.x", part(R"({"alg":"RS256","kid":7})"), body)) == "malformed");
  CHECK(fault(fmt::format("{}.{}.x", part("[]"), body)) == "malformed");
  CHECK(fault(fmt::format("{}.{}.x", "e30=", body)) == "malformed");
}

TEST_CASE("a key serves only its own type, curve and algorithm") {
  const SigningKey key = SigningKey::rsa("one");
  const KeySet only_512 = read_key_set(key_set(key.json(R"(,"alg":"RS512","use":"sig")"))).value();
  CHECK(check_id_token(key.sign("RS512", claims()), only_512, expected()).has_value());
  CHECK(check_id_token(key.sign("RS256", claims()), only_512, expected()).error().code == "unknown_key");
  const SigningKey curve = SigningKey::ec("one");
  const KeySet keys = read_key_set(key_set(curve.json())).value();
  CHECK(check_id_token(key.sign("RS256", claims()), keys, expected()).error().code == "unknown_key");
}

TEST_CASE("of several keys with one name, the one that signed is found") {
  const SigningKey old_key = SigningKey::rsa("same");
  const SigningKey new_key = SigningKey::rsa("same");
  const KeySet keys = read_key_set(key_set(old_key.json(), new_key.json())).value();
  CHECK(check_id_token(old_key.sign("RS256", claims()), keys, expected()).has_value());
  CHECK(check_id_token(new_key.sign("RS256", claims()), keys, expected()).has_value());
}

TEST_CASE_FIXTURE(Provider, "a token for somebody else is refused") {
  CHECK(fault_of(R"("iss":"https://evil.example.com")") == "claims");
  CHECK(fault_of(R"("iss":"https://login.example.com/")") == "claims");
  CHECK(fault_of(R"("iss":null)") == "claims");
  CHECK(fault_of(R"("aud":"other")") == "claims");
  CHECK(fault_of(R"("aud":[])") == "claims");
  CHECK(fault_of(R"("aud":null)") == "claims");
  CHECK(fault_of(R"("aud":["sluice"])") == "taken");
  CHECK(fault_of(R"("aud":["sluice","other"])") == "claims");  // without azp
  CHECK(fault_of(R"("aud":["sluice","other"],"azp":"sluice")") == "taken");
  CHECK(fault_of(R"("aud":["sluice","other"],"azp":"other")") == "claims");
  CHECK(fault_of(R"("azp":"other")") == "claims");
  CHECK(fault_of(R"("azp":7)") == "claims");
}

TEST_CASE_FIXTURE(Provider, "a token of another sign-in is refused") {
  CHECK(fault_of(R"("nonce":"another")") == "claims");
  CHECK(fault_of(R"("nonce":null)") == "claims");
  CHECK(fault_of(R"("nonce":"")") == "claims");
  Expected nothing = expected();
  nothing.nonce = "";
  CHECK_FALSE(check_id_token(key.sign("RS256", claims(R"("nonce":"")")), keys, nothing).has_value());
}

TEST_CASE_FIXTURE(Provider, "a token counts for its time, and clocks may differ by a minute") {
  const auto at = [&](std::string_view name, std::int64_t seconds) {
    return fault_of(fmt::format("\"{}\":{}", name, kNow + seconds));
  };
  CHECK(at("exp", -59) == "taken");
  CHECK(at("exp", -60) == "claims");
  CHECK(at("iat", 60) == "taken");
  CHECK(at("iat", 61) == "claims");
  CHECK(at("nbf", 60) == "taken");
  CHECK(at("nbf", 61) == "claims");
  CHECK(fault_of(fmt::format("\"exp\":{}.75", kNow + 600)) == "taken");
  CHECK(fault_of(R"("exp":null)") == "claims");
  CHECK(fault_of(R"("iat":null)") == "claims");
  CHECK(fault_of(R"("exp":"1900000000")") == "claims");
  CHECK(fault_of(R"("exp":1e300)") == "claims");
  CHECK(fault_of(R"("nbf":null)") == "claims");
}

TEST_CASE_FIXTURE(Provider, "a subject is a short text, because the audit trail names it") {
  CHECK(fault_of(fmt::format(R"("sub":"{}")", std::string(255, 'x'))) == "taken");
  CHECK(fault_of(fmt::format(R"("sub":"{}")", std::string(256, 'x'))) == "claims");
  CHECK(fault_of(R"("sub":"")") == "claims");
  CHECK(fault_of(R"("sub":17)") == "claims");
  CHECK(fault_of(R"("sub":"a\u000ab")") == "claims");
}

TEST_CASE_FIXTURE(Provider, "a long name is cut between two characters, and one that would break a line is left out") {
  const auto identity = [&](std::string_view change) {
    return check_id_token(key.sign("RS256", claims(change)), keys, expected()).value();
  };
  std::string name;
  for (int i = 0; i < 100; ++i) name += "\u20ac";  // 3 bytes each
  CHECK(identity(fmt::format(R"("name":"{}")", name)).person.name.size() == 255);
  CHECK(identity(R"("name":"a\u000ab")").person.name.empty());
  CHECK(identity(R"("name":null,"preferred_username":"ada")").person.name == "ada");
  CHECK(identity(R"("email":false)").person.email.empty());
}

TEST_CASE_FIXTURE(Provider, "groups are a list of texts or one text; anything else is no group") {
  const auto groups = [&](std::string_view change) {
    return check_id_token(key.sign("RS256", claims(change)), keys, expected()).value().groups;
  };
  using Names = std::vector<std::string>;
  CHECK(groups(R"("groups":"staff")") == Names{"staff"});
  CHECK(groups(R"("groups":[])") == Names{});
  CHECK(groups(R"("groups":["a",7,null,["b"],"","c"])") == Names{"a", "c"});
  CHECK(groups(R"("groups":{"a":true})") == Names{});
  CHECK(groups(fmt::format(R"("groups":["{}","{}"])", std::string(256, 'x'), std::string(257, 'x'))) ==
        Names{std::string(256, 'x')});
  CHECK_FALSE(check_id_token(key.sign("RS256", claims(R"("groups":null)")), keys, expected())->has_groups_claim);
  Expected other = expected();
  other.groups_claim = "roles";
  CHECK(check_id_token(key.sign("RS256", claims(R"("roles":["r"])")), keys, other)->groups == Names{"r"});
}

TEST_CASE_FIXTURE(Provider, "a token or a list of claims that is no JSON object, or too large, is refused") {
  CHECK(fault(key.sign("RS256", "[]")) == "malformed");
  CHECK(fault(key.sign("RS256", "no JSON")) == "malformed");
  CHECK(fault(key.sign("RS256", R"({"sub":"a","sub":"b"})")) == "malformed");
  CHECK(fault_of(fmt::format(R"("x":"{}")", std::string(kMaxTokenBytes, 'x'))) == "malformed");
}

TEST_CASE("a key set leaves out what cannot verify, and is refused if it is none") {
  const SigningKey key = SigningKey::rsa("one");
  CHECK(read_key_set(key_set(key.json(R"(,"use":"enc")"))).value().empty());
  CHECK(read_key_set(key_set(SigningKey::rsa("short", 1'024).json())).value().empty());
  CHECK(read_key_set(key_set("7", "{}", R"({"kty":"RSA"})", key.json())).value().size() == 1);
  CHECK(read_key_set(R"({"keys":[]})").value().empty());
  for (const std::string_view text : {"", "[]", "{}", R"({"keys":{}})", R"({"keys":[)"}) {
    CHECK(read_key_set(text).error().code == "document");
  }
  std::string many = "{}";
  for (std::size_t i = 0; i < kMaxKeys; ++i) many += ",{}";
  CHECK(read_key_set(key_set(many)).error().code == "document");
}

}  // namespace sluice::server::oidc::test
