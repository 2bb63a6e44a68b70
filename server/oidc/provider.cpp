#include "server/oidc/provider.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/tree.hpp"

namespace sluice::server::oidc {
namespace {

constexpr std::size_t kMaxErrorCode = 64;

std::unexpected<Error> no_document(std::string_view why) {
  return failure("document", fmt::format("the provider's discovery document {}", why));
}

bool lists(const json::Value& document, std::string_view member, std::string_view wanted) {
  return std::ranges::any_of(document.items_of(member), [wanted](const json::Value& item) {
    return item.type() == json::Type::string && item.text() == wanted;
  });
}

Result<Endpoint> endpoint_of(const json::Value& document, std::string_view member) {
  auto endpoint = parse_endpoint(document.text_of(member));
  if (!endpoint) return no_document(fmt::format("has no usable {}: it must be {}", member, endpoint.error().text));
  return endpoint;
}

// RFC 6749 section 5.2: error codes have only such characters. Anything else is not shown.
std::string error_code(const json::Value& document) {
  const std::string_view code = document.text_of("error");
  const bool plain = !code.empty() && code.size() <= kMaxErrorCode &&
                     std::ranges::all_of(code, [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  return plain ? std::string(code) : "an unnamed error";
}

}  // namespace

std::string discovery_target(const Endpoint& issuer) {
  std::string_view path = issuer.target;
  if (path.ends_with('/')) path.remove_suffix(1);
  return fmt::format("{}/.well-known/openid-configuration", path);
}

Result<Provider> read_provider(std::string_view document, std::string_view issuer) {
  json::Tree tree;
  const auto parsed = tree.parse(document);
  if (!parsed || parsed->type() != json::Type::object) return no_document("is not a JSON object");
  const json::Value& value = *parsed;
  if (value.text_of("issuer") != issuer) {
    return failure("issuer", fmt::format("the provider's discovery document is that of the issuer {}, and not of {}: "
                                         "write --oidc-issuer exactly as the provider does",
                                         quoted(value.text_of("issuer")), quoted(issuer)));
  }
  Provider provider{.issuer = std::string(issuer), .authorization = {}, .token = {}, .keys = {}};
  for (const auto& [endpoint, member] :
       {std::pair(&provider.authorization, "authorization_endpoint"), std::pair(&provider.token, "token_endpoint"),
        std::pair(&provider.keys, "jwks_uri")}) {
    auto found = endpoint_of(value, member);
    if (!found) return std::unexpected(std::move(found.error()));
    *endpoint = std::move(*found);
  }
  // A provider that does not list them supports PKCE or ignores it; RFC 8414 leaves the list out then.
  if (!value.items_of("code_challenge_methods_supported").empty() &&
      !lists(value, "code_challenge_methods_supported", "S256")) {
    return no_document("does not list S256 in code_challenge_methods_supported: the sign-in needs PKCE");
  }
  constexpr std::string_view kMethods = "token_endpoint_auth_methods_supported";
  provider.secret_in_body =
      lists(value, kMethods, "client_secret_post") && !lists(value, kMethods, "client_secret_basic");
  provider.names_issuer_in_answer = value.is_true("authorization_response_iss_parameter_supported");
  return provider;
}

Result<std::string> read_token_answer(unsigned status, std::string_view document) {
  json::Tree tree;
  const json::Value value = tree.parse(document).value_or(json::Value());
  if (status != 200) {
    // 4xx: the code is not valid, or the client's secret is not. 5xx: the provider is in trouble.
    return failure(status >= 500 ? "status" : "rejected",
                   fmt::format("the provider answered {} to the token request: {}", status, error_code(value)));
  }
  const std::string_view token = value.text_of("id_token");
  if (token.empty()) return failure("document", "the provider's answer to the token request has no id_token");
  return std::string(token);
}

}  // namespace sluice::server::oidc
