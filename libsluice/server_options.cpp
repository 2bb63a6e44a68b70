#include "libsluice/server_options.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "common/base/version.hpp"
#include "common/http_client/url.hpp"
#include "common/sync/report.hpp"
#include "engine/policies/token_file.hpp"
#include "libsluice/options.hpp"

namespace sluice::lib {
namespace {

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= sync::kMaxAgentNameBytes &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

std::string host_name() {
  std::array<char, 256> name{};
  const bool known = ::gethostname(name.data(), name.size() - 1) == 0 && is_name(name.data());
  return known ? name.data() : "unknown";
}

// A host may run several programs.
std::string default_name(const std::string& host) {
  const std::string process = fmt::format("-{}", ::getpid());
  return host.substr(0, sync::kMaxAgentNameBytes - process.size()) + process;
}

// The file itself may be missing: the engine writes it.
v1::Status check_cache(const std::string& path) {
  if (path.empty()) return {};
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return lib::refuse("server.cache_file", fmt::format("{} is a folder: name a file in it", path)).error();
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (folder.empty() || std::filesystem::is_directory(folder, error)) return {};
  return lib::refuse("server.cache_file",
                     fmt::format("the folder {} is missing: make it, or name another", folder.string()))
      .error();
}

}  // namespace

std::expected<policies::ServerOptions, v1::Status> server_options(const v1::Server& server) {
  const auto url = http_client::parse_url(server.url);
  if (!url || url->transport == http_client::Url::Transport::unix_socket) {  // it may contain a password
    return refuse("server.url", "must be https://HOST[:PORT] or http://HOST[:PORT], without a path");
  }
  if (server.token_file.empty())
    return refuse("server.token_file", "is missing: the server wants the token of an agent");
  if (const auto token = policies::TokenFile(server.token_file).read(); !token) {
    return refuse("server.token_file", token.error().text, v1::Code::unreachable);
  }
  if (!server.ca_file.empty() && url->transport != http_client::Url::Transport::tls) {
    return refuse("server.ca_file", "has no use without https://; leave it out");
  }
  if (!server.ca_file.empty()) {
    if (v1::Status status = readable("server.ca_file", server.ca_file); !status.ok())
      return std::unexpected(std::move(status));
  }
  if (url->transport == http_client::Url::Transport::tls) {
    if (v1::Status status = tls_usable("server.ca_file", {.ca = server.ca_file}); !status.ok())
      return std::unexpected(std::move(status));
  }
  if (v1::Status status = check_cache(server.cache_file); !status.ok()) return std::unexpected(std::move(status));
  if (!server.name.empty() && !is_name(server.name)) {
    return refuse("server.name", fmt::format("must be 1 to {} visible ASCII characters", sync::kMaxAgentNameBytes));
  }
  policies::ServerOptions options;
  options.sync.server = *url;
  options.sync.tls.ca = server.ca_file;
  options.sync.pod = host_name();
  options.sync.agent_id = server.name.empty() ? default_name(options.sync.pod) : server.name;
  options.sync.version = version();
  options.token_file = server.token_file;
  options.cache = server.cache_file;
  return options;
}

}  // namespace sluice::lib
