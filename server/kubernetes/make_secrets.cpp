#include "server/kubernetes/make_secrets.hpp"

#include <array>
#include <chrono>
#include <optional>

#include <fmt/core.h>
#include <boost/asio/io_context.hpp>

#include "common/base/crypto.hpp"
#include "common/base/percent_encoding.hpp"
#include "common/json/writer.hpp"

namespace sluice::server::kubernetes {
namespace {

constexpr std::chrono::milliseconds kSecretDeadline{10'000};
constexpr unsigned kSecretExists = 409;

std::string password() {
  std::array<std::uint8_t, 32> bytes{};
  random_bytes(bytes);
  return to_base62(bytes, 43);
}

Result<CreatedSecret> make(Api& api, boost::asio::io_context& loop, const std::string& path, const NewSecret& secret) {
  std::optional<Result<ApiResponse>> answer;
  api.send("POST", path, write_secret(secret), kSecretDeadline,
           [&](Result<ApiResponse> result) { answer = std::move(result); });
  loop.restart();
  while (!answer) loop.run_one();
  if (!*answer) return std::unexpected(std::move(answer->error()));
  const ApiResponse& response = **answer;
  if (response.status >= 300 && response.status != kSecretExists) {
    return failure("refused", fmt::format("the Secret {} cannot be made: {}", secret.name, error_text(response)));
  }
  return CreatedSecret{secret.name, response.status != kSecretExists};
}

}  // namespace

std::vector<NewSecret> wanted_secrets(const SecretsOptions& options) {
  const std::string app = password();
  const std::string owner = password();
  NewSecret database{"sluice-database", {}};
  database.values = {
      {"url", fmt::format("postgresql://sluice_app@{}/{}", options.database_host, options.database_name)},
      {"password", app},
      {"owner-url",
       fmt::format("postgresql://sluice_owner:{}@{}/{}", owner, options.database_host, options.database_name)},
      {"owner-password", owner}};
  NewSecret redis{"sluice-redis", {}};
  redis.values = {{"server-user", "sluice-server"}, {"server-password", password()}, {"agent-user", "sluice-agent"},
                  {"agent-password", password()},   {"node-user", "sluice-node"},    {"node-password", password()}};
  return {std::move(database), std::move(redis)};
}

std::string write_secret(const NewSecret& secret) {
  json::Writer writer(json::Writer::Layout::compact);
  writer.begin_object();
  writer.field("apiVersion", "v1");
  writer.field("kind", "Secret");
  writer.field("type", "Opaque");
  writer.key("metadata");
  writer.begin_object();
  writer.field("name", secret.name);
  writer.key("labels");
  writer.begin_object();
  writer.field("app.kubernetes.io/part-of", "sluice");
  writer.field("app.kubernetes.io/managed-by", "sluice-server");
  writer.end_object();
  writer.end_object();
  writer.key("stringData");
  writer.begin_object();
  for (const auto& [key, value] : secret.values) writer.field(key, value);
  writer.end_object();
  writer.end_object();
  return writer.take();
}

Result<std::vector<CreatedSecret>> make_secrets(const SecretsOptions& options) {
  boost::asio::io_context loop{1};
  ApiClient api(loop, options.api);
  const std::string path = fmt::format("/api/v1/namespaces/{}/secrets", percent_encode(options.api.namespace_));
  std::vector<CreatedSecret> created;
  for (const NewSecret& secret : wanted_secrets(options)) {
    auto made = make(api, loop, path, secret);
    if (!made) return std::unexpected(std::move(made.error()));
    created.push_back(*std::move(made));
  }
  return created;
}

}  // namespace sluice::server::kubernetes
