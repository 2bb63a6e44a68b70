// The pipeline driven by hand: order, deadlines, ends, garbage.
#include "common/redis/pipeline.hpp"

#include <doctest/doctest.h>

#include <array>
#include <deque>
#include <string>
#include <string_view>

#include "tests/unit/redis/recorder.hpp"

namespace sluice::redis::test {
namespace {

using namespace std::chrono_literals;
using TimePoint = Pipeline::TimePoint;

constexpr TimePoint kStart{1000s};

// A pipeline whose commands have 25 ms. Tells the commands directly.
struct Rig final : Pipeline::Receiver {
  void on_reply(Command& command, const Reply& reply) override { command.on_reply(reply); }
  void on_no_reply(Command& command, FailureKind kind) override { command.on_failure({kind, true}); }

  void send(Recorder& command, TimePoint now = kStart) { pipeline.sent(command, now, now + 25ms); }
  void feed(std::string_view bytes, TimePoint now = kStart) { REQUIRE(pipeline.feed(bytes, now)); }

  Pipeline pipeline{50ms, *this};
};

TEST_CASE("replies come back in the order of their commands") {
  Rig rig;
  std::array<Recorder, 3> commands;
  for (Recorder& command : commands) rig.send(command);
  CHECK(rig.pipeline.live() == 3);
  rig.feed("+a\r\n:2\r\n-ERR c\r\n");
  CHECK(commands[0].told == Told{"+a"});
  CHECK(commands[1].told == Told{":2"});
  CHECK(commands[2].told == Told{"-ERR c"});
  CHECK(rig.pipeline.live() == 0);
  CHECK(rig.pipeline.owed() == 0);
}

TEST_CASE("replies cut at any byte are put together") {
  const std::string replies = "+OK\r\n$5\r\nhe\r\nl\r\n*3\r\n:-7\r\n$-1\r\n*2\r\n$0\r\n\r\n-ERR no\r\n:123\r\n";
  const std::array<std::string, 4> expected{"+OK", "$he\r\nl", "[:-7 nil [$ -ERR no]]", ":123"};
  for (std::size_t cut = 0; cut <= replies.size(); ++cut) {
    for (std::size_t second = cut; second <= replies.size(); ++second) {
      Rig rig;
      std::array<Recorder, 4> commands;
      for (Recorder& command : commands) rig.send(command);
      rig.feed(std::string_view(replies).substr(0, cut));
      rig.feed(std::string_view(replies).substr(cut, second - cut));
      rig.feed(std::string_view(replies).substr(second));
      for (std::size_t i = 0; i < commands.size(); ++i) REQUIRE(commands[i].told == Told{expected[i]});
    }
  }
}

TEST_CASE("an overdue command is told so, keeps its slot, and its late reply goes to nobody") {
  Rig rig;
  std::array<Recorder, 3> commands;
  rig.pipeline.sent(commands[0], kStart, kStart + 25ms);
  rig.pipeline.sent(commands[1], kStart, kStart + 30ms);
  rig.pipeline.sent(commands[2], kStart, kStart + 26ms);
  CHECK(rig.pipeline.next_event() == kStart + 25ms);

  CHECK(rig.pipeline.expire(kStart + 25ms - 1ns));
  CHECK(commands[0].told.empty());

  CHECK(rig.pipeline.expire(kStart + 27ms));
  CHECK(commands[0].told == Told{"timeout unknown"});
  CHECK(commands[1].told.empty());
  CHECK(commands[2].told == Told{"timeout unknown"});
  CHECK(rig.pipeline.next_event() == kStart + 30ms);
  CHECK(rig.pipeline.live() == 1);
  CHECK(rig.pipeline.owed() == 3);

  rig.feed("+a\r\n+b\r\n+c\r\n", kStart + 28ms);
  CHECK(commands[0].told.size() == 1);
  CHECK(commands[1].told == Told{"+b"});
  CHECK(commands[2].told.size() == 1);
  CHECK(rig.pipeline.take_fastest() == 28ms);  // of a reply that came too late, too
  CHECK(rig.pipeline.take_fastest() == Pipeline::Duration::max());
  CHECK(rig.pipeline.expire(kStart + 1h));  // nothing is owed any more
  CHECK(rig.pipeline.next_event() == TimePoint::max());
}

TEST_CASE("the connection is given up when nothing arrives for 50 ms while a reply is owed") {
  Rig rig;
  Recorder first;
  Recorder second;
  rig.pipeline.sent(first, kStart + 10ms, kStart + 25ms);
  rig.pipeline.sent(second, kStart + 45ms, kStart + 70ms);
  CHECK(rig.pipeline.expire(kStart + 60ms - 1ns));
  CHECK(rig.pipeline.next_event() == kStart + 60ms);  // also with the first abandoned
  CHECK_FALSE(rig.pipeline.expire(kStart + 60ms));

  SUBCASE("but every byte shows that it lives, however old the oldest command is") {
    rig.feed("+la", kStart + 58ms);
    CHECK(rig.pipeline.expire(kStart + 60ms));
    rig.feed("te\r\n", kStart + 80ms);
    CHECK(rig.pipeline.expire(kStart + 130ms - 1ns));
    CHECK_FALSE(rig.pipeline.expire(kStart + 130ms));
  }
  SUBCASE("and silence before the oldest command was sent does not count") {
    rig.feed("+a\r\n+b\r\n", kStart + 50ms);
    Recorder third;
    rig.send(third, kStart + 200ms);
    CHECK(rig.pipeline.expire(kStart + 250ms - 1ns));
    CHECK_FALSE(rig.pipeline.expire(kStart + 250ms));
  }
}

TEST_CASE("a command with a longer deadline of its own is owed that before the connection is given up") {
  Rig rig;
  Recorder command;
  rig.pipeline.sent(command, kStart, kStart + 300ms);
  CHECK(rig.pipeline.expire(kStart + 299ms));
  CHECK(command.told.empty());
  CHECK_FALSE(rig.pipeline.expire(kStart + 300ms));
}

TEST_CASE("a disconnect fails what was sent, and forgets half a reply") {
  Rig rig;
  std::array<Recorder, 3> commands;
  rig.send(commands[0]);
  rig.send(commands[1]);
  rig.feed("+a\r\n$100\r\nhalf a reply");
  rig.pipeline.disconnect(FailureKind::disconnected);
  CHECK(commands[0].told == Told{"+a"});
  CHECK(commands[1].told == Told{"disconnected unknown"});
  rig.send(commands[2]);
  rig.feed("+c\r\n");
  CHECK(commands[2].told == Told{"+c"});
}

TEST_CASE("an abandoned slot is not told again when the connection breaks") {
  Rig rig;
  Recorder command;
  rig.send(command);
  rig.pipeline.expire(kStart + 25ms);
  rig.pipeline.disconnect(FailureKind::disconnected);
  CHECK(command.told == Told{"timeout unknown"});
  CHECK(rig.pipeline.live() == 0);
}

TEST_CASE("the commands of a write that failed are taken back, the latest first, except the abandoned") {
  Rig rig;
  std::array<Recorder, 4> commands;
  rig.pipeline.begin_write();
  rig.send(commands[0]);
  rig.pipeline.begin_write();
  rig.send(commands[1]);
  rig.pipeline.sent(commands[2], kStart, kStart + 5ms);
  rig.send(commands[3]);
  rig.pipeline.expire(kStart + 5ms);
  CHECK(rig.pipeline.take_back() == &commands[3]);
  CHECK(rig.pipeline.take_back() == &commands[1]);
  CHECK(rig.pipeline.take_back() == nullptr);
  rig.pipeline.disconnect(FailureKind::disconnected);
  CHECK(commands[0].told == Told{"disconnected unknown"});
  CHECK(commands[1].told.empty());
  CHECK(commands[2].told == Told{"timeout unknown"});
  CHECK(commands[3].told.empty());
}

TEST_CASE("a command that was answered before it was written is not taken back") {
  Rig rig;
  std::array<Recorder, 2> commands;
  rig.pipeline.begin_write();
  for (Recorder& command : commands) rig.send(command);
  rig.feed("+invented\r\n");
  CHECK(rig.pipeline.take_back() == &commands[1]);
  CHECK(rig.pipeline.take_back() == nullptr);
  CHECK(commands[0].told == Told{"+invented"});
}

TEST_CASE("garbage is a protocol failure, and stays one until the connection is replaced") {
  for (const std::string_view garbage :
       {"HTTP/1.1 400 Bad Request\r\n", "\r\n", "%1\r\n+a\r\n+b\r\n", ">1\r\n+a\r\n", "_\r\n", ":12x\r\n", ":\r\n",
        "$x\r\n", "$-2\r\n", "*-2\r\n", "*x\r\n", "*4294967296\r\n", "$3\r\nabcdefgh\r\n", ":99999999999999999999\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"}) {
    CAPTURE(garbage);
    Rig rig;
    Recorder command;
    rig.send(command);
    const Result<> result = rig.pipeline.feed(garbage, kStart);
    REQUIRE_FALSE(result);
    CHECK(result.error().code == "protocol");
    CHECK_FALSE(rig.pipeline.feed("+a\r\n", kStart));
    rig.pipeline.disconnect(FailureKind::protocol);
    CHECK(command.told == Told{"protocol unknown"});

    Recorder next;
    rig.send(next);
    rig.feed("+b\r\n");
    CHECK(next.told == Told{"+b"});
  }
}

TEST_CASE("a reply without a command is a protocol failure") {
  Rig rig;
  CHECK_FALSE(rig.pipeline.feed("+too early\r\n", kStart));
}

TEST_CASE("ten thousand replies in one piece are paired one by one") {
  Rig rig;
  std::deque<Recorder> commands(10000);
  std::string replies;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    rig.send(commands[i]);
    replies += ":" + std::to_string(i) + "\r\n";
  }
  rig.feed(replies);
  for (std::size_t i = 0; i < commands.size(); ++i) REQUIRE(commands[i].told == Told{":" + std::to_string(i)});
}

TEST_CASE(
    "after a disconnect from inside a reply, the old connection's bytes reach nobody, and the reply is readable") {
  Rig rig;
  class Demoted final : public Command {
   public:
    explicit Demoted(Pipeline& pipeline) : pipeline_(pipeline) {}
    void write(CommandWriter&, CallBy) override {}
    void on_reply(const Reply& reply) override {
      pipeline_.disconnect(FailureKind::disconnected);
      seen = std::string(reply.text);  // after it: an address sanitizer would see freed memory
    }
    void on_failure(Failure) override {}
    std::string seen;

   private:
    Pipeline& pipeline_;
  } first(rig.pipeline);
  Recorder second;
  Recorder next;
  rig.pipeline.sent(first, kStart, kStart + 25ms);
  rig.send(second);
  rig.feed("-READONLY You can't write against a read only replica.\r\n+b\r\n" + std::string(20000, 'x'));
  CHECK(first.seen == "READONLY You can't write against a read only replica.");
  CHECK(second.told == Told{"disconnected unknown"});
  rig.send(next);
  rig.feed("+c\r\n");
  CHECK(next.told == Told{"+c"});
}

}  // namespace
}  // namespace sluice::redis::test
