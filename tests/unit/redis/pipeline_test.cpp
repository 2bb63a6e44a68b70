// The pipeline driven by hand: order, deadlines, ends, garbage.
#include <doctest/doctest.h>

#include <array>
#include <deque>

#include "tests/unit/redis/pipeline_rig.hpp"

namespace sluice::redis::test {
namespace {

TEST_CASE("commands begun in one turn go out in one buffer, in order, and replies come back in order") {
  Rig rig;
  std::array<Recorder, 3> handlers;
  rig.begin(handlers[0], "A");
  rig.begin(handlers[1], "B");
  rig.begin(handlers[2], "C");
  CHECK(rig.pipeline.in_flight() == 3);
  CHECK(rig.send() == command("A") + command("B") + command("C"));
  CHECK_FALSE(rig.pipeline.take_output(rig.out, kStart));

  rig.feed("+a\r\n:2\r\n-ERR c\r\n");
  CHECK(handlers[0].told == Told{"+a"});
  CHECK(handlers[1].told == Told{":2"});
  CHECK(handlers[2].told == Told{"-ERR c"});
  CHECK(rig.pipeline.in_flight() == 0);
}

TEST_CASE("commands begun while others are under way wait for the next output") {
  Rig rig;
  Recorder first;
  Recorder second;
  rig.begin(first, "A");
  CHECK(rig.send() == command("A"));
  rig.begin(second, "B");
  CHECK(rig.send() == command("B"));
  rig.feed("+a\r\n+b\r\n");
  CHECK(first.told == Told{"+a"});
  CHECK(second.told == Told{"+b"});
}

TEST_CASE("replies cut at any byte are put together") {
  const std::string replies = "+OK\r\n$5\r\nhe\r\nl\r\n*3\r\n:-7\r\n$-1\r\n*2\r\n$0\r\n\r\n-ERR no\r\n:123\r\n";
  const std::array<std::string, 4> expected{"+OK", "$he\r\nl", "[:-7 nil [$ -ERR no]]", ":123"};
  for (std::size_t cut = 0; cut <= replies.size(); ++cut) {
    for (std::size_t second = cut; second <= replies.size(); ++second) {
      Rig rig;
      std::array<Recorder, 4> handlers;
      for (Recorder& handler : handlers) rig.begin(handler, "X");
      rig.send();
      rig.feed(std::string_view(replies).substr(0, cut));
      rig.feed(std::string_view(replies).substr(cut, second - cut));
      rig.feed(std::string_view(replies).substr(second));
      for (std::size_t i = 0; i < handlers.size(); ++i) REQUIRE(handlers[i].told == Told{expected[i]});
    }
  }
}

TEST_CASE("an overdue command is told so, keeps its slot, and its late reply goes to nobody") {
  Rig rig;
  std::array<Recorder, 3> handlers;
  rig.begin(handlers[0], "A", kStart + 25ms);
  rig.begin(handlers[1], "B", kStart + 30ms);
  rig.begin(handlers[2], "C", kStart + 26ms);
  rig.send();
  CHECK(rig.pipeline.next_event() == kStart + 25ms);

  CHECK(rig.pipeline.expire(kStart + 25ms - 1ns));
  rig.pipeline.report_failures();
  CHECK(handlers[0].told.empty());

  CHECK(rig.pipeline.expire(kStart + 27ms));
  CHECK(handlers[0].told.empty());  // not from inside expire()
  CHECK(rig.pipeline.in_flight() == 3);
  rig.pipeline.report_failures();
  CHECK(handlers[0].told == Told{"timeout unknown"});
  CHECK(handlers[1].told.empty());
  CHECK(handlers[2].told == Told{"timeout unknown"});
  CHECK(rig.pipeline.next_event() == kStart + 30ms);
  CHECK(rig.pipeline.in_flight() == 1);

  rig.feed("+a\r\n+b\r\n+c\r\n");
  CHECK(handlers[0].told.size() == 1);
  CHECK(handlers[1].told == Told{"+b"});
  CHECK(handlers[2].told.size() == 1);
  CHECK(rig.pipeline.expire(kStart + 1h));  // nothing is owed any more
  CHECK(rig.pipeline.next_event() == TimePoint::max());
}

TEST_CASE("a deadline that passes before the command is sent takes it out of the output, whatever its place") {
  Rig rig;
  std::array<Recorder, 5> handlers;
  rig.begin(handlers[0], "A", kStart + 5ms);
  rig.begin(handlers[1], "BB", kStart + 25ms);
  rig.begin(handlers[2], "CCC", kStart + 5ms);
  rig.begin(handlers[3], "DDDD", kStart + 25ms);
  rig.begin(handlers[4], "EEEEE", kStart + 5ms);
  CHECK(rig.pipeline.expire(kStart + 5ms));
  rig.pipeline.report_failures();
  for (const std::size_t overdue : {0U, 2U, 4U}) CHECK(handlers[overdue].told == Told{"timeout"});

  Recorder late;
  rig.begin(late, "F");
  CHECK(rig.send() == command("BB") + command("DDDD") + command("F"));
  rig.feed("+b\r\n+d\r\n+f\r\n");
  CHECK(handlers[1].told == Told{"+b"});
  CHECK(handlers[3].told == Told{"+d"});
  CHECK(late.told == Told{"+f"});
}

TEST_CASE("the connection is given up when nothing arrives for 50 ms while a reply is owed") {
  Rig rig;
  Recorder first;
  Recorder second;
  rig.begin(first, "A", kStart + 25ms);
  rig.send(kStart + 10ms);
  rig.begin(second, "B", kStart + 70ms);
  rig.send(kStart + 45ms);
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
    rig.begin(third, "C", kStart + 225ms);
    rig.send(kStart + 200ms);
    CHECK(rig.pipeline.expire(kStart + 250ms - 1ns));
    CHECK_FALSE(rig.pipeline.expire(kStart + 250ms));
  }
}

TEST_CASE("a command with a longer deadline of its own is owed that before the connection is given up") {
  Rig rig;
  Recorder handler;
  rig.begin(handler, "SCRIPT", kStart + 300ms);
  rig.send();
  CHECK(rig.pipeline.expire(kStart + 299ms));
  rig.pipeline.report_failures();
  CHECK(handler.told.empty());
  CHECK_FALSE(rig.pipeline.expire(kStart + 300ms));
}

TEST_CASE("what waits long in the queue does not count against the connection") {
  Rig rig;
  Recorder handler;
  rig.begin(handler, "A", kStart + 1h);
  CHECK(rig.pipeline.expire(kStart + 30min));
}

TEST_CASE("a disconnect fails what was sent, and what waits goes to the next connection") {
  Rig rig;
  std::array<Recorder, 3> handlers;
  rig.begin(handlers[0], "A");
  rig.begin(handlers[1], "B");
  rig.send();
  rig.feed("+a\r\n$100\r\nhalf a reply");
  rig.begin(handlers[2], "C");
  rig.pipeline.disconnect(FailureKind::disconnected);
  CHECK(handlers[1].told.empty());
  rig.pipeline.report_failures();
  CHECK(handlers[0].told == Told{"+a"});
  CHECK(handlers[1].told == Told{"disconnected unknown"});
  CHECK(handlers[2].told.empty());

  CHECK(rig.send() == command("C"));
  rig.feed("+c\r\n");  // the half reply was forgotten
  CHECK(handlers[2].told == Told{"+c"});
}

TEST_CASE("an abandoned slot is not told again when the connection breaks") {
  Rig rig;
  Recorder handler;
  rig.begin(handler, "A");
  rig.send();
  rig.pipeline.expire(kStart + 25ms);
  rig.pipeline.disconnect(FailureKind::disconnected);
  rig.pipeline.report_failures();
  CHECK(handler.told == Told{"timeout unknown"});
  CHECK(rig.pipeline.in_flight() == 0);
}

TEST_CASE("what waits can be given up: it has not run") {
  Rig rig;
  Recorder sent;
  Recorder waiting;
  Recorder next;
  rig.begin(sent, "A");
  rig.send();
  rig.begin(waiting, "B");
  rig.pipeline.fail_waiting(FailureKind::unavailable);
  rig.begin(next, "C");
  rig.pipeline.report_failures();
  CHECK(sent.told.empty());
  CHECK(waiting.told == Told{"unavailable"});
  CHECK(rig.send() == command("C"));
  rig.feed("+a\r\n+c\r\n");
  CHECK(sent.told == Told{"+a"});
  CHECK(next.told == Told{"+c"});
}

TEST_CASE("a write that failed before its first byte makes its commands wait again, except the abandoned") {
  Rig rig;
  std::array<Recorder, 4> handlers;
  rig.begin(handlers[0], "A");
  rig.send();
  rig.begin(handlers[1], "B", kStart + 5ms);
  rig.begin(handlers[2], "C");
  rig.send();
  rig.begin(handlers[3], "D");
  rig.pipeline.expire(kStart + 5ms);
  rig.pipeline.put_back_output(rig.out);
  rig.pipeline.disconnect(FailureKind::disconnected);
  rig.pipeline.report_failures();
  CHECK(handlers[0].told == Told{"disconnected unknown"});
  CHECK(handlers[1].told == Told{"timeout unknown"});
  CHECK(rig.send() == command("C") + command("D"));
  rig.feed("+c\r\n+d\r\n");
  CHECK(handlers[2].told == Told{"+c"});
  CHECK(handlers[3].told == Told{"+d"});
}

TEST_CASE("a server that answers what was never written to it does not get that command with the next output") {
  Rig rig;
  std::array<Recorder, 3> handlers;
  rig.begin(handlers[0], "A");
  rig.begin(handlers[1], "B");
  rig.send();
  rig.feed("+invented\r\n");
  rig.begin(handlers[2], "C");
  rig.pipeline.put_back_output(rig.out);
  rig.pipeline.disconnect(FailureKind::disconnected);
  rig.pipeline.report_failures();
  CHECK(handlers[0].told == Told{"+invented"});
  CHECK(rig.send() == command("B") + command("C"));
  rig.feed("+b\r\n+c\r\n");
  CHECK(handlers[1].told == Told{"+b"});
  CHECK(handlers[2].told == Told{"+c"});
}

TEST_CASE("a refused command fails in report_failures(), and its bytes are dropped") {
  Rig rig;
  Recorder refused;
  rig.pipeline.refuse(refused, FailureKind::unavailable).array(1).bulk("A");
  CHECK(refused.told.empty());
  CHECK(rig.pipeline.in_flight() == 1);
  rig.pipeline.report_failures();
  CHECK(refused.told == Told{"unavailable"});
  CHECK(rig.pipeline.in_flight() == 0);
  CHECK_FALSE(rig.pipeline.take_output(rig.out, kStart));
}

TEST_CASE("garbage is a protocol failure, and stays one until the connection is replaced") {
  for (const std::string_view garbage :
       {"HTTP/1.1 400 Bad Request\r\n", "\r\n", "%1\r\n+a\r\n+b\r\n", ">1\r\n+a\r\n", "_\r\n", ":12x\r\n", ":\r\n",
        "$x\r\n", "$-2\r\n", "*-2\r\n", "*x\r\n", "*4294967296\r\n", "$3\r\nabcdefgh\r\n", ":99999999999999999999\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"}) {
    CAPTURE(garbage);
    Rig rig;
    Recorder handler;
    rig.begin(handler, "A");
    rig.send();
    const Result<> result = rig.pipeline.feed(garbage, kStart);
    REQUIRE_FALSE(result);
    CHECK(result.error().code == "protocol");
    CHECK_FALSE(rig.pipeline.feed("+a\r\n", kStart));
    rig.pipeline.disconnect(FailureKind::protocol);
    rig.pipeline.report_failures();
    CHECK(handler.told == Told{"protocol unknown"});

    Recorder next;
    rig.begin(next, "B");
    rig.send();
    rig.feed("+b\r\n");
    CHECK(next.told == Told{"+b"});
  }
}

TEST_CASE("a reply without a command is a protocol failure") {
  Rig rig;
  Recorder handler;
  rig.begin(handler, "A");
  CHECK_FALSE(rig.pipeline.feed("+too early\r\n", kStart));
  CHECK(handler.told.empty());
}

TEST_CASE("ten thousand replies in one piece are paired one by one") {
  Rig rig;
  std::deque<Recorder> handlers(10000);
  std::string replies;
  for (std::size_t i = 0; i < handlers.size(); ++i) {
    rig.begin(handlers[i], "X");
    replies += ":" + std::to_string(i) + "\r\n";
  }
  rig.send();
  rig.feed(replies);
  for (std::size_t i = 0; i < handlers.size(); ++i) REQUIRE(handlers[i].told == Told{":" + std::to_string(i)});
}

}  // namespace
}  // namespace sluice::redis::test
