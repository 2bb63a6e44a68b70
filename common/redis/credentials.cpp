#include "common/redis/credentials.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include <fmt/core.h>

namespace sluice::redis {
namespace {

constexpr std::size_t kLongestPassword = 4096;

Result<std::string> read_password(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kLongestPassword + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.eof() && !file.good()) {
    const char* why = errno != 0 ? std::strerror(errno) : "not a readable file";
    return failure("credentials", fmt::format("the password file {} cannot be read: {}", path, why));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kLongestPassword) {
    return failure("credentials", fmt::format("the password file {} is larger than {} bytes", path, kLongestPassword));
  }
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  // Most likely being written just now; no server is meant to be asked with an empty password by way of a file.
  if (text.empty()) return failure("credentials", fmt::format("the password file {} is empty", path));
  return text;
}

}  // namespace

Result<Login> read_login(const Options& options) {
  Login login{.user = options.endpoint.user,
              .password = options.endpoint.password,
              .database = options.endpoint.database,
              .client_name = options.client_name};
  if (options.password_file.empty()) return login;
  Result<std::string> password = read_password(options.password_file);
  if (!password) return std::unexpected(password.error());
  login.password = *std::move(password);
  return login;
}

}  // namespace sluice::redis
