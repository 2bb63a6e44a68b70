// Reads the value of --decision-log-to, and makes what it names.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "common/line_sinks/file_sink.hpp"
#include "common/line_sinks/syslog_sink.hpp"
#include "common/line_sinks/syslog_stream.hpp"
#include "common/telemetry/line_sink.hpp"

namespace sluice::line_sinks {

struct Descriptor {
  int fd = -1;
};

using Destination = std::variant<Descriptor, FileOptions, SyslogOptions, SyslogStreamOptions>;

// Reads "stdout", "stderr", "file:PATH", "syslog" (which is /dev/log), "syslog:unix:PATH", "syslog:udp://HOST:PORT" or
// "syslog:tcp://HOST:PORT". A path must be absolute: a program does not always start in the same folder. The error is
// the rule that the text breaks, and the fix; it completes a sentence that begins with the flag and its value.
std::expected<Destination, std::string> parse_destination(std::string_view text);

// A sink whose syslog messages name this host, the program `app`, this process and `message_id`.
std::unique_ptr<telemetry::LineSink> make_sink(const Destination& destination, std::string_view app,
                                               std::string_view message_id);

}  // namespace sluice::line_sinks
