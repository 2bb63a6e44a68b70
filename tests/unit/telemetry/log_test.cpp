#include "common/telemetry/log.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "common/base/timestamp.hpp"
#include "common/json/tree.hpp"
#include "tests/unit/telemetry/pipe.hpp"

using namespace sluice::telemetry;

namespace {

// What `write` makes a log of `level` put out.
template <class Write>
std::vector<std::string> lines_of(LogLevel level, Write write, LogFormat format = LogFormat::json) {
  Pipe pipe;
  LineWriter out(pipe.writer());
  Log log(out, level, format);
  write(log);
  out.stop();
  pipe.close_writer();
  return pipe.read_lines();
}

// A line read back.
class Parsed {
 public:
  explicit Parsed(const std::string& line) {
    const auto root = tree_.parse(line);
    REQUIRE(root.has_value());
    REQUIRE(root->type() == sluice::json::Type::object);
    root_ = *root;
  }
  std::size_t size() const { return root_.members().size(); }
  sluice::json::Value operator[](std::string_view name) const {
    for (const sluice::json::Member& member : root_.members()) {
      if (member.name == name && !member.duplicate) return member.value;
    }
    FAIL("no member " << name);
    return {};
  }
  std::string text(std::string_view name) const { return std::string((*this)[name].text()); }

 private:
  sluice::json::Tree tree_;
  sluice::json::Value root_;
};

}  // namespace

TEST_CASE("A log line is one JSON object with time, level, event, message and its fields") {
  const auto lines = lines_of(LogLevel::info, [](Log& log) {
    log.info(
        "listening", "Listening for checks.",
        {{"address", "127.0.0.1:8088"}, {"workers", 2}, {"unix", false}, {"share", 0.5}, {"path", std::string("/x")}});
  });
  REQUIRE(lines.size() == 1);
  const Parsed line(lines[0]);
  CHECK(line.size() == 9);
  CHECK(line.text("level") == "info");
  CHECK(line.text("event") == "listening");
  CHECK(line.text("message") == "Listening for checks.");
  CHECK(line.text("address") == "127.0.0.1:8088");
  CHECK(line.text("path") == "/x");
  CHECK(line.text("workers") == "2");
  CHECK(line["unix"].type() == sluice::json::Type::boolean);
  CHECK_FALSE(line["unix"].boolean());
  CHECK(line.text("share") == "0.5");
}

TEST_CASE("The time is RFC 3339 in UTC with milliseconds") {
  const auto lines = lines_of(LogLevel::info, [](Log& log) { log.info("e", "m"); });
  const std::string time = Parsed(lines.at(0)).text("time");
  CHECK(time.size() == 24);
  CHECK(time.ends_with("Z"));
  CHECK(time[19] == '.');
  const auto read = sluice::parse_timestamp(time);
  REQUIRE(read.has_value());
  const auto away = std::chrono::system_clock::now() - *read;
  CHECK(away < std::chrono::minutes(1));
  CHECK(away > -std::chrono::minutes(1));
}

TEST_CASE("Text from outside cannot forge a line, a field or a terminal sequence") {
  const std::string hostile = "x\"}\n{\"level\":\"error\"\r\x1b[31m{}%v\\ \xFF";
  const auto lines = lines_of(LogLevel::info, [&](Log& log) {
    log.info(hostile, hostile, {{"value", hostile}});
    log.info("plain", "{} {0} %v %l", {});
  });
  REQUIRE(lines.size() == 2);
  const Parsed line(lines[0]);
  CHECK(line.size() == 5);
  CHECK(line.text("value") == "x\"}\n{\"level\":\"error\"\r\x1b[31m{}%v\\ \xEF\xBF\xBD");
  CHECK(line.text("message") == line.text("value"));
  CHECK(lines[0].find('\x1b') == std::string::npos);
  CHECK(Parsed(lines[1]).text("message") == "{} {0} %v %l");
}

TEST_CASE("Lines below the level are not written") {
  constexpr LogLevel kLevels[] = {LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error};
  for (std::size_t level = 0; level < 4; ++level) {
    const auto lines = lines_of(kLevels[level], [](Log& log) {
      log.debug("e", "debug");
      log.info("e", "info");
      log.warn("e", "warn");
      log.error("e", "error");
    });
    CHECK(lines.size() == 4 - level);
    CHECK(Parsed(lines.at(0)).text("level") == to_string(kLevels[level]));
  }
}

TEST_CASE("A number that JSON has no form for is written as null") {
  const auto lines = lines_of(LogLevel::info, [](Log& log) {
    log.info("e", "m",
             {{"a", std::numeric_limits<double>::infinity()}, {"b", std::numeric_limits<double>::quiet_NaN()}});
  });
  const Parsed line(lines.at(0));
  CHECK(line["a"].type() == sluice::json::Type::null);
  CHECK(line["b"].type() == sluice::json::Type::null);
}

TEST_CASE("Log levels are read by their names only") {
  for (const LogLevel level : {LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error}) {
    CHECK(parse_log_level(to_string(level)) == level);
  }
  for (const std::string_view text : {"", "INFO", "warning", "trace", "info ", "0"}) CHECK_FALSE(parse_log_level(text));
}

TEST_CASE("A line of text has the time, the level, the event, the message and the fields") {
  const auto lines = lines_of(
      LogLevel::info,
      [](Log& log) {
        log.warn("redis_disconnected", "The connection to \"Redis\" is lost.",
                 {{"worker", 2}, {"code", "refused"}, {"reason", "it is away"}, {"ready", false}, {"empty", ""}});
        log.info("e", "m");
      },
      LogFormat::text);
  REQUIRE(lines.size() == 2);
  const std::string& line = lines[0];
  CHECK(line.substr(25) ==
        "WARN  redis_disconnected  The connection to \"Redis\" is lost.  worker=2 code=refused "
        "reason=\"it is away\" ready=false empty=\"\"");
  CHECK(lines[1].substr(25) == "INFO  e  m");
  CHECK(line[10] == ' ');
  const auto read = sluice::parse_timestamp(line.substr(0, 10) + "T" + line.substr(11, 13));
  REQUIRE(read.has_value());
  CHECK(std::chrono::abs(std::chrono::system_clock::now() - *read) < std::chrono::minutes(1));
}

TEST_CASE("In a line of text, text from outside can forge neither a line nor a field nor a terminal sequence") {
  const std::string hostile = "x\nERROR\r\x1b[31m \xC2\x9B a=b \x9B";
  const auto lines = lines_of(
      LogLevel::info,
      [&](Log& log) {
        log.info(hostile, hostile, {{"value", hostile}});
        log.info("plain", "{} %v", {{"value", "a=b"}, {"other", "x other=y"}});
      },
      LogFormat::text);
  REQUIRE(lines.size() == 2);
  for (const std::string_view bad : {"\r", "\x1b", "\x9B"}) CHECK(lines[0].find(bad) == std::string::npos);
  CHECK(lines[1].ends_with(R"(plain  {} %v  value="a=b" other="x other=y")"));
}

TEST_CASE("Log formats are read by their names only, and auto is JSON where nobody reads on a terminal") {
  Pipe pipe;
  CHECK(parse_log_format("json", pipe.writer()) == LogFormat::json);
  CHECK(parse_log_format("text", pipe.writer()) == LogFormat::text);
  CHECK(parse_log_format("auto", pipe.writer()) == LogFormat::json);
  for (const std::string_view text : {"", "JSON", "plain", "text "}) CHECK_FALSE(parse_log_format(text, pipe.writer()));
}
