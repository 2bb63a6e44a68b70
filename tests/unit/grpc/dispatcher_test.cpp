// Calls from their header fields to their status: methods, bounds of messages, deadlines, cancellation, streams.
#include <chrono>
#include <string>

#include <doctest/doctest.h>

#include "tests/unit/grpc/rig.hpp"

namespace sluice::grpc {
namespace {

using namespace std::chrono_literals;
using Outcome = std::pair<std::size_t, Code>;

// What a client's `grpc-status` says.
std::string number(Code code) { return std::string(number_of(code)); }

TEST_CASE("a call is answered with a message and the status OK") {
  Rig rig;
  const auto id = rig.call("Echo", "hello");
  CHECK(rig.status(id) == "0");
  CHECK(rig.got(id).body == framed("hello"));
  CHECK(rig.got(id).headers["content-type"] == "application/grpc");
  CHECK(rig.outcomes.all == std::vector{Outcome{TestService::kEcho, Code::ok}});
}

TEST_CASE("answers arrive whole, whatever size the memory had that they use again") {
  Rig rig;
  for (std::size_t size = 0; size <= TestService::kMost; ++size) {
    const std::string text(size, 'x');
    CHECK(rig.got(rig.call("Echo", text)).body == framed(text));
  }
}

TEST_CASE("a method that nobody has is UNIMPLEMENTED, and counted as other") {
  Rig rig;
  const auto id = rig.call("Nothing", "hello");
  CHECK(rig.status(id) == number(Code::unimplemented));
  CHECK(rig.text(id).find("/test.Service/Nothing") != std::string::npos);
  CHECK(rig.outcomes.all == std::vector{Outcome{4, Code::unimplemented}});
}

TEST_CASE("a request that is no gRPC gets an HTTP status") {
  Rig rig;
  http2::Headers get = Rig::headers("Echo");
  get[0].second = "GET";
  const auto with_get = rig.pair.client.ask(get);
  CHECK(rig.got(with_get).headers[":status"] == "405");
  http2::Headers web = Rig::headers("Echo");
  web.back().second = "application/grpc-web";
  const auto with_web = rig.pair.client.ask(web);
  CHECK(rig.got(with_web).headers[":status"] == "415");
  web.back().second = "application/grpc+proto; charset=utf-8";
  const auto with_proto = rig.pair.client.ask(web, framed("x"));
  CHECK(rig.status(with_proto) == "0");
}

TEST_CASE("a message that cannot be taken ends its call with the status that fits") {
  using namespace std::string_literals;
  struct Row {
    std::string body;
    Code code;
  };
  const Row rows[] = {{framed(std::string(TestService::kMost + 1, 'x')), Code::resource_exhausted},
                      {"\0\x7F\0\0\0"s, Code::resource_exhausted},
                      {"\1\0\0\0\1x"s, Code::unimplemented},
                      {"\2\0\0\0\1x"s, Code::internal},
                      {framed("one") + framed("two"), Code::unimplemented},
                      {framed("cut").substr(0, 6), Code::invalid_argument},
                      {"", Code::invalid_argument}};
  for (const Row& row : rows) {
    CAPTURE(row.body);
    Rig rig;
    CHECK(rig.status(rig.ask("Echo", row.body)) == number(row.code));
    CHECK(rig.service.messages.empty());
  }
  Rig rig;
  CHECK(rig.status(rig.call("Echo", std::string(TestService::kMost, 'x'))) == "0");
}

TEST_CASE("metadata that is too large ends its call") {
  Rig rig;
  const auto id = rig.call("Echo", "x", {{"large", std::string(9000, 'x')}});
  CHECK(rig.status(id) == number(Code::resource_exhausted));
}

TEST_CASE("a call that waits ends within a grain of its deadline, and its service hears of it once") {
  Rig rig;
  const auto id = rig.call("Hold", "x", {{"grpc-timeout", "20m"}});
  CHECK(rig.alarm.set_for == rig.alarm.time + 20ms);
  rig.pass(19ms);
  CHECK(rig.status(id).empty());
  rig.pass(1ms);
  CHECK(rig.status(id) == number(Code::deadline_exceeded));
  CHECK(rig.service.overs == 1);
  CHECK(rig.service.held->over());
  rig.service.held->finish("too late");
  CHECK(rig.got(id).body.empty());
  CHECK(rig.outcomes.all == std::vector{Outcome{TestService::kHold, Code::deadline_exceeded}});
}

TEST_CASE("a service that does not listen is not called when a deadline passes") {
  Rig rig;
  rig.service.listens = false;
  const auto id = rig.call("Hold", "x", {{"grpc-timeout", "1S"}});
  rig.pass(1s);
  CHECK(rig.status(id) == number(Code::deadline_exceeded));
  CHECK(rig.service.overs == 0);
}

TEST_CASE("no alarm is set for a call that is answered at once, or that has no deadline") {
  Rig rig;
  rig.call("Echo", "x", {{"grpc-timeout", "20m"}});
  rig.call("Hold", "x");
  CHECK(rig.alarm.times_set == 0);
}

TEST_CASE("an alarm for which there was no memory is set at the next tick") {
  Rig rig;
  rig.alarm.has_no_memory = true;
  const auto id = rig.call("Hold", "x", {{"grpc-timeout", "100m"}});
  CHECK(rig.alarm.times_set == 0);
  rig.alarm.has_no_memory = false;
  rig.dispatcher.on_tick();
  CHECK(rig.alarm.times_set == 1);
  rig.pass(100ms);
  CHECK(rig.status(id) == number(Code::deadline_exceeded));
}

TEST_CASE("calls with one time-out share alarms, and the earliest deadline is next") {
  Rig rig;
  TestService& service = rig.service;
  rig.call("Hold", "x", {{"grpc-timeout", "100m"}});
  Reply first = *std::move(service.held);
  for (int i = 0; i < 50; ++i) {
    rig.pass(1ms);
    const auto id = rig.call("Hold", "x", {{"grpc-timeout", "100m"}});
    service.held->finish("done");
    CHECK(rig.status(id) == "0");
  }
  CHECK(rig.alarm.times_set == 1);
  const auto soon = rig.call("Hold", "x", {{"grpc-timeout", "10m"}});
  CHECK(rig.alarm.times_set == 2);
  rig.pass(10ms);
  CHECK(rig.status(soon) == number(Code::deadline_exceeded));
  CHECK_FALSE(first.over());
  CHECK(rig.alarm.set_for == rig.alarm.time + 40ms);
  rig.pass(40ms);
  CHECK(first.over());
}

TEST_CASE("the deadline counts from the header fields, also where the message comes later or never") {
  Rig rig;
  const auto late = rig.ask("Hold", "", {{"grpc-timeout", "300m"}}, false);
  rig.pass(200ms);
  rig.pair.client.send(late, framed("x"), true);
  rig.pair.exchange();
  CHECK(rig.alarm.set_for == rig.alarm.time + 100ms);
  rig.pass(100ms);
  CHECK(rig.status(late) == number(Code::deadline_exceeded));
  const auto never = rig.ask("Hold", "", {{"grpc-timeout", "300m"}}, false);
  rig.dispatcher.on_tick();
  rig.pass(300ms);
  CHECK(rig.status(never) == number(Code::deadline_exceeded));
}

TEST_CASE("a message that does not arrive ends its call") {
  Rig rig;
  const auto id = rig.ask("Echo", framed("half").substr(0, 6), {}, false);
  for (auto passed = 0s; passed < 10s; passed += 1s) {
    CHECK(rig.status(id).empty());
    for (int tick = 0; tick < 4; ++tick) rig.dispatcher.on_tick();
  }
  rig.dispatcher.on_tick();
  CHECK(rig.status(id) == number(Code::deadline_exceeded));
  CHECK(rig.text(id).find("did not arrive") != std::string::npos);
}

TEST_CASE("a time-out that cannot be read ends its call, and a very long one is no deadline soon") {
  Rig rig;
  CHECK(rig.status(rig.call("Echo", "x", {{"grpc-timeout", "soon"}})) == number(Code::invalid_argument));
  const auto id = rig.call("Hold", "x", {{"grpc-timeout", "99999999H"}});
  rig.pass(24h);
  CHECK(rig.status(id).empty());
}

TEST_CASE("a cancelled call tells its service once, and its answer goes nowhere") {
  Rig rig;
  const auto id = rig.call("Hold", "x", {{"grpc-timeout", "1S"}});
  rig.pair.client.reset(id);
  rig.pair.exchange();
  CHECK(rig.service.overs == 1);
  CHECK(rig.service.held->over());
  CHECK(rig.service.held->metadata("te").empty());
  rig.service.held->finish("nobody listens");
  rig.service.held.reset();
  rig.pass(2s);
  CHECK(rig.outcomes.all == std::vector{Outcome{TestService::kHold, Code::cancelled}});
  CHECK(rig.service.overs == 1);
}

TEST_CASE("a service that gives no answer ends the call with INTERNAL") {
  Rig rig;
  CHECK(rig.status(rig.call("Forget", "x")) == number(Code::internal));
}

TEST_CASE("a stream brings its messages in order, and each may be answered") {
  Rig rig;
  rig.service.on_each = [&rig] { rig.service.held->send(rig.service.messages.back()); };
  const auto id = rig.ask("Talk", framed("one") + framed("tw"), {}, false);
  rig.pair.client.send(id, framed("three"), true);
  CHECK(rig.got(id).body == framed("one") + framed("tw") + framed("three"));
  CHECK(rig.service.half_closed);
  CHECK(rig.status(id).empty());
  rig.service.held->finish(Status{});
  CHECK(rig.status(id) == "0");
}

TEST_CASE("a paused stream keeps its further messages until it goes on") {
  Rig rig;
  rig.service.on_each = [&rig] { rig.service.held->pause(); };
  rig.ask("Talk", framed("one") + framed("two") + framed("three"));
  CHECK(rig.service.messages.size() == 1);
  CHECK_FALSE(rig.service.half_closed);
  rig.service.held->go_on();
  CHECK(rig.service.messages.size() == 2);
  rig.service.on_each = nullptr;
  rig.service.held->go_on();
  CHECK(rig.service.messages.size() == 3);
  CHECK(rig.service.half_closed);
}

TEST_CASE("a stream that ends within a message is at fault") {
  Rig rig;
  const auto id = rig.ask("Talk", framed("one") + std::string(2, '\0'));
  CHECK(rig.service.messages.size() == 1);
  CHECK(rig.status(id) == number(Code::invalid_argument));
  CHECK(rig.service.overs == 1);
}

TEST_CASE("streams have deadlines, too") {
  Rig rig;
  const auto id = rig.ask("Talk", framed("one"), {{"grpc-timeout", "50m"}}, false);
  rig.pass(50ms);
  CHECK(rig.status(id) == number(Code::deadline_exceeded));
  CHECK(rig.service.overs == 1);
}

TEST_CASE("a drain tells streams, also those that begin later") {
  Rig rig;
  rig.ask("Talk", framed("one"), {}, false);
  rig.dispatcher.drain();
  CHECK(rig.service.drains == 1);
  rig.service.held->finish({Code::unavailable, "The server stops."});
  rig.ask("Talk", framed("one"), {}, false);
  CHECK(rig.service.drains == 2);
}

TEST_CASE("a client that does not read lets answers wait") {
  Rig rig;
  const auto id = rig.ask("Talk", framed("one"), {}, false);
  rig.service.held->send(std::string(70'000, 'x'));  // more than the client's window
  rig.pair.exchange();
  CHECK(rig.service.held->waiting_bytes() > 0);
  rig.pair.client.credit(id, 65'535);
  rig.pair.exchange();
  CHECK(rig.service.held->waiting_bytes() == 0);
}

TEST_CASE("messages that are not complete take no more than a bound of all connections together") {
  http2::SessionLimits limits;
  limits.max_streams = 2000;
  limits.connection_window = INT32_MAX;
  Rig rig(limits);
  rig.service.on_each = [&rig] { rig.service.held->pause(); };
  const std::size_t each = 60'000;
  std::string many;
  while (many.size() < each) many += framed("x");
  std::vector<Reply> open;
  std::int32_t last = 0;
  for (std::size_t waiting = 0; waiting <= Dispatcher::kMaxBuffered; waiting += each) {
    CHECK(rig.pair.client.got[last].headers.empty());
    last = rig.ask("Talk", many, {}, false);
    open.push_back(*std::move(rig.service.held));
    rig.service.held.reset();
  }
  CHECK(rig.status(last) == number(Code::resource_exhausted));
}

}  // namespace
}  // namespace sluice::grpc
