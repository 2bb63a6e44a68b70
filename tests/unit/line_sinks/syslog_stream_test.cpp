#include "common/line_sinks/syslog_stream.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/line_sinks/stream_receiver.hpp"

using namespace sluice;
using namespace sluice::line_sinks;
using namespace std::chrono_literals;

namespace {

using Lines = std::vector<std::string>;

// A sink with a driven clock, and its last message.
class Stream {
 public:
  explicit Stream(std::uint16_t port, const std::string& host = "127.0.0.1")
      : sink_({.host = host, .port = port}, " h a 1 m - ", [this] { return now_; }) {}

  telemetry::LineSink::Written write(std::string_view text) {
    auto written = sink_.write(text);
    lost_ += written.lost;
    return written;
  }
  std::string fault(std::string_view text) {
    const auto written = write(text);
    return written.error ? written.error->code : "";
  }
  void pass(SyslogStream::Time::duration time) { now_ += time; }
  std::uint64_t lost() const { return lost_; }

 private:
  SyslogStream::Time now_{1h};
  SyslogStream sink_;
  std::uint64_t lost_ = 0;
};

// Until the other side of a loopback connection has seen what was done here.
bool becomes_true(auto condition) {
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
  }
  return true;
}

// A port at which nobody listens.
std::uint16_t closed_port() { return StreamReceiver().port(); }

}  // namespace

TEST_CASE("Each line is a message behind its length") {
  StreamReceiver receiver;
  Stream stream(receiver.port());
  CHECK(stream.write("{}\n{\"a\":\"\xc3\xa4\"}\n").bytes == 14);
  receiver.accept();
  CHECK(becomes_true([&] { return receiver.lines().size() == 2; }));
  CHECK(receiver.lines() == Lines{"{}", "{\"a\":\"\xc3\xa4\"}"});
  CHECK(receiver.text().find(" <134>1 ") == 2);
  CHECK(stream.lost() == 0);
}

TEST_CASE("A host name is looked up") {
  StreamReceiver receiver;
  Stream stream(receiver.port(), "localhost");
  CHECK(stream.fault("{}\n").empty());
  receiver.accept();
  CHECK(becomes_true([&] { return receiver.lines() == Lines{"{}"}; }));
  CHECK(Stream(1, "no.such.host.invalid").fault("{}\n") == "syslog_not_connected");
}

TEST_CASE("A peer that reads slowly gets every line once") {
  StreamReceiver receiver(0, 4096);
  Stream stream(receiver.port());
  Lines sent;
  std::string text;
  for (int i = 0; i < 4000; ++i) text += sent.emplace_back(std::to_string(i) + std::string(200, 'x')) + "\n";
  std::string_view rest = text;
  rest.remove_prefix(stream.write(rest).bytes);
  CHECK_FALSE(rest.empty());  // more than the buffers of both sides hold
  receiver.accept();
  CHECK(becomes_true([&] {
    receiver.read(64 << 10);
    const auto written = stream.write(rest);
    CHECK_FALSE(written.error.has_value());
    rest.remove_prefix(written.bytes);
    return rest.empty();
  }));
  CHECK(becomes_true([&] { return receiver.lines().size() == sent.size(); }));
  CHECK(receiver.lines() == sent);
  CHECK(stream.lost() == 0);
}

TEST_CASE("A peer that closed between two lines is noticed before the second") {
  StreamReceiver receiver;
  Stream stream(receiver.port());
  CHECK(stream.fault("first\n").empty());
  receiver.accept();
  CHECK(becomes_true([&] { return receiver.lines().size() == 1; }));
  receiver.hang_up();
  stream.pass(SyslogStream::kSettled);
  CHECK(stream.fault("second\n").empty());
  receiver.accept();
  CHECK(becomes_true([&] { return receiver.lines() == Lines{"second"}; }));
  CHECK(stream.lost() == 0);
}

TEST_CASE("What the peer says is thrown away") {
  StreamReceiver receiver;
  Stream stream(receiver.port());
  CHECK(stream.fault("first\n").empty());
  receiver.accept();
  receiver.say(std::string(2000, '?'));
  for (int i = 0; i < 10; ++i) CHECK(stream.fault("line\n").empty());
  CHECK(becomes_true([&] { return receiver.lines().size() == 11; }));
}

TEST_CASE(
    "A broken connection costs the lines that were not acknowledged, counts them, and repeats the one it divided") {
  StreamReceiver receiver(0, 4096);
  Stream stream(receiver.port());
  constexpr std::size_t kLine = 1000;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::string(kLine - 1, 'x') + "\n";
  std::string_view rest = text;
  std::size_t sent = 0;
  for (auto written = stream.write(rest); written.bytes > 0; written = stream.write(rest)) {
    rest.remove_prefix(written.bytes);
    sent += written.bytes / kLine;
  }
  receiver.accept();
  receiver.read(100);
  receiver.hang_up();
  stream.pass(SyslogStream::kSettled);
  auto written = stream.write(rest);  // on a new connection, perhaps after the fault was told
  if (written.error) written = stream.write(rest);
  REQUIRE_FALSE(written.error.has_value());
  CHECK(stream.lost() > 0);
  CHECK(stream.lost() < sent);
  receiver.accept();
  REQUIRE(becomes_true([&] { return !receiver.lines().empty(); }));
  CHECK(receiver.lines().front() == std::string(kLine - 1, 'x'));
}

TEST_CASE("Attempts wait for the back-off, and tell the last fault meanwhile") {
  const std::uint16_t port = closed_port();
  Stream stream(port);
  CHECK(stream.fault("{}\n") == "syslog_not_connected");
  // With every attempt the ceiling of the delay doubles, so most of these writes try nothing.
  for (int i = 0; i < 20; ++i) {
    stream.pass(SyslogStream::kLongestDelay);
    CHECK(stream.fault("{}\n") == "syslog_not_connected");
  }
  StreamReceiver receiver(port);
  int refused = 0;
  for (int i = 0; i < 1000 && stream.fault("{}\n") == "syslog_not_connected"; ++i) {
    ++refused;
    stream.pass(15ms);
  }
  INFO("refused: ", refused);
  CHECK(receiver.is_called());
  stream.pass(SyslogStream::kLongestDelay);
  CHECK(stream.fault("{}\n").empty());
}

TEST_CASE("A peer that closes each connection at once is called by the back-off only") {
  StreamReceiver receiver;
  Stream stream(receiver.port());
  int calls = 0;
  for (int i = 0; i < 600; ++i) {  // a minute
    stream.write("{}\n");
    if (receiver.is_called()) {
      ++calls;
      receiver.accept();
      CHECK(becomes_true([&] { return !receiver.lines().empty(); }));
      receiver.hang_up();
    }
    stream.pass(100ms);
  }
  CHECK(calls > 2);
  CHECK(calls < 60);
}
