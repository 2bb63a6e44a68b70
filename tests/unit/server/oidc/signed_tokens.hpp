// Keys of a provider, and ID tokens that it signs or that somebody forges.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <cjose/cjose.h>
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "common/base/crypto.hpp"
#include "server/oidc/id_token.hpp"

namespace sluice::server::oidc::test {

inline constexpr std::int64_t kNow = 1'800'000'000;  // Unix time in s

class SigningKey {
 public:
  static SigningKey rsa(std::string id, std::size_t bits = 2'048) {
    const std::string_view exponent("\x01\x00\x01", 3);
    cjose_err error{};
    return {std::move(id), cjose_jwk_create_RSA_random(bits, reinterpret_cast<const std::uint8_t*>(exponent.data()),
                                                       exponent.size(), &error)};
  }
  static SigningKey ec(std::string id, cjose_jwk_ec_curve curve = CJOSE_JWK_EC_P_256) {
    cjose_err error{};
    return {std::move(id), cjose_jwk_create_EC_random(curve, &error)};
  }

  // As a provider publishes it. `more`: further members, such as R"(,"use":"sig")".
  std::string json(std::string_view more = "") const {
    cjose_err error{};
    const std::unique_ptr<char, void (*)(void*)> text(cjose_jwk_to_json(key_.get(), false, &error),
                                                      cjose_get_dealloc());
    REQUIRE(text != nullptr);
    std::string key(text.get());
    key.pop_back();
    return fmt::format("{}{}}}", key, more);
  }

  // "kid" is that of this key unless another one is named; "": none.
  std::string sign(std::string_view algorithm, std::string_view claims) const { return sign(algorithm, claims, id_); }
  std::string sign(std::string_view algorithm, std::string_view claims, const std::string& key_id) const {
    cjose_err error{};
    const std::unique_ptr<cjose_header_t, void (*)(cjose_header_t*)> header(cjose_header_new(&error),
                                                                            &cjose_header_release);
    REQUIRE(cjose_header_set(header.get(), CJOSE_HDR_ALG, std::string(algorithm).c_str(), &error));
    if (!key_id.empty()) REQUIRE(cjose_header_set(header.get(), CJOSE_HDR_KID, key_id.c_str(), &error));
    const std::unique_ptr<cjose_jws_t, void (*)(cjose_jws_t*)> made(
        cjose_jws_sign(key_.get(), header.get(), reinterpret_cast<const std::uint8_t*>(claims.data()), claims.size(),
                       &error),
        &cjose_jws_release);
    REQUIRE(made != nullptr);
    const char* text = nullptr;
    REQUIRE(cjose_jws_export(made.get(), &text, &error));
    return text;
  }

 private:
  SigningKey(std::string id, cjose_jwk_t* key)
      : id_(std::move(id)), key_(key, [](cjose_jwk_t* its) { cjose_jwk_release(its); }) {
    cjose_err error{};
    REQUIRE(key != nullptr);
    REQUIRE(cjose_jwk_set_kid(key, id_.c_str(), id_.size(), &error));
  }

  std::string id_;
  std::shared_ptr<cjose_jwk_t> key_;
};

inline std::string part(std::string_view text) { return to_base64url(as_bytes(text)); }

// A key set of these keys, each as JSON.
template <class... Text>
std::string key_set(const Text&... keys) {
  std::string list;
  ((list += (list.empty() ? "" : ",") + std::string(keys)), ...);
  return fmt::format(R"({{"keys":[{}]}})", list);
}

inline Expected expected() {
  return {.issuer = "https://login.example.com",
          .client_id = "sluice",
          .nonce = "n-0S6_WzA2Mj",
          .groups_claim = "groups",
          .now_us = kNow * 1'000'000};
}

// Good claims, of which `change` replaces or adds some: R"("aud":"other")". null stands for an absent one.
inline std::string claims(std::string_view change = "") {
  std::string text = "{";
  const auto add = [&](std::string_view name, std::string_view value) {
    if (change.contains(fmt::format("\"{}\":", name))) return;
    text += fmt::format("{}\"{}\":{}", text.size() > 1 ? "," : "", name, value);
  };
  add("iss", R"("https://login.example.com")");
  add("aud", R"("sluice")");
  add("sub", R"("248289761001")");
  add("nonce", R"("n-0S6_WzA2Mj")");
  add("exp", std::to_string(kNow + 600));
  add("iat", std::to_string(kNow));
  add("name", R"("Ada Lovelace")");
  add("email", R"("ada@example.com")");
  add("groups", R"(["staff","sluice-admins"])");
  if (!change.empty()) text += fmt::format(",{}", change);
  return text + "}";
}

}  // namespace sluice::server::oidc::test
