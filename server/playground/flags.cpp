#include "server/playground/flags.hpp"

#include <string>
#include <utility>

#include <sys/stat.h>

#include "common/domain/identifiers.hpp"

namespace sluice::server::playground {
namespace {

using Transport = http_client::Url::Transport;

void read_agent(program::ConfigReader& reader, Setup& setup) {
  const auto url = http_client::parse_url(reader.value(kAgent.name).text);
  const bool insecure = reader.boolean(kInsecureAgent.name);
  if (!url) {
    return reader.fault_without_value(kAgent.name,
                                      "must be http://HOST[:PORT], https://HOST[:PORT] or unix:PATH, without a path");
  }
  setup.agent = *url;
  reader.require_use(kAgentCa.name, url->transport == Transport::tls,
                     "has no use without --playground-agent https://…; leave it out");
  if (url->transport != Transport::tcp || insecure || program::is_loopback(url->host)) return;
  reader.fault(
      kAgent.name,
      "would send API keys across the network in clear; use https://, or add --insecure-playground-agent where "
      "the network is trusted");
}

bool others_may_read(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 && (found.st_mode & S_IROTH) != 0;
}

void read_key_file(program::ConfigReader& reader, Setup& setup) {
  const std::string path = reader.file(kKeyFile.name);
  if (path.empty()) return;
  if (others_may_read(path)) return reader.fault(kKeyFile.name, "can be read by all users; chmod it to 0640 or 0600");
  auto keys = read_keys(path);
  if (!keys) return reader.fault(kKeyFile.name, keys.error());
  setup.keys = std::move(*keys);
}

void read_public(program::ConfigReader& reader, Setup& setup) {
  setup.public_tenant = reader.value(kPublic.name).text;
  if (setup.public_tenant.empty()) return;
  if (!is_id(setup.public_tenant)) {
    reader.fault(kPublic.name, "must be the id of the tenant that anybody may play with, such as demo");
  }
  reader.require_use(kPublic.name, reader.value(kKeyFile.name).given,
                     "needs an API key of the tenant; add --playground-key-file FILE");
}

}  // namespace

std::optional<Setup> read_setup(program::ConfigReader& reader) {
  const bool used = reader.value(kAgent.name).given;
  for (const FlagSpec& flag : {kAgentCa, kInsecureAgent, kKeyFile, kPublic}) {
    reader.require_use(flag.name, used, "has no use without --playground-agent; leave it out");
  }
  if (!used) return std::nullopt;
  Setup setup;
  read_agent(reader, setup);
  setup.tls_ca = reader.file(kAgentCa.name);
  read_key_file(reader, setup);
  read_public(reader, setup);
  return setup;
}

}  // namespace sluice::server::playground
