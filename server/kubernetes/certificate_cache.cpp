#include "server/kubernetes/certificate_cache.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/file_descriptor.hpp"
#include "common/base/timestamp.hpp"
#include "common/json/tree.hpp"
#include "common/json/writer.hpp"

namespace sluice::server::kubernetes {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

std::unexpected<Error> failed(const std::string& path, std::string_view why) {
  return failure("tls_cache", fmt::format("the certificate's cache {} {}", path, why));
}

std::string text_of(const CachedCertificate& certificate) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("chain", certificate.chain);
  out.field("key", certificate.key);
  out.field("authority", certificate.authority);
  out.field("trusted", certificate.trusted);
  out.field("not_after", format_timestamp(certificate.not_after));
  out.end_object();
  return out.take();
}

std::optional<CachedCertificate> parse(std::string_view text) {
  json::Tree tree;
  const json::Value root = tree.parse(text).value_or(json::Value());
  CachedCertificate found{.chain = std::string(root.text_of("chain")),
                          .key = std::string(root.text_of("key")),
                          .authority = std::string(root.text_of("authority")),
                          .trusted = std::string(root.text_of("trusted"))};
  const auto not_after = parse_timestamp(root.text_of("not_after"));
  if (found.chain.empty() || found.key.empty() || !not_after) return std::nullopt;
  found.not_after = std::chrono::floor<std::chrono::seconds>(*not_after);
  return found;
}

}  // namespace

Result<> write_certificate_cache(const std::string& path, const CachedCertificate& certificate) {
  const std::string fresh = path + ".new";
  const std::string text = text_of(certificate);
  ::unlink(fresh.c_str());  // a server that was killed may have left it
  const FileDescriptor file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const bool written = file.get() >= 0 &&
                       ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(file.get()) == 0 && std::rename(fresh.c_str(), path.c_str()) == 0;
  if (written) return {};
  const int error = errno;
  ::unlink(fresh.c_str());
  return failed(path, fmt::format("cannot be written: {}", std::strerror(error)));
}

Result<std::optional<CachedCertificate>> read_certificate_cache(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0 && errno == ENOENT) return std::nullopt;
  struct stat status{};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) {
    return failed(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return failed(path, "is not used: it is not a regular file that only the server's user can write");
  }
  std::string text(kMaxBytes, '\0');
  const ssize_t bytes = ::read(file.get(), text.data(), text.size());
  if (bytes < 0) return failed(path, fmt::format("cannot be read: {}", std::strerror(errno)));
  text.resize(static_cast<std::size_t>(bytes));
  auto found = parse(text);
  if (!found) return failed(path, "is damaged");
  return found;
}

}  // namespace sluice::server::kubernetes
