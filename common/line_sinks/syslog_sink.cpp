#include "common/line_sinks/syslog_sink.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "common/line_sinks/host_addresses.hpp"
#include "common/line_sinks/syslog_faults.hpp"
#include "common/line_sinks/syslog_message.hpp"

namespace sluice::line_sinks {
namespace {

constexpr int kSocketType = SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK;

std::string name_of(const SyslogOptions& options) {
  return options.socket.empty() ? fmt::format("udp://{}:{}", options.host, options.port) : options.socket;
}

}  // namespace

SyslogSink::SyslogSink(SyslogOptions options, std::string source)
    : options_(std::move(options)), source_(std::move(source)) {}

SyslogSink::Written SyslogSink::write(std::string_view text) {
  if (!socket_) {
    if (auto connected = connect(); !connected) return {.error = std::move(connected.error())};
  }
  Written written;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!send(line, written)) break;
    text.remove_prefix(line.size() + 1);
    written.bytes += line.size() + 1;
  }
  return written;
}

bool SyslogSink::send(std::string_view line, Written& written) {
  write_syslog_message(message_, clock_.now_us(), source_, line);
  if (::send(socket_.get(), message_.data(), message_.size(), MSG_NOSIGNAL) >= 0) return true;
  const int cause = errno;
  if (is_slow(cause)) {
    pollfd entry{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
    const int wait_ms = static_cast<int>(kWait.count());
    // A socket that lacks memory seems ready, so there is nothing to wait for but time.
    if (written.bytes == 0) ::poll(&entry, cause == ENOBUFS ? 0 : 1, wait_ms);
    return false;
  }
  if (cause == EMSGSIZE) {
    ++written.lost;
    written.error = because("syslog_line_too_long", cause);
    return true;
  }
  socket_ = FileDescriptor();
  written.error = because(kSyslogNotSent, cause);
  return false;
}

Result<> SyslogSink::connect() { return options_.socket.empty() ? connect_udp() : connect_unix(); }

Result<> SyslogSink::connect_unix() {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (options_.socket.size() >= sizeof(address.sun_path)) {
    return std::unexpected(because(kSyslogNotConnected, ENAMETOOLONG));
  }
  std::ranges::copy(options_.socket, std::begin(address.sun_path));
  FileDescriptor made(::socket(AF_UNIX, kSocketType, 0));
  if (!made || ::connect(made.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return std::unexpected(because(kSyslogNotConnected, errno));
  }
  socket_ = std::move(made);
  return {};
}

// Takes the first address that this machine has a route to.
Result<> SyslogSink::connect_udp() {
  const auto found = find_addresses(options_.host, options_.port, SOCK_DGRAM);
  if (!found) return failure(kSyslogNotConnected, fmt::format("{}: {}", name_of(options_), found.error()));
  for (const addrinfo* each = found->get(); each != nullptr; each = each->ai_next) {
    FileDescriptor made(::socket(each->ai_family, kSocketType, 0));
    if (made && ::connect(made.get(), each->ai_addr, each->ai_addrlen) == 0) {
      socket_ = std::move(made);
      return {};
    }
  }
  return std::unexpected(because(kSyslogNotConnected, errno));
}

Error SyslogSink::because(std::string code, int cause) const {
  return {std::move(code), fmt::format("{}: {}", name_of(options_), std::strerror(cause))};
}

}  // namespace sluice::line_sinks
