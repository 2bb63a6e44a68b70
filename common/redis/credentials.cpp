#include "common/redis/credentials.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include <fmt/core.h>

namespace sluice::redis {
namespace {

constexpr std::size_t kMaxFileBytes = 4096;

Result<std::string> read_small(std::string_view what, const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.eof() && !file.good()) {
    const char* why = errno != 0 ? std::strerror(errno) : "not a readable file";
    return failure("credentials", fmt::format("the {} file {} cannot be read: {}", what, path, why));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) {
    return failure("credentials", fmt::format("the {} file {} is larger than {} bytes", what, path, kMaxFileBytes));
  }
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  // An empty file is most likely being written at this moment.
  if (text.empty()) return failure("credentials", fmt::format("the {} file {} is empty", what, path));
  return text;
}

}  // namespace

Result<std::string> read_password_file(const std::string& path) { return read_small("password", path); }

Result<std::string> write_login_file(std::string_view user, std::string_view password, bool functions) {
  if (password.empty() || password.find_first_of("\r\n") != std::string_view::npos ||
      user.find_first_of("\r\n") != std::string_view::npos ||
      user.size() + password.size() + kFunctionsLine.size() + 3 > kMaxFileBytes) {
    return failure("credentials", "a login needs a password, must not contain line ends, and has less than 4 KiB");
  }
  return fmt::format("{}\n{}\n{}{}", user, password, functions ? kFunctionsLine : "", functions ? "\n" : "");
}

Result<Login> read_login(const Options& options) {
  Login login{.user = options.target.user,
              .password = options.target.password,
              .database = options.target.database,
              .client_name = options.client_name,
              .runs_scripts = !options.scripts.empty()};
  if (!options.password_file.empty()) {
    Result<std::string> password = read_password_file(options.password_file);
    if (!password) return std::unexpected(password.error());
    login.password = *std::move(password);
  }
  if (!options.login_file.empty()) {
    if (::access(options.login_file.c_str(), F_OK) != 0 && errno == ENOENT) {
      return failure("no_login", fmt::format("the login file {} does not exist yet", options.login_file));
    }
    Result<std::string> text = read_small("login", options.login_file);
    if (!text) return std::unexpected(text.error());
    const std::size_t end = text->find('\n');
    if (end == std::string::npos) {
      return failure("credentials",
                     fmt::format("the login file {} needs a second line with the password", options.login_file));
    }
    login.user = text->substr(0, end);
    login.password = text->substr(end + 1);
    if (const std::size_t third = login.password.find('\n'); third != std::string::npos) {
      if (third == 0 || std::string_view(login.password).substr(third + 1) != kFunctionsLine) {
        return failure("credentials",
                       fmt::format("the login file {} needs a password on its second line, and its third line, if it "
                                   "has one, must be \"{}\"",
                                   options.login_file, kFunctionsLine));
      }
      login.password.resize(third);
      login.calls_functions = true;
    }
  }
  return login;
}

}  // namespace sluice::redis
