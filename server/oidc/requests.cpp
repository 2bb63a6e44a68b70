#include "server/oidc/requests.hpp"

#include <initializer_list>
#include <utility>

#include <fmt/core.h>

#include "common/base/crypto.hpp"
#include "common/base/percent_encoding.hpp"

namespace sluice::server::oidc {
namespace {

using Pairs = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// application/x-www-form-urlencoded, where a space may be %20 as well as '+'.
std::string form(Pairs pairs) {
  std::string text;
  for (const auto& [name, value] : pairs) {
    text.append(text.empty() ? "" : "&").append(name).append("=").append(percent_encode(value));
  }
  return text;
}

}  // namespace

std::string authorization_url(const Provider& provider, const Setup& setup, const Attempt& attempt) {
  const std::string& endpoint = provider.authorization.text;
  return fmt::format("{}{}{}", endpoint, endpoint.contains('?') ? '&' : '?',
                     form({{"response_type", "code"},
                           {"client_id", setup.client_id},
                           {"redirect_uri", setup.redirect_uri},
                           {"scope", setup.scopes},
                           {"state", attempt.state()},
                           {"nonce", attempt.nonce()},
                           {"code_challenge", attempt.challenge()},
                           {"code_challenge_method", "S256"}}));
}

http_client::Request token_request(const Provider& provider, const Setup& setup, const Attempt& attempt,
                                   std::string_view code, std::string_view secret) {
  http_client::Request request{.method = "POST",
                               .target = provider.token.target,
                               .fields = {{"Accept", "application/json"}},
                               .content_type = "application/x-www-form-urlencoded",
                               .body = form({{"grant_type", "authorization_code"},
                                             {"code", code},
                                             {"redirect_uri", setup.redirect_uri},
                                             {"code_verifier", attempt.verifier()}}),
                               .max_body = kMaxDocumentBytes};
  if (secret.empty()) {
    request.body += "&" + form({{"client_id", setup.client_id}});
  } else if (provider.secret_in_body) {
    request.body += "&" + form({{"client_id", setup.client_id}, {"client_secret", secret}});
  } else {
    // RFC 6749 section 2.3.1: both parts are encoded as in a form, and then as Basic says.
    const std::string pair = fmt::format("{}:{}", percent_encode(setup.client_id), percent_encode(secret));
    request.fields.emplace_back("Authorization", fmt::format("Basic {}", to_base64(as_bytes(pair))));
  }
  return request;
}

}  // namespace sluice::server::oidc
