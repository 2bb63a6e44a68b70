#include "server/webhooks/flags.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace sluice::server::webhooks {
namespace {

using namespace std::chrono_literals;

std::vector<IpBlock> read_blocks(program::ConfigReader& reader) {
  std::vector<IpBlock> blocks;
  std::string_view rest = reader.value(kAllow.name).text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const auto block = parse_cidr(rest.substr(0, comma));
    if (!block) {
      reader.fault(kAllow.name, "must be address blocks with commas between, such as 10.20.0.0/16,fd00:20::/32");
      return {};
    }
    blocks.push_back(*block);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return blocks;
}

}  // namespace

std::optional<Setup> read_setup(program::ConfigReader& reader) {
  const bool used = reader.value(kSecretFile.name).given;
  for (const FlagSpec& flag : {kAllow, kTlsCa, kGiveUp}) {
    reader.require_use(flag.name, used, "has no use without --notify-secret-file; leave it out");
  }
  const std::string file = reader.file(kSecretFile.name);
  Setup setup{.keys = {},
              .rules = AddressRules(read_blocks(reader)),
              .tls_ca = reader.file(kTlsCa.name),
              .give_up = reader.duration(kGiveUp.name, 1min, 720h, "1m to 720h")};
  if (!used || file.empty()) return std::nullopt;
  auto keys = read_keys(file);
  if (!keys) {
    reader.fault(kSecretFile.name, keys.error().text);
    return std::nullopt;
  }
  setup.keys = std::move(*keys);
  return setup;
}

}  // namespace sluice::server::webhooks
