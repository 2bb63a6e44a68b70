// Handlers that call back into the pipeline from inside what they are told, or are gone after it.
#include <doctest/doctest.h>

#include <array>
#include <deque>

#include "tests/unit/redis/pipeline_rig.hpp"

namespace sluice::redis::test {
namespace {

TEST_CASE("a handler may begin the next command from inside its reply or its failure") {
  Rig rig;
  Recorder first;
  Recorder second;
  Recorder third;
  first.then = [&] { rig.begin(second, "B"); };
  second.then = [&] { rig.begin(third, "C", kStart + 100ms); };
  rig.begin(first, "A");
  rig.send();
  rig.feed("+a\r\n");
  CHECK(rig.send() == command("B"));
  rig.pipeline.expire(kStart + 25ms);
  rig.pipeline.report_failures();
  CHECK(second.told == Told{"timeout unknown"});
  CHECK(rig.send() == command("C"));
  rig.feed("+b\r\n+c\r\n");
  CHECK(third.told == Told{"+c"});
}

TEST_CASE("a thousand handlers that begin again from inside a failure keep the queue whole") {
  Rig rig;
  std::deque<Recorder> first(1000);
  std::deque<Recorder> second(1000);
  for (std::size_t i = 0; i < first.size(); ++i) {
    first[i].then = [&, i] { rig.begin(second[i], std::to_string(i), kStart + 1h); };
    rig.begin(first[i], "X");
  }
  rig.send();
  rig.pipeline.expire(kStart + 25ms);
  rig.pipeline.report_failures();
  rig.pipeline.disconnect(FailureKind::disconnected);
  rig.send();
  for (std::size_t i = 0; i < second.size(); ++i) rig.feed("+" + std::to_string(i) + "\r\n");
  for (std::size_t i = 0; i < second.size(); ++i) {
    REQUIRE(first[i].told == Told{"timeout unknown"});
    REQUIRE(second[i].told == Told{"+" + std::to_string(i)});
  }
}

TEST_CASE("a handler that disconnects from inside its reply ends the delivery, and its reply stays readable") {
  Rig rig;
  class Demoted final : public ReplyHandler {
   public:
    explicit Demoted(Pipeline& pipeline) : pipeline_(pipeline) {}
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
  Recorder waiting;
  rig.pipeline.begin(first, kStart + 25ms).array(1).bulk("A");
  rig.begin(second, "B");
  rig.send();
  rig.begin(waiting, "C");
  rig.feed("-READONLY You can't write against a read only replica.\r\n+b\r\n");
  CHECK(first.seen == "READONLY You can't write against a read only replica.");
  CHECK(second.told.empty());
  rig.pipeline.report_failures();
  CHECK(second.told == Told{"disconnected unknown"});
  CHECK(rig.send() == command("C"));
}

TEST_CASE("after a handler disconnects, the rest of the old connection's bytes does not reach the next one") {
  Rig rig;
  Recorder first;
  Recorder next;
  first.then = [&] { rig.pipeline.disconnect(FailureKind::disconnected); };
  rig.begin(first, "A");
  rig.send();
  rig.feed("+a\r\n" + std::string(20000, 'x'));  // more than is parsed at once
  CHECK(first.told == Told{"+a"});
  rig.begin(next, "B");
  rig.send();
  rig.feed("+b\r\n");
  CHECK(next.told == Told{"+b"});
}

TEST_CASE("a handler that stops everything from inside a failure leaves nothing to be told after") {
  Rig rig;
  std::array<Recorder, 3> handlers;
  std::size_t told_at_stop = 0;
  handlers[0].then = [&] {
    rig.pipeline.disconnect(FailureKind::disconnected);
    rig.pipeline.fail_waiting(FailureKind::disconnected);
    rig.pipeline.report_failures();
    for (const Recorder& handler : handlers) told_at_stop += handler.told.size();
  };
  rig.begin(handlers[0], "A");
  rig.begin(handlers[1], "B");
  rig.send();
  rig.begin(handlers[2], "C", kStart + 1h);
  rig.pipeline.expire(kStart + 25ms);
  rig.pipeline.report_failures();
  CHECK(told_at_stop == 3);
  CHECK(handlers[0].told == Told{"timeout unknown"});
  CHECK(handlers[1].told == Told{"timeout unknown"});
  CHECK(handlers[2].told == Told{"disconnected"});
}

TEST_CASE("report_failures() ends although a handler begins a new refused command each time") {
  Rig rig;
  Recorder stubborn;
  stubborn.then = [&] { rig.pipeline.refuse(stubborn, FailureKind::unavailable).array(1).bulk("A"); };
  rig.pipeline.refuse(stubborn, FailureKind::unavailable).array(1).bulk("A");
  rig.pipeline.report_failures();
  CHECK(stubborn.told.size() == 1);
  CHECK(rig.pipeline.has_failures());
}

TEST_CASE("a handler may be destroyed as soon as it was told") {
  Rig rig;
  class SelfDestroying final : public ReplyHandler {
   public:
    explicit SelfDestroying(int& told) : told_(told) {}
    void on_reply(const Reply&) override { finish(); }
    void on_failure(Failure) override { finish(); }

   private:
    void finish() {
      ++told_;
      delete this;
    }
    int& told_;
  };
  int told = 0;
  rig.pipeline.begin(*new SelfDestroying(told), kStart + 25ms).array(1).bulk("B");
  rig.pipeline.begin(*new SelfDestroying(told), kStart + 25ms).array(1).bulk("C");
  rig.pipeline.refuse(*new SelfDestroying(told), FailureKind::unavailable).array(1).bulk("D");
  rig.send();
  rig.feed("+b\r\n");
  rig.pipeline.expire(kStart + 1s);
  rig.pipeline.report_failures();
  rig.pipeline.disconnect(FailureKind::disconnected);
  rig.pipeline.report_failures();
  CHECK(told == 3);
}

}  // namespace
}  // namespace sluice::redis::test
