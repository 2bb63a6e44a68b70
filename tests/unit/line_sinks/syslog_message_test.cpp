#include "common/line_sinks/syslog_message.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sluice::line_sinks;

namespace {

constexpr std::int64_t kNow = 1'718'654'400'123'000;

std::string message(const SyslogSource& source, std::string_view text = "{}") {
  std::string written = "left over";
  write_syslog_message(written, kNow, syslog_source(source), text);
  return written;
}

}  // namespace

TEST_CASE("A message of syslog has the fields of RFC 5424") {
  CHECK(message({.host = "node-1", .app = "sluice-agent", .process = 71, .message_id = "decision"},
                R"({"event":"check"})") ==
        R"(<134>1 2024-06-17T20:00:00.123Z node-1 sluice-agent 71 decision - {"event":"check"})");
}

TEST_CASE("What is not known is a dash") {
  CHECK(message({.host = "", .app = "", .process = 1, .message_id = ""}) ==
        "<134>1 2024-06-17T20:00:00.123Z - - 1 - - {}");
}

TEST_CASE("Names keep to the characters and lengths that RFC 5424 allows") {
  const std::string host = "no de\n\xc3\xa4" + std::string(300, 'h');
  CHECK(message({.host = host, .app = std::string(50, 'a'), .process = 1, .message_id = std::string(33, 'm')}) ==
        "<134>1 2024-06-17T20:00:00.123Z node" + std::string(251, 'h') + " " + std::string(48, 'a') + " 1 " +
            std::string(32, 'm') + " - {}");
}

TEST_CASE("A frame begins with the length of its message in bytes") {
  std::string frame = "left over";
  write_syslog_frame(frame, kNow, syslog_source({.host = "h", .app = "a", .process = 1, .message_id = "m"}),
                     "{\"a\":\"\xc3\xa4\"}");
  CHECK(frame == "52 <134>1 2024-06-17T20:00:00.123Z h a 1 m - {\"a\":\"\xc3\xa4\"}");
}
