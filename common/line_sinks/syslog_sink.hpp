// Sends each line as one message of RFC 5424 in a datagram, to a Unix socket or over UDP.
//
// - A line that the socket does not take now waits. If the socket is gone, the sink connects again: syslogd makes a new
//   one when it restarts.
// - UDP tells of nothing that is lost on the way, so those lines are not counted.
// - A line that is too long for a datagram is lost.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/clock.hpp"
#include "common/base/error.hpp"
#include "common/base/file_descriptor.hpp"
#include "common/telemetry/line_sink.hpp"

namespace sluice::line_sinks {

struct SyslogOptions {
  std::string socket{};    // path of a Unix socket; "" for UDP
  std::string host{};      // a name, or an IP address without brackets
  std::uint16_t port = 0;  // of UDP
};

class SyslogSink final : public telemetry::LineSink {
 public:
  // `source`: from syslog_source().
  SyslogSink(SyslogOptions options, std::string source);

  // Errors: syslog_not_connected, syslog_not_sent, syslog_line_too_long. Looking up a host name may take seconds.
  Written write(std::string_view text) override;

 private:
  Result<> connect();
  Result<> connect_unix();
  Result<> connect_udp();
  // Sends one line, or reports in `written` why not. Returns whether the next line may follow.
  bool send(std::string_view line, Written& written);
  Error because(std::string code, int cause) const;

  const SyslogOptions options_;
  const std::string source_;
  const SystemClock clock_;
  FileDescriptor socket_;
  std::string message_;
};

}  // namespace sluice::line_sinks
