#include "common/tracing/trace_context.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <thread>

using namespace sluice::tracing;

namespace {

constexpr std::string_view kHeader = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

}  // namespace

TEST_CASE("A traceparent is read and written again as it was") {
  const auto context = parse_traceparent(kHeader);
  REQUIRE(context);
  CHECK(context->trace_id[0] == 0x4b);
  CHECK(context->trace_id[15] == 0x36);
  CHECK(context->span_id[1] == 0xf0);
  CHECK(context->sampled());
  CHECK(format_traceparent(*context) == kHeader);
}

TEST_CASE("The flag of a traceparent says whether its caller records the trace") {
  std::string header(kHeader);
  header[54] = '0';
  CHECK_FALSE(parse_traceparent(header)->sampled());
  header[54] = '2';
  CHECK_FALSE(parse_traceparent(header)->sampled());
  header[54] = '3';
  CHECK(parse_traceparent(header)->sampled());
}

TEST_CASE("A later version may append fields, version 00 may not") {
  CHECK_FALSE(parse_traceparent(std::string(kHeader) + "-00"));
  std::string later(kHeader);
  later[1] = '1';
  CHECK(parse_traceparent(later + "-what-comes-then"));
  CHECK_FALSE(parse_traceparent(later + "what-comes-then"));
}

TEST_CASE("A traceparent that is not well-formed is refused") {
  for (const char* header : {"", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
                             "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                             "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                             "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                             "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
                             "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                             "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"}) {
    CAPTURE(header);
    CHECK_FALSE(parse_traceparent(header));
  }
}

TEST_CASE("The fields of a traceparent are found only where it is one") {
  const std::string good(kHeader);
  CHECK(valid_traceparent(good) == good);
  std::string later = good;
  later.replace(0, 2, "01");
  CHECK(valid_traceparent(later) == later);
  CHECK(valid_traceparent(later + "-more") == later);
  std::string upper = good;
  upper[4] = 'A';
  std::string invalid_version = good;
  invalid_version.replace(0, 2, "ff");
  std::string no_dash = good;
  no_dash[35] = '0';
  for (const std::string& text : {std::string(), good.substr(1), good + "0", good + "-more", later + "0", upper,
                                  invalid_version, no_dash, std::string(55, '-')}) {
    CAPTURE(text);
    CHECK(valid_traceparent(text).empty());
  }
}

TEST_CASE("The ids in a traceparent are found in its text") {
  CHECK(trace_id_of(valid_traceparent(kHeader)) == "4bf92f3577b34da6a3ce929d0e0e4736");
  CHECK(span_id_of(valid_traceparent(kHeader)) == "00f067aa0ba902b7");
}

TEST_CASE("A tracestate of at most 512 bytes is passed on as it is, a longer or unprintable one is not") {
  CHECK(valid_tracestate("rojo=00f067aa0ba902b7, congo=t61rcWkgMzE") == "rojo=00f067aa0ba902b7, congo=t61rcWkgMzE");
  CHECK(valid_tracestate(std::string(512, 'a')).size() == 512);
  CHECK(valid_tracestate(std::string(513, 'a')).empty());
  CHECK(valid_tracestate("a=\x01").empty());
  CHECK(valid_tracestate("a=\xc3\xa4").empty());
}

TEST_CASE("Random ids differ, also between threads") {
  std::set<TraceId> traces;
  std::set<SpanId> spans;
  const auto draw = [&] {
    for (int i = 0; i < 1000; ++i) {
      traces.insert(random_trace_id());
      spans.insert(random_span_id());
    }
  };
  draw();
  std::thread(draw).join();
  CHECK(traces.size() == 2000);
  CHECK(spans.size() == 2000);
}
