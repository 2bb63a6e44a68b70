#include "server/oidc/flags.hpp"

#include <algorithm>
#include <fstream>
#include <string>

#include <fmt/core.h>
#include <sys/stat.h>

namespace sluice::server::oidc {
namespace {

constexpr std::size_t kMaxSecretBytes = 1'024;
constexpr std::size_t kMaxTextBytes = 256;  // of the client's id, a claim's name and the button's text

bool others_may_read(const std::string& path) {
  struct stat found{};
  return ::stat(path.c_str(), &found) == 0 && (found.st_mode & S_IROTH) != 0;
}

bool is_visible(std::string_view text) {
  return !text.empty() && text.size() <= kMaxTextBytes &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

// RFC 6749 section 3.3: words with one space between.
bool are_scopes(std::string_view text) {
  bool openid = false;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    const bool good = is_visible(word) && !word.contains('"') && !word.contains('\\');
    if (!good) return false;
    openid |= word == "openid";
    text.remove_prefix(word.size());
    if (text == " ") return false;
    if (!text.empty()) text.remove_prefix(1);
  }
  return openid;
}

void read_issuer(program::ConfigReader& reader, Setup& setup) {
  auto issuer = parse_endpoint(reader.value(kIssuer.name).text);
  if (!issuer || issuer->text.contains('?')) {
    return reader.fault(kIssuer.name, "must be an https:// URL without query; http:// only for this machine");
  }
  setup.issuer = *std::move(issuer);
}

void read_secret_file(program::ConfigReader& reader, Setup& setup) {
  setup.secret_file = reader.file(kClientSecretFile.name);
  if (setup.secret_file.empty()) return;
  if (others_may_read(setup.secret_file)) {
    return reader.fault(kClientSecretFile.name, "can be read by all users; chmod it to 0640 or 0600");
  }
  if (const auto secret = read_secret(setup.secret_file); !secret) {
    reader.fault(kClientSecretFile.name, secret.error().text);
  }
}

void read_texts(program::ConfigReader& reader, Setup& setup) {
  setup.client_id = reader.value(kClientId.name).text;
  if (!is_visible(setup.client_id)) {
    reader.fault(kClientId.name, "is missing or not visible ASCII; name this server as the provider does");
  }
  setup.groups_claim = reader.value(kGroupsClaim.name).text;
  if (!is_visible(setup.groups_claim)) reader.fault(kGroupsClaim.name, "must be the name of a claim, such as groups");
  setup.scopes = reader.value(kScopes.name).text;
  if (!are_scopes(setup.scopes)) {
    reader.fault(kScopes.name, "must be scopes with one space between, and openid among them");
  }
  setup.name = reader.value(kName.name).text;
  if (setup.name.empty()) setup.name = setup.issuer.server.host;
  if (setup.name.size() > kMaxTextBytes) reader.fault(kName.name, "must have at most 256 bytes");
}

}  // namespace

Result<std::string> read_secret(const std::string& file) {
  if (file.empty()) return std::string();
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) return failure("secret", "is empty or cannot be read; its first line is the secret");
  if (line.ends_with('\r')) line.pop_back();
  if (line.empty() || line.size() > kMaxSecretBytes) {
    return failure("secret",
                   fmt::format("must have the client's secret, 1 to {} bytes, in its first line", kMaxSecretBytes));
  }
  return line;
}

std::optional<Setup> read_setup(program::ConfigReader& reader, const sessions::Site& site) {
  const bool used = reader.value(kIssuer.name).given;
  for (const FlagSpec& flag : {kClientId, kClientSecretFile, kGroupsClaim, kScopes, kName, kCa}) {
    reader.require_use(flag.name, used, "has no use without --oidc-issuer; leave it out");
  }
  if (!used) return std::nullopt;
  Setup setup;
  read_issuer(reader, setup);
  read_texts(reader, setup);
  read_secret_file(reader, setup);
  setup.ca_file = reader.file(kCa.name);
  reader.require_use(kIssuer.name, !site.origin.empty(),
                     "needs --console-url, the address to which the provider sends browsers back");
  setup.redirect_uri = site.origin + std::string(kCallbackPath);
  return setup;
}

}  // namespace sluice::server::oidc
