#include "engine/follow/server_link.hpp"

#include <fmt/core.h>

#include <utility>

#include "common/domain/credential.hpp"
#include "common/json/tree.hpp"

namespace sluice::follow {
namespace {

constexpr std::size_t kMaxDetailBytes = 300;

// Returns the `detail` of a problem document, or "".
std::string detail_of(const http_client::Response& response) {
  json::Tree tree;
  const json::Value document = tree.parse(response.body).value_or(json::Value());
  return std::string(document.text_of("detail").substr(0, kMaxDetailBytes));
}

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

}  // namespace

ServerLink::ServerLink(http_client::Options server, std::string agent_id, Token token, std::uint64_t seed)
    : server_(std::move(server)),
      agent_id_(std::move(agent_id)),
      token_(std::move(token)),
      engine_(seed != 0 ? seed : random_seed()) {}

Result<http_client::Request> ServerLink::request(std::string target) {
  auto token = token_();
  if (!token) return std::unexpected(std::move(token.error()));
  const auto agent_token = split_key(*token, CredentialKind::agent_token);
  token_id_ = agent_token ? agent_token->id : std::string_view();
  http_client::Request request;
  request.target = std::move(target);
  request.bearer = *std::move(token);
  request.fields.emplace_back("Sluice-Agent", agent_id_);
  return request;
}

Error refused_by_server(std::string_view what, const http_client::Response& response) {
  const std::string detail = detail_of(response);
  if (response.status == 401 || response.status == 403) {
    return {"unauthorized", fmt::format("{}: the server does not accept the agent token ({}){}{}", what,
                                        response.status, detail.empty() ? "" : ": ", detail)};
  }
  return {"status",
          fmt::format("{}: the server answers {}{}{}", what, response.status, detail.empty() ? "" : ": ", detail)};
}

}  // namespace sluice::follow
