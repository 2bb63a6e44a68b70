#include "ctl/core/invocation.hpp"

#include <chrono>
#include <cstdlib>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/domain/ip_address.hpp"
#include "ctl/core/text_file.hpp"
#include "ctl/core/time_option.hpp"

namespace sluice::ctl {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Of names only `localhost` counts: others may lead anywhere.
bool stays_here(const std::string& host) {
  const auto address = parse_ip(host);
  return host == "localhost" || (address && is_loopback(*address));
}

}  // namespace

Result<Context> Invocation::context() const {
  if (globals.config.empty()) return Context{};  // no home: everything comes from flags and variables
  const auto contexts = Contexts::load(globals.config);
  if (!contexts) return std::unexpected(contexts.error());
  const std::string& name = globals.context.empty() ? contexts->current() : globals.context;
  if (const Context* const found = contexts->find(name)) return *found;
  if (globals.context.empty()) return Context{};
  return failure("context",
                 fmt::format("there is no context {}: `sluicectl context list` shows all", sluice::quoted(name)));
}

Result<Endpoint> Invocation::endpoint() const {
  auto stored = context();
  // A broken file of contexts does not matter if nothing is needed from it.
  const bool self_contained =
      !globals.server.empty() && (!globals.token_file.empty() || !variable("SLUICECTL_TOKEN").empty());
  if (!stored && !self_contained) return std::unexpected(stored.error());
  const Context from = stored ? *stored : Context{};

  const std::string& address = globals.server.empty() ? from.server : globals.server;
  if (address.empty()) {
    return failure("server", "no server is named: run `sluicectl login --server URL` once, or set --server");
  }
  const auto url = safe_url(address, globals.insecure || (globals.server.empty() && from.insecure));
  if (!url) return std::unexpected(url.error());

  std::string token;
  if (!globals.token_file.empty()) {
    auto read = read_secret(globals.token_file);
    if (!read) return std::unexpected(read.error());
    token = std::move(*read);
  } else if (token = variable("SLUICECTL_TOKEN"); token.empty() && address == from.server) {
    token = from.token;  // never to another server than the context's
  }
  if (token.empty()) {
    return failure("token",
                   fmt::format("there is no token for {}: run `sluicectl login --server {}`, or set --token-file "
                               "or SLUICECTL_TOKEN",
                               address, address));
  }
  const auto timeout = this->timeout();
  if (!timeout) return std::unexpected(timeout.error());
  return Endpoint{
      .url = *url, .ca = globals.ca.empty() ? from.ca : globals.ca, .token = std::move(token), .timeout = *timeout};
}

Result<std::chrono::milliseconds> Invocation::timeout() const {
  return duration_of("--timeout", globals.timeout, std::chrono::milliseconds(1));
}

Result<Api*> Invocation::server() {
  if (!api_) {
    auto target = endpoint();
    if (!target) return std::unexpected(target.error());
    api_ = std::make_unique<Api>(std::move(*target));
  }
  return api_.get();
}

std::string Invocation::tenant() const {
  if (!globals.tenant.empty()) return globals.tenant;
  const auto stored = context();
  return stored ? stored->tenant : "";
}

Result<http_client::Url> safe_url(const std::string& text, bool insecure) {
  auto url = http_client::parse_url(text);
  if (!url)
    return failure("server", fmt::format("the server's address {}: {}", sluice::quoted(text), url.error().text));
  if (url->transport == http_client::Url::Transport::tcp && !insecure && !stays_here(url->host)) {
    return failure("server", fmt::format("{} would send the token across the network in clear: use https://, or add "
                                         "--insecure-server where the network is trusted",
                                         text));
  }
  return *url;
}

}  // namespace sluice::ctl
