// Any bytes as what an OpenID provider sends: an ID token, its claims under a good signature, a key set, a discovery
// document and an answer to a token request. No crash; nobody is let in by an unsigned token; what is refused says why
// and quotes nothing.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <cjose/cjose.h>

#include "server/oidc/id_token.hpp"
#include "server/oidc/provider.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace sluice;
using namespace sluice::server::oidc;

constexpr std::string_view kIssuer = "https://login.example.com";

Expected expected() {
  return {.issuer = std::string(kIssuer),
          .client_id = "sluice",
          .nonce = "n",
          .groups_claim = "groups",
          .now_us = 1'800'000'000'000'000};
}

struct Signer {
  Signer() {
    cjose_err error{};
    key.reset(cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &error));
    REQUIRE_THAT(key != nullptr);
    const std::unique_ptr<char, void (*)(void*)> text(cjose_jwk_to_json(key.get(), false, &error), cjose_get_dealloc());
    keys = read_key_set(R"({"keys":[)" + std::string(text.get()) + "]}").value();
    REQUIRE_THAT(keys.size() == 1);
  }
  std::string sign(std::string_view claims) const {
    cjose_err error{};
    const std::unique_ptr<cjose_header_t, void (*)(cjose_header_t*)> header(cjose_header_new(&error),
                                                                            &cjose_header_release);
    REQUIRE_THAT(cjose_header_set(header.get(), CJOSE_HDR_ALG, CJOSE_HDR_ALG_ES256, &error));
    const std::unique_ptr<cjose_jws_t, void (*)(cjose_jws_t*)> made(
        cjose_jws_sign(key.get(), header.get(), reinterpret_cast<const std::uint8_t*>(claims.data()), claims.size(),
                       &error),
        [](cjose_jws_t* text) {
          if (text != nullptr) cjose_jws_release(text);
        });
    const char* text = nullptr;
    if (made == nullptr || !cjose_jws_export(made.get(), &text, &error)) return {};
    return text;
  }

  std::unique_ptr<cjose_jwk_t, bool (*)(cjose_jwk_t*)> key{nullptr, &cjose_jwk_release};
  KeySet keys;
};

void require_readable(const Error& error) {
  REQUIRE_THAT(!error.code.empty() && !error.text.empty() && error.text.size() < 1'024);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Signer signer;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto forged = check_id_token(bytes, signer.keys, expected());
  REQUIRE_THAT(!forged);
  require_readable(forged.error());
  const auto claims = check_id_token(signer.sign(bytes), signer.keys, expected());
  if (claims) {
    REQUIRE_THAT(!claims->person.subject.empty() && claims->person.subject.size() <= kMaxSubjectBytes);
    REQUIRE_THAT(claims->person.name.size() <= server::oidc::kMaxNameBytes);
    REQUIRE_THAT(claims->person.email.size() <= server::oidc::kMaxNameBytes);
    REQUIRE_THAT(claims->groups.empty() || claims->has_groups_claim);
  } else {
    require_readable(claims.error());
  }
  if (const auto keys = read_key_set(bytes); !keys) {
    require_readable(keys.error());
  } else {
    REQUIRE_THAT(keys->size() <= kMaxKeys);
  }
  if (const auto provider = read_provider(bytes, kIssuer); !provider) {
    require_readable(provider.error());
  } else {
    for (const Endpoint* each : {&provider->authorization, &provider->token, &provider->keys}) {
      REQUIRE_THAT(each->target.starts_with('/') && each->text.size() <= kMaxUrlBytes);
    }
  }
  for (const unsigned status : {200U, 400U, 503U}) {
    if (const auto token = read_token_answer(status, bytes); !token) require_readable(token.error());
  }
  return 0;
}
