// Messages of syslog (RFC 5424): "<134>1 2024-06-17T20:00:00.123Z HOST sluice-agent 71 decision - TEXT".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::line_sinks {

// local0 is a facility for programs of the site; info is the severity of events without a fault.
inline constexpr int kSyslogPriority = 16 * 8 + 6;

struct SyslogSource {
  std::string host;        // as gethostname(2) tells it
  std::string app;         // the program
  std::int64_t process{};  // its id
  std::string message_id;  // what kind of message: one word
};

// The part after the time, up to the text. A name that RFC 5424 does not allow loses its forbidden characters, and its
// end if it is too long. An empty name is "-".
std::string syslog_source(const SyslogSource& source);

// Writes a message into `message`. `source` comes from syslog_source(). `text` is UTF-8 without control characters,
// as a JSON object is.
void write_syslog_message(std::string& message, std::int64_t now_us, std::string_view source, std::string_view text);

// The same message behind its length in bytes and a space, as a stream of messages needs it (RFC 6587, 3.4.1).
void write_syslog_frame(std::string& frame, std::int64_t now_us, std::string_view source, std::string_view text);

}  // namespace sluice::line_sinks
