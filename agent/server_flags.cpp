#include "agent/server_flags.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "common/base/version.hpp"
#include "common/http_client/url.hpp"
#include "common/sync/report.hpp"
#include "engine/policies/token_file.hpp"

namespace sluice::agent {
namespace {

using namespace std::chrono_literals;
using program::ConfigReader;

// Flags that have no use without --server. config.cpp checks --redis-password-from-server.
constexpr std::array<std::string_view, 11> kServerFlags{
    "agent-token-file", "server-tls-ca",    "server-tls-cert", "server-tls-key", "insecure-server",
    "snapshot-cache",   "max-snapshot-age", "report-interval", "agent-id",       "pod",
    "record-decisions"};

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "unknown";
  return name.data();
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= sync::kMaxAgentNameBytes &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

std::string read_name(ConfigReader& reader, std::string_view flag, std::string fallback) {
  const program::FlagValue& given = reader.value(flag);
  if (!given.given) return is_name(fallback) ? fallback : "unknown";
  if (!is_name(given.text)) {
    reader.fault(flag, fmt::format("must be 1 to {} visible ASCII characters", sync::kMaxAgentNameBytes));
  }
  return given.text;
}

void read_url(ConfigReader& reader, policies::ServerOptions& options) {
  using Transport = http_client::Url::Transport;
  const auto url = http_client::parse_url(reader.value("server").text);
  if (!url || url->transport == Transport::unix_socket) {
    // The URL may contain a password.
    return reader.fault_without_value("server", "must be https://HOST[:PORT] or http://HOST[:PORT], without a path");
  }
  options.sync.server = *url;
  if (url->transport == Transport::tls || reader.boolean("insecure-server")) return;
  if (program::is_loopback(url->host)) return;
  reader.fault("server",
               "would send the agent token across the network in clear; use https://, or add --insecure-server where "
               "the network is trusted");
}

void read_tls(ConfigReader& reader, policies::ServerOptions& options) {
  net::TlsFiles& tls = options.sync.tls;
  tls = {.ca = reader.file("server-tls-ca"),
         .chain = reader.file("server-tls-cert"),
         .key = reader.file("server-tls-key")};
  reader.require_use("server-tls-cert", !tls.key.empty(), "needs its key; add --server-tls-key");
  reader.require_use("server-tls-key", !tls.chain.empty(), "needs its certificate; add --server-tls-cert");
  const bool encrypted = options.sync.server.transport == http_client::Url::Transport::tls;
  for (const std::string_view flag : {"server-tls-ca", "server-tls-cert", "server-tls-key"}) {
    reader.require_use(flag, encrypted, "has no use without --server https://…; leave it out");
  }
}

void read_token(ConfigReader& reader, policies::ServerOptions& options) {
  if (!reader.value("agent-token-file").given) {
    return reader.fault_without_value("agent-token-file", "is missing; --server needs a file with the agent's token");
  }
  options.token_file = reader.file("agent-token-file");
  struct stat found{};
  if (::access(options.token_file.c_str(), R_OK) != 0 || ::stat(options.token_file.c_str(), &found) != 0) return;
  if ((found.st_mode & S_IWOTH) != 0) {
    return reader.fault("agent-token-file", "can be written by every user; remove that permission (chmod o-w)");
  }
  if (const auto token = policies::TokenFile(options.token_file).read(); !token) {
    reader.fault("agent-token-file", fmt::format("cannot be used: {}", token.error().text));
  }
}

void read_cache(ConfigReader& reader, policies::ServerOptions& options) {
  const program::FlagValue& path = reader.value("snapshot-cache");
  if (!path.given) return;
  options.cache = path.text;
  std::error_code error;
  if (std::filesystem::is_directory(path.text, error)) {
    return reader.fault("snapshot-cache", "is a directory; name a file in it");
  }
  const std::filesystem::path folder = std::filesystem::path(path.text).parent_path();
  if (!std::filesystem::is_directory(folder.empty() ? "." : folder, error)) {
    reader.fault("snapshot-cache", "is in a folder that is missing; make it, or name another");
  }
}

}  // namespace

std::string agent_name(const program::ConfigReader& reader) {
  const program::FlagValue& id = reader.value("agent-id");
  return id.given ? id.text : host_name();
}

std::optional<policies::ServerOptions> read_server(ConfigReader& reader, const program::Environment& environment) {
  const bool given = reader.value("server").given;
  for (const std::string_view flag : kServerFlags) {
    reader.require_use(flag, given, "has no use without --server; leave it out");
  }
  if (!given) return std::nullopt;
  reader.require_use("policies", false, "cannot be combined with --server; leave one of them out");
  policies::ServerOptions options;
  read_url(reader, options);
  read_tls(reader, options);
  read_token(reader, options);
  read_cache(reader, options);
  options.max_age = reader.duration("max-snapshot-age", 0s, 8'760h, "1s to 8760h, or 0s,");
  if (options.max_age > 0s && options.max_age < 1s) reader.fault("max-snapshot-age", "must be 1s or more, or 0s");
  options.sync.report_interval = reader.duration("report-interval", 100ms, 10s, "100ms to 10s");
  options.sync.agent_id = read_name(reader, "agent-id", host_name());
  const char* const pod = environment.find("POD_NAME");
  options.sync.pod = read_name(reader, "pod", pod != nullptr ? pod : host_name());
  options.sync.version = version();
  if (const char* const parent = environment.find("TRACEPARENT")) options.traceparent = parent;
  if (const char* const state = environment.find("TRACESTATE")) options.tracestate = state;
  return options;
}

}  // namespace sluice::agent
