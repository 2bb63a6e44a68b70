// Framing, status, time-outs and the budgets of floods.
#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "agent/grpc/check_message.hpp"
#include "common/grpc/message_reader.hpp"
#include "common/grpc/status.hpp"
#include "common/grpc/timeout.hpp"
#include "common/http2/flood_guard.hpp"
#include "tests/unit/grpc/rig.hpp"

using namespace sluice;
using namespace std::chrono_literals;
using grpc::MessageReader;

namespace {

std::string text_of(std::span<char> bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace

TEST_CASE("messages are found however their bytes are cut") {
  std::string body;
  for (const char* message : {"first", "", "third"}) body += grpc::framed(message);
  for (std::size_t piece = 1; piece <= body.size(); ++piece) {
    MessageReader reader;
    reader.begin(5);
    std::string found;
    for (std::size_t at = 0; at < body.size(); at += piece) {
      reader.push(body.substr(at, piece));
      while (reader.next() == MessageReader::Step::message) found += text_of(reader.message()) + "|";
    }
    CHECK(found == "first||third|");
    CHECK(reader.empty());
  }
}

TEST_CASE("a message that is too large, compressed or malformed is refused by its prefix") {
  const auto step_of = [](std::string bytes) {
    MessageReader reader;
    reader.begin(5);
    reader.push(bytes);
    return reader.next();
  };
  using namespace std::string_literals;
  CHECK(step_of("\0\0\0\0\6"s) == MessageReader::Step::too_large);
  CHECK(step_of("\1\0\0\0\1x"s) == MessageReader::Step::compressed);
  CHECK(step_of("\2\0\0\0\1x"s) == MessageReader::Step::malformed);
  CHECK(step_of("\0\0\0\0\5four"s) == MessageReader::Step::need_more);
}

TEST_CASE("grpc-timeout is digits and a unit") {
  CHECK(grpc::parse_timeout("1H") == 3'600'000ms);
  CHECK(grpc::parse_timeout("2M") == 120'000ms);
  CHECK(grpc::parse_timeout("3S") == 3'000ms);
  CHECK(grpc::parse_timeout("4m") == 4ms);
  CHECK(grpc::parse_timeout("5u") == 1ms);
  CHECK(grpc::parse_timeout("1000001n") == 2ms);
  CHECK(grpc::parse_timeout("99999999H").has_value());
  for (const char* text : {"", "S", "5", "-1S", "1x", "123456789S", " 1S"}) CHECK_FALSE(grpc::parse_timeout(text));
}

TEST_CASE("messages of a status are percent-encoded, and details are base64 without padding") {
  std::string message;
  grpc::append_message("50% \xC3\xA4\n", message);
  CHECK(message == "50%25 %C3%A4%0A");
  std::string details;
  grpc::append_binary("ab", details);
  CHECK(details == "YWI");
  CHECK(grpc::to_string(grpc::Code::unauthenticated) == "UNAUTHENTICATED");
  CHECK(grpc::number_of(grpc::Code::unauthenticated) == "16");
}

TEST_CASE("a budget of frames ends, and ticks and answers give it back") {
  const http2::SessionLimits limits{
      .resets = 2, .resets_per_tick = 1, .control_frames = 20, .control_frames_per_tick = 1};
  http2::FloodGuard guard(limits);
  CHECK(guard.take_reset());
  CHECK(guard.take_reset());
  CHECK_FALSE(guard.take_reset());
  guard.tick();
  CHECK(guard.take_reset());
  CHECK_FALSE(guard.take_reset());
  for (int i = 0; i < 20; ++i) CHECK(guard.take_control_frame());
  CHECK_FALSE(guard.take_control_frame());
  guard.answered();
  for (int i = 0; i < 16; ++i) CHECK(guard.take_control_frame());
  CHECK_FALSE(guard.take_control_frame());
}

TEST_CASE("a check is read from its message, and unknown fields are skipped") {
  using namespace std::string_literals;
  agent::rpc::CheckMessage check;
  std::string message = "\x12\2me"s + "\x18\3"s + "\x32\x0A\n\3env\x12\3dev"s + "\x68\1"s + "\xF8\x07\1"s;
  CHECK(agent::rpc::read_check(message, check).empty());
  CHECK(check.request.find({Dimension::subject, {}})->text == "me");
  CHECK(check.request.find({Dimension::tag, "env"})->text == "dev");
  CHECK(check.request.requests == 3);
  CHECK(check.deny_with_status);
  std::string cut = "\x12\x09me"s;
  const auto faults = agent::rpc::read_check(cut, check);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].status == 400);
}
