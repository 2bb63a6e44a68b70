#include "common/line_sinks/syslog_message.hpp"

#include <chrono>
#include <iterator>

#include <fmt/core.h>

#include "common/base/clock.hpp"
#include "common/base/timestamp.hpp"

namespace sluice::line_sinks {
namespace {

// Lengths of RFC 5424, section 6.
constexpr std::size_t kLongestHost = 255;
constexpr std::size_t kLongestApp = 48;
constexpr std::size_t kLongestMessageId = 32;

std::string word(std::string_view text, std::size_t longest) {
  std::string found;
  for (const char c : text) {
    if (c > ' ' && c <= '~' && found.size() < longest) found.push_back(c);
  }
  return found.empty() ? "-" : found;
}

}  // namespace

std::string syslog_source(const SyslogSource& source) {
  return fmt::format(" {} {} {} {} - ", word(source.host, kLongestHost), word(source.app, kLongestApp), source.process,
                     word(source.message_id, kLongestMessageId));
}

void write_syslog_message(std::string& message, std::int64_t now_us, std::string_view source, std::string_view text) {
  message.clear();
  fmt::format_to(std::back_inserter(message), "<{}>1 {}", kSyslogPriority,
                 format_timestamp(WallTime(std::chrono::microseconds(now_us))));
  message.append(source).append(text);
}

void write_syslog_frame(std::string& frame, std::int64_t now_us, std::string_view source, std::string_view text) {
  write_syslog_message(frame, now_us, source, text);
  frame.insert(0, fmt::format("{} ", frame.size()));
}

}  // namespace sluice::line_sinks
