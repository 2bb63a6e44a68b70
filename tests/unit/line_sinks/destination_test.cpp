#include "common/line_sinks/destination.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <string>
#include <utility>

using namespace sluice::line_sinks;

namespace {

template <class Wanted>
Wanted read(std::string_view text) {
  const auto destination = parse_destination(text);
  CAPTURE(text);
  REQUIRE(destination.has_value());
  REQUIRE(std::holds_alternative<Wanted>(*destination));
  return std::get<Wanted>(*destination);
}

}  // namespace

TEST_CASE("Standard output and standard error are named") {
  CHECK(read<Descriptor>("stdout").fd == STDOUT_FILENO);
  CHECK(read<Descriptor>("stderr").fd == STDERR_FILENO);
}

TEST_CASE("A file is named by its absolute path") {
  CHECK(read<FileOptions>("file:/var/log/d.log").path == "/var/log/d.log");
  CHECK(read<FileOptions>("file:/a:b c").path == "/a:b c");
}

TEST_CASE("Syslog is the local socket, another socket, or a host") {
  CHECK(read<SyslogOptions>("syslog").socket == "/dev/log");
  CHECK(read<SyslogOptions>("syslog:unix:/run/s.sock").socket == "/run/s.sock");
  const auto named = read<SyslogOptions>("syslog:udp://logs.example.com:514");
  CHECK(named.socket.empty());
  CHECK(named.host == "logs.example.com");
  CHECK(named.port == 514);
  CHECK(read<SyslogOptions>("syslog:udp://10.0.0.1:1").host == "10.0.0.1");
  const auto six = read<SyslogOptions>("syslog:udp://[fd00::1]:5514");
  CHECK(six.host == "fd00::1");
  CHECK(six.port == 5514);
  const auto stream = read<SyslogStreamOptions>("syslog:tcp://logs.example.com:601");
  CHECK(stream.host == "logs.example.com");
  CHECK(stream.port == 601);
  CHECK(read<SyslogStreamOptions>("syslog:tcp://[fd00::1]:601").host == "fd00::1");
}

TEST_CASE("What names no destination gets the rule that it breaks") {
  const std::pair<std::string, std::string> cases[] = {
      {"", "must be stdout, stderr, file:PATH"},
      {"STDOUT", "must be stdout, stderr, file:PATH"},
      {"/var/log/d.log", "must be stdout, stderr, file:PATH"},
      {"syslog:tls://h:1", "syslog:udp://HOST:PORT or syslog:tcp://HOST:PORT"},
      {"syslog:", "must be stdout"},
      {"file:", "must name a file by an absolute path"},
      {"file:d.log", "must name a file by an absolute path"},
      {"file:/var/log/", "must name a file by an absolute path"},
      {"syslog:unix:s.sock", "must name a socket by an absolute path of at most 107 bytes"},
      {"syslog:unix:/" + std::string(107, 'x'), "must name a socket by an absolute path of at most 107 bytes"},
      {"syslog:udp://h", "must name a host and a port"},
      {"syslog:udp://:514", "must name a host and a port"},
      {"syslog:udp://h:0", "must name a host and a port"},
      {"syslog:udp://h:65536", "must name a host and a port"},
      {"syslog:udp://h:5x", "must name a host and a port"},
      {"syslog:udp://h/x:5", "must name a host and a port"},
      {"syslog:udp://fd00::1:5", "must name a host and a port"},
      {"syslog:udp://[h]:5", "must name a host and a port"},
      {"syslog:udp://me@h:5", "must name a host and a port"},
      {"syslog:tcp://h", "must name a host and a port, such as syslog:tcp://logs.example.com:514"},
  };
  for (const auto& [text, rule] : cases) {
    CAPTURE(text);
    const auto destination = parse_destination(text);
    REQUIRE_FALSE(destination.has_value());
    CHECK(destination.error().find(rule) != std::string::npos);
  }
}
