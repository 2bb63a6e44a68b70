#include "libsluice/options.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "common/base/file_descriptor.hpp"
#include "common/base/text.hpp"
#include "common/domain/identifiers.hpp"

namespace sluice::lib {
std::unexpected<v1::Status> refuse(std::string_view option, std::string_view rule, v1::Code code) {
  return std::unexpected(v1::Status{code, visible(fmt::format("{}: {}", option, rule))});
}

namespace {

constexpr unsigned kMostThreads = 1024;

// The first of these that is set. Without its URL it would have no use, and counters or policies would silently be
// elsewhere.
std::string_view set_without_url(const v1::Redis& redis) {
  if (!redis.password_file.empty()) return "redis.password_file";
  if (!redis.sentinel_password_file.empty()) return "redis.sentinel_password_file";
  if (!redis.sentinel_login_file.empty()) return "redis.sentinel_login_file";
  if (!redis.tls_ca_file.empty()) return "redis.tls_ca_file";
  if (!redis.tls_cert_file.empty()) return "redis.tls_cert_file";
  return redis.tls_key_file.empty() ? "" : "redis.tls_key_file";
}
std::string_view set_without_url(const v1::Server& server) {
  if (!server.token_file.empty()) return "server.token_file";
  if (!server.cache_file.empty()) return "server.cache_file";
  if (!server.ca_file.empty()) return "server.ca_file";
  return server.name.empty() ? "" : "server.name";
}

}  // namespace

v1::Status readable(std::string_view option, const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat found{};
  int error = file.get() < 0 || ::fstat(file.get(), &found) != 0 ? errno : 0;
  if (error == 0 && S_ISDIR(found.st_mode)) error = EISDIR;
  if (error == 0) return {};
  return refuse(option, fmt::format("{} cannot be read: {}", path, std::strerror(error)), v1::Code::unreachable)
      .error();
}

v1::Status tls_usable(std::string_view option, const net::TlsFiles& files) {
  std::optional<boost::asio::ssl::context> context;
  const auto made = net::make_tls(files, context);
  return made ? v1::Status() : refuse(option, made.error().text + "; it must be PEM", v1::Code::unreachable).error();
}

v1::Status check_options(const v1::Options& options) {
  const auto fault = [](std::string_view option, std::string_view rule) { return refuse(option, rule).error(); };
  const bool bundle = !options.bundle.empty();
  const bool file = !options.bundle_file.empty();
  const bool server = !options.server.url.empty();
  if (bundle && file) return fault("bundle", "bundle_file names other policies: leave one of them empty");
  if (server && (bundle || file)) {
    return fault("server.url",
                 fmt::format("{} names other policies: leave one of them empty", bundle ? "bundle" : "bundle_file"));
  }
  if (options.watch_file && !file) return fault("watch_file", "needs bundle_file, the file that it watches");
  if (!options.tenant.empty() && !is_id(options.tenant)) {
    return fault("tenant", fmt::format("must be the id of a tenant: at most 63 of a-z, 0-9, \".\" and \"-\"; got {}",
                                       quoted(options.tenant)));
  }
  if (options.redis.url.empty()) {
    if (const auto option = set_without_url(options.redis); !option.empty())
      return fault(option, "needs redis.url: without it counters are in memory");
  }
  if (!server) {
    if (const auto option = set_without_url(options.server); !option.empty())
      return fault(option, "needs server.url, the server that policies come from");
  }
  if (options.threads > kMostThreads)
    return fault("threads", fmt::format("must be from 0 to {}; got {}", kMostThreads, options.threads));
  return {};
}

}  // namespace sluice::lib
