#include "common/line_sinks/destination.hpp"

#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "common/line_sinks/syslog_message.hpp"

namespace sluice::line_sinks {
namespace {

constexpr std::string_view kLocalSocket = "/dev/log";
constexpr std::size_t kLongestSocket = sizeof(sockaddr_un::sun_path) - 1;  // without the NUL byte

using Parsed = std::expected<Destination, std::string>;

// Takes `prefix` away from `text`. Returns whether it was there.
bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

Parsed parse_file(std::string_view path) {
  if (!path.starts_with('/') || path.ends_with('/')) {
    return std::unexpected("must name a file by an absolute path, such as file:/var/log/sluice/decisions.log");
  }
  return FileOptions{.path = std::string(path)};
}

Parsed parse_socket(std::string_view path) {
  if (!path.starts_with('/') || path.size() > kLongestSocket) {
    return std::unexpected(fmt::format(
        "must name a socket by an absolute path of at most {} bytes, such as syslog:unix:/dev/log", kLongestSocket));
  }
  return SyslogOptions{.socket = std::string(path)};
}

std::optional<std::uint16_t> port_from(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

// `transport`: "udp" or "tcp".
template <class Options>
Parsed parse_host(std::string_view transport, std::string_view address) {
  const std::size_t colon = address.rfind(':');
  std::string_view host = address.substr(0, colon);
  const bool in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (in_brackets) host = host.substr(1, host.size() - 2);
  const auto port = colon == std::string_view::npos ? std::nullopt : port_from(address.substr(colon + 1));
  const bool is_host = !host.empty() && host.find_first_of("/@[] ") == std::string_view::npos &&
                       in_brackets == (host.find(':') != std::string_view::npos);
  if (!port || !is_host) {
    return std::unexpected(fmt::format(
        "must name a host and a port, such as syslog:{0}://logs.example.com:514 or syslog:{0}://[fd00::1]:514",
        transport));
  }
  return Options{.host = std::string(host), .port = *port};
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

}  // namespace

Parsed parse_destination(std::string_view text) {
  if (text == "stdout") return Descriptor{STDOUT_FILENO};
  if (text == "stderr") return Descriptor{STDERR_FILENO};
  if (text == "syslog") return parse_socket(kLocalSocket);
  if (take(text, "file:")) return parse_file(text);
  if (take(text, "syslog:unix:")) return parse_socket(text);
  if (take(text, "syslog:udp://")) return parse_host<SyslogOptions>("udp", text);
  if (take(text, "syslog:tcp://")) return parse_host<SyslogStreamOptions>("tcp", text);
  return std::unexpected(
      "must be stdout, stderr, file:PATH, syslog, syslog:unix:PATH, syslog:udp://HOST:PORT or syslog:tcp://HOST:PORT, "
      "such as file:/var/log/sluice/decisions.log");
}

std::unique_ptr<telemetry::LineSink> make_sink(const Destination& destination, std::string_view app,
                                               std::string_view message_id) {
  if (const auto* descriptor = std::get_if<Descriptor>(&destination)) {
    return std::make_unique<telemetry::DescriptorSink>(descriptor->fd);
  }
  if (const auto* file = std::get_if<FileOptions>(&destination)) return std::make_unique<FileSink>(*file);
  std::string source = syslog_source(
      {.host = host_name(), .app = std::string(app), .process = ::getpid(), .message_id = std::string(message_id)});
  if (const auto* stream = std::get_if<SyslogStreamOptions>(&destination)) {
    return std::make_unique<SyslogStream>(*stream, std::move(source));
  }
  return std::make_unique<SyslogSink>(std::get<SyslogOptions>(destination), std::move(source));
}

}  // namespace sluice::line_sinks
