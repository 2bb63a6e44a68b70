// The provider's documents, and what the server sends to it.
#include "server/oidc/provider.hpp"

#include <doctest/doctest.h>

#include <string>

#include <fmt/core.h>

#include "common/base/crypto.hpp"
#include "common/http/query.hpp"
#include "server/oidc/requests.hpp"

namespace sluice::server::oidc {
namespace {

constexpr std::string_view kIssuer = "https://login.example.com/realms/a";

std::string document(std::string_view change = "") {
  std::string text = "{";
  for (const auto& [name, value] : {std::pair("issuer", R"("https://login.example.com/realms/a")"),
                                    std::pair("authorization_endpoint", R"("https://login.example.com/authorize?a=b")"),
                                    std::pair("token_endpoint", R"("https://tokens.example.com/token")"),
                                    std::pair("jwks_uri", R"("https://keys.example.com/keys?v=2")")}) {
    if (change.contains(fmt::format("\"{}\":", name))) continue;
    text += fmt::format("{}\"{}\":{}", text.size() > 1 ? "," : "", name, value);
  }
  if (!change.empty()) text += fmt::format(",{}", change);
  return text + "}";
}

std::string fault(std::string_view change) {
  const auto read = read_provider(document(change), kIssuer);
  return read ? "taken" : read.error().code;
}

Setup setup() {
  return {.issuer = *parse_endpoint(kIssuer),
          .client_id = "slu ice",
          .secret_file = {},
          .groups_claim = "groups",
          .scopes = "openid groups",
          .name = {},
          .ca_file = {},
          .redirect_uri = "https://sluice.example.com/v1/console/oidc/callback"};
}

std::string value_of(const http::Parameters& parameters, std::string_view name) {
  for (const auto& each : parameters) {
    if (each.name == name) return each.value;
  }
  return "absent";
}

}  // namespace

TEST_CASE("a discovery document names the endpoints") {
  const auto provider = read_provider(document(), kIssuer);
  REQUIRE(provider.has_value());
  CHECK(provider->authorization.text == "https://login.example.com/authorize?a=b");
  CHECK(provider->token.server.host == "tokens.example.com");
  CHECK(provider->token.target == "/token");
  CHECK(provider->keys.target == "/keys?v=2");
  CHECK_FALSE(provider->secret_in_body);
  CHECK_FALSE(provider->names_issuer_in_answer);
}

TEST_CASE("a document of another issuer is refused, so that no provider can speak for another one") {
  CHECK(fault(R"("issuer":"https://login.example.com/realms/b")") == "issuer");
  CHECK(fault(R"("issuer":"https://login.example.com/realms/a/")") == "issuer");
  CHECK(fault(R"("issuer":null)") == "issuer");
}

TEST_CASE("an endpoint that is missing, or would get secrets without TLS, is refused") {
  CHECK(fault(R"("token_endpoint":null)") == "document");
  CHECK(fault(R"("token_endpoint":"http://tokens.example.com/token")") == "document");
  CHECK(fault(R"("token_endpoint":"unix:/run/docker.sock")") == "document");
  CHECK(fault(R"("jwks_uri":"https://u:p@keys.example.com/")") == "document");
  CHECK(fault(R"("authorization_endpoint":"javascript:alert")") == "document");
  CHECK(fault(R"("authorization_endpoint":"https://login.example.com/a\r\nSet-Cookie: x=y")") == "document");
  CHECK(fault(R"("token_endpoint":"http://127.0.0.1:8000/token")") == "taken");
  for (const std::string_view text : {"", "[]", "7", "{"}) {
    CHECK(read_provider(text, kIssuer).error().code == "document");
  }
}

TEST_CASE("a provider that says it does not support PKCE is refused") {
  CHECK(fault(R"("code_challenge_methods_supported":["plain"])") == "document");
  CHECK(fault(R"("code_challenge_methods_supported":["plain","S256"])") == "taken");
  CHECK(fault(R"("code_challenge_methods_supported":[])") == "taken");
}

TEST_CASE("an endpoint is split into the server and what is asked of it") {
  CHECK(parse_endpoint("https://a.example.com")->target == "/");
  CHECK(parse_endpoint("https://a.example.com?x=y")->target == "/?x=y");
  CHECK(parse_endpoint("https://a.example.com:8443/x")->server.port == 8443);
  CHECK(parse_endpoint("http://localhost:1/x")->encrypted() == false);
  for (const std::string_view text : {"", "a.example.com", "https://", "https://a.example.com/#x", "https://a b/",
                                      "ftp://a/", "http://a.example.com/", "https://a.example.com/\x01"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_endpoint(text).has_value());
  }
  CHECK_FALSE(parse_endpoint("https://a.example.com/" + std::string(kMaxUrlBytes, 'x')).has_value());
}

TEST_CASE("the discovery document is below the issuer's path") {
  CHECK(discovery_target(*parse_endpoint("https://a.example.com")) == "/.well-known/openid-configuration");
  CHECK(discovery_target(*parse_endpoint("https://a.example.com/")) == "/.well-known/openid-configuration");
  CHECK(discovery_target(*parse_endpoint("https://a.example.com/realms/x")) ==
        "/realms/x/.well-known/openid-configuration");
}

TEST_CASE(
    "an answer to a token request is an ID token, or why there is none; only a proper code of an error is shown") {
  CHECK(read_token_answer(200, R"({"id_token":"a.b.c","access_token":"secret"})").value() == "a.b.c");
  CHECK(read_token_answer(200, R"({"access_token":"secret"})").error().code == "document");
  CHECK(read_token_answer(200, "").error().code == "document");
  const auto refused = read_token_answer(400, R"({"error":"invalid_grant","error_description":"secret"})");
  CHECK(refused.error().code == "rejected");
  CHECK(refused.error().text.contains("invalid_grant"));
  CHECK_FALSE(refused.error().text.contains("secret"));
  CHECK_FALSE(read_token_answer(400, R"({"error":"<b>secret</b>"})").error().text.contains("secret"));
  CHECK(read_token_answer(503, "no JSON").error().code == "status");
}

TEST_CASE("a browser is sent to the provider with a challenge, a state and a nonce") {
  const Provider provider = read_provider(document(), kIssuer).value();
  const Attempt attempt = begin_attempt("/policies", 0);
  const std::string url = authorization_url(provider, setup(), attempt);
  CHECK(url.starts_with("https://login.example.com/authorize?a=b&response_type=code&"));
  const auto parameters = http::parse_query(url.substr(url.find('?') + 1)).value();
  CHECK(value_of(parameters, "client_id") == "slu ice");
  CHECK(value_of(parameters, "redirect_uri") == "https://sluice.example.com/v1/console/oidc/callback");
  CHECK(value_of(parameters, "scope") == "openid groups");
  CHECK(value_of(parameters, "state") == attempt.state());
  CHECK(value_of(parameters, "nonce") == attempt.nonce());
  CHECK(value_of(parameters, "code_challenge") == to_base64url(sha256(attempt.verifier())));
  CHECK(value_of(parameters, "code_challenge_method") == "S256");
  CHECK_FALSE(url.contains(attempt.verifier()));
  CHECK_FALSE(url.contains(attempt.secret));
}

TEST_CASE("the client's secret goes where the provider takes it") {
  Provider provider = read_provider(document(), kIssuer).value();
  const Attempt attempt = begin_attempt("/", 0);
  const auto basic = token_request(provider, setup(), attempt, "c d", "se:cret");
  CHECK(basic.target == "/token");
  CHECK(basic.content_type == "application/x-www-form-urlencoded");
  REQUIRE(basic.fields.size() == 2);
  CHECK(basic.fields[1].second == "Basic " + to_base64(as_bytes("slu%20ice:se%3Acret")));
  const auto form = http::parse_query(basic.body).value();
  CHECK(value_of(form, "code") == "c d");
  CHECK(value_of(form, "code_verifier") == attempt.verifier());
  CHECK(value_of(form, "client_secret") == "absent");
  const auto open = token_request(provider, setup(), attempt, "c", "");
  CHECK(value_of(http::parse_query(open.body).value(), "client_id") == "slu ice");
  CHECK(open.fields.size() == 1);
  provider =
      read_provider(document(R"("token_endpoint_auth_methods_supported":["client_secret_post"])"), kIssuer).value();
  const auto post = token_request(provider, setup(), attempt, "c", "se:cret");
  CHECK(value_of(http::parse_query(post.body).value(), "client_secret") == "se:cret");
  CHECK(post.fields.size() == 1);
}

}  // namespace sluice::server::oidc
