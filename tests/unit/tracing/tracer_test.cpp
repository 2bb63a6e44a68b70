#include "common/tracing/tracer.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/tracing/attribute_names.hpp"

using namespace sluice::tracing;

namespace {

constexpr std::string_view kSampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr std::string_view kNotSampled = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

// A tracer with a clock that the test sets.
struct Rig {
  explicit Rig(Sampler sampler = {}, std::size_t capacity = 16) : tracer(sampler, capacity, [this] { return now; }) {}
  std::vector<std::unique_ptr<Span>> ended() { return tracer.queue().take(100); }

  std::int64_t now = 1'000;
  Tracer tracer;
};

}  // namespace

TEST_CASE("Without a tracer every span is empty") {
  CHECK_FALSE(start_request(nullptr, "check", SpanKind::server, kSampled, ""));
  CHECK_FALSE(start_root(nullptr, "sync"));
  CHECK_FALSE(ActiveSpan().child("below"));
}

TEST_CASE("The span of a request is the child of its caller's span, in the caller's trace") {
  Rig rig;
  ActiveSpan span = rig.tracer.start_request("check", SpanKind::server, kSampled, "rojo=1");
  REQUIRE(span);
  rig.now = 4'000;
  span.end();
  CHECK_FALSE(span);
  const auto ended = rig.ended();
  REQUIRE(ended.size() == 1);
  const auto caller = *parse_traceparent(kSampled);
  CHECK(ended[0]->name == "check");
  CHECK(ended[0]->kind == SpanKind::server);
  CHECK(ended[0]->context.trace_id == caller.trace_id);
  CHECK(ended[0]->parent_id == caller.span_id);
  CHECK(ended[0]->context.span_id != caller.span_id);
  CHECK(ended[0]->context.sampled());
  CHECK(ended[0]->tracestate == "rojo=1");
  CHECK(ended[0]->start_ns == 1'000);
  CHECK(ended[0]->end_ns == 4'000);
}

TEST_CASE("A request whose caller does not record has no span") {
  Rig rig;
  CHECK_FALSE(rig.tracer.start_request("check", SpanKind::server, kNotSampled, ""));
}

TEST_CASE("A request without a valid traceparent begins a trace of its own") {
  for (const char* header : {"", "nonsense"}) {
    Rig rig;
    rig.tracer.start_request("check", SpanKind::server, header, "rojo=1").end();
    const auto ended = rig.ended();
    REQUIRE(ended.size() == 1);
    CHECK(ended[0]->parent_id == SpanId{});
    CHECK(ended[0]->tracestate.empty());
    CHECK_FALSE(Rig(Sampler(true, 0)).tracer.start_request("check", SpanKind::server, header, ""));
  }
}

TEST_CASE("A child has its parent's trace and tracestate, and goes on when the parent has ended") {
  Rig rig;
  ActiveSpan parent = rig.tracer.start_request("check", SpanKind::server, kSampled, "rojo=1");
  ActiveSpan child = parent.child("EVALSHA", SpanKind::client);
  const SpanContext of_parent = parent->context;
  parent.end();
  child.end();
  const auto ended = rig.ended();
  REQUIRE(ended.size() == 2);
  CHECK(ended[1]->parent_id == of_parent.span_id);
  CHECK(ended[1]->context.trace_id == of_parent.trace_id);
  CHECK(ended[1]->tracestate == "rojo=1");
}

TEST_CASE("A span below a context is begun only if the context is sampled") {
  Rig rig(Sampler(false, 0));
  CHECK(rig.tracer.start_below("SELECT", SpanKind::client, *parse_traceparent(kSampled), ""));
  CHECK_FALSE(rig.tracer.start_below("SELECT", SpanKind::client, *parse_traceparent(kNotSampled), ""));
}

TEST_CASE("A span ends in its destructor, and when another is assigned to it; a discarded one is never seen") {
  Rig rig;
  {
    ActiveSpan span = rig.tracer.start_root("one");
    span = rig.tracer.start_root("two");
    ActiveSpan moved = std::move(span);
    ActiveSpan forgotten = rig.tracer.start_root("three");
    forgotten.discard();
  }
  const auto ended = rig.ended();
  REQUIRE(ended.size() == 2);
  CHECK(ended[0]->name == "one");
  CHECK(ended[1]->name == "two");
}

TEST_CASE("A wall clock that was set back gives no span with a negative duration") {
  Rig rig;
  ActiveSpan span = rig.tracer.start_root("one");
  rig.now = 5;
  span.end();
  CHECK(rig.ended()[0]->end_ns == 1'000);
}

TEST_CASE("Unknown flags of the caller are not passed on") {
  Rig rig;
  std::string header(kSampled);
  header[53] = 'f';
  header[54] = 'f';
  rig.tracer.start_request("check", SpanKind::server, header, "").end();
  CHECK(rig.ended()[0]->context.flags == 3);
}

TEST_CASE("Texts are cut after 1024 bytes between two characters, and are valid UTF-8") {
  Span span;
  span.set("long", std::string(1023, 'a') + "\xc3\xa4" + "b");
  span.set("wrong", "a\xff\xc3z");
  span.set("right", "\xc3\xa4");
  CHECK(std::get<std::string>(span.attributes[0].value) == std::string(1023, 'a'));
  CHECK(std::get<std::string>(span.attributes[1].value) == "a??z");
  CHECK(std::get<std::string>(span.attributes[2].value) == "\xc3\xa4");
}

TEST_CASE("A failed span names the class of its error") {
  Span span;
  span.fail("timeout", "Redis did not answer");
  CHECK(span.status == SpanStatus::error);
  CHECK(span.status_text == "Redis did not answer");
  CHECK(span.attributes == std::vector<Attribute>{{attribute::kErrorType, std::string("timeout")}});
}

TEST_CASE("A full queue drops and counts what ends then, and keeps what waits") {
  Rig rig({}, 2);
  for (const char* name : {"one", "two", "three", "four"}) rig.tracer.start_root(name).end();
  CHECK(rig.tracer.queue().dropped() == 2);
  const auto ended = rig.ended();
  REQUIRE(ended.size() == 2);
  CHECK(ended[1]->name == "two");
  rig.tracer.start_root("five").end();
  CHECK(rig.ended().size() == 1);
}

TEST_CASE("Spans are taken in their order, at most as many as asked for") {
  Rig rig;
  for (const char* name : {"one", "two", "three"}) rig.tracer.start_root(name).end();
  const auto first = rig.tracer.queue().take(2);
  REQUIRE(first.size() == 2);
  CHECK(first[0]->name == "one");
  CHECK(rig.tracer.queue().size() == 1);
  CHECK(rig.ended()[0]->name == "three");
}

TEST_CASE("The queue wakes its reader when a batch is full") {
  Rig rig;
  int woken = 0;
  rig.tracer.queue().wake_at(2, [&] { ++woken; });
  rig.tracer.start_root("one").end();
  CHECK(woken == 0);
  rig.tracer.start_root("two").end();
  CHECK(woken == 1);
  rig.tracer.start_root("three").end();
  CHECK(woken == 1);
}

TEST_CASE("Threads that end spans while another takes them lose none") {
  Rig rig({}, 100'000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1'000; ++n) rig.tracer.start_root("one").end();
    });
  }
  std::size_t taken = 0;
  while (taken < 4'000) taken += rig.tracer.queue().take(64).size();
  for (std::thread& thread : threads) thread.join();
  CHECK(rig.tracer.queue().size() == 0);
  CHECK(rig.tracer.queue().dropped() == 0);
}
