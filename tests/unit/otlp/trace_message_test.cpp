#include "common/otlp/trace_message.hpp"

#include <doctest/doctest.h>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include <bit>
#include <iterator>
#include <map>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::otlp;
using protozero::pbf_reader;
using tracing::Span;

namespace {

// Every field of a message: its number, and its bytes or its number as text.
using Fields = std::multimap<std::uint32_t, std::string>;

Fields fields_of(const std::string& message) {
  Fields fields;
  pbf_reader reader(message);
  while (reader.next()) {
    const std::uint32_t number = reader.tag();  // gone once the value is read
    std::string value;
    switch (reader.wire_type()) {
      case protozero::pbf_wire_type::varint:
        value = std::to_string(reader.get_int64());
        break;
      case protozero::pbf_wire_type::fixed64:
        value = std::to_string(reader.get_fixed64());
        break;
      case protozero::pbf_wire_type::fixed32:
        value = std::to_string(reader.get_fixed32());
        break;
      default:
        value = reader.get_string();
    }
    fields.emplace(number, value);
  }
  return fields;
}

std::string one(const Fields& fields, std::uint32_t number) {
  REQUIRE(fields.count(number) == 1);
  return fields.find(number)->second;
}

std::string id(std::size_t size, char byte) { return std::string(size, byte); }

std::unique_ptr<Span> some_span() {
  auto span = std::make_unique<Span>();
  span->context.trace_id.fill(1);
  span->context.span_id.fill(2);
  span->context.flags = 1;
  span->name = "POST /v1/check";
  span->kind = tracing::SpanKind::server;
  span->start_ns = 1'700'000'000'000'000'001;
  span->end_ns = 1'700'000'000'000'000'002;
  return span;
}

// The scope's message of a request with one span.
Fields scope_of(const std::vector<std::unique_ptr<Span>>& spans) {
  const std::string message = trace_message({{"service.name", "sluice-test"}}, spans);
  return fields_of(one(fields_of(one(fields_of(message), 1)), 2));
}

}  // namespace

TEST_CASE("A message has the resource, the scope, and the spans in their order") {
  std::vector<std::unique_ptr<Span>> spans;
  spans.push_back(some_span());
  spans.push_back(some_span());
  spans[1]->name = "second";
  const std::string message = trace_message({{"service.name", "sluice-test"}, {"a", "b"}}, spans);
  const Fields of_resource = fields_of(one(fields_of(message), 1));
  const Fields resource = fields_of(one(of_resource, 1));
  REQUIRE(resource.count(1) == 2);
  const Fields attribute = fields_of(resource.begin()->second);
  CHECK(one(attribute, 1) == "service.name");
  CHECK(one(fields_of(one(attribute, 2)), 1) == "sluice-test");
  const Fields scope = scope_of(spans);
  CHECK(one(fields_of(one(scope, 1)), 1) == "sluice");
  REQUIRE(scope.count(2) == 2);
  CHECK(one(fields_of(scope.lower_bound(2)->second), 5) == "POST /v1/check");
  CHECK(one(fields_of(std::next(scope.lower_bound(2))->second), 5) == "second");
}

TEST_CASE("A span has its ids, times and kind; what it does not have is left out") {
  std::vector<std::unique_ptr<Span>> spans;
  spans.push_back(some_span());
  Fields span = fields_of(one(scope_of(spans), 2));
  CHECK(one(span, 1) == id(16, 1));
  CHECK(one(span, 2) == id(8, 2));
  CHECK(one(span, 6) == "2");
  CHECK(one(span, 7) == "1700000000000000001");
  CHECK(one(span, 8) == "1700000000000000002");
  CHECK(one(span, 16) == "1");
  for (const std::uint32_t absent : {3U, 4U, 9U, 15U}) CHECK(span.count(absent) == 0);

  spans[0]->parent_id.fill(3);
  spans[0]->tracestate = "rojo=1";
  span = fields_of(one(scope_of(spans), 2));
  CHECK(one(span, 3) == "rojo=1");
  CHECK(one(span, 4) == id(8, 3));
}

TEST_CASE("Attributes keep their types") {
  std::vector<std::unique_ptr<Span>> spans;
  spans.push_back(some_span());
  spans[0]->set("text", "a");
  spans[0]->set("flag", true);
  spans[0]->set("whole", -7);
  spans[0]->set("number", 0.5);
  const Fields span = fields_of(one(scope_of(spans), 2));
  REQUIRE(span.count(9) == 4);
  std::vector<Fields> values;
  const auto [begin, end] = span.equal_range(9);
  for (auto each = begin; each != end; ++each) values.push_back(fields_of(one(fields_of(each->second), 2)));
  CHECK(one(values[0], 1) == "a");
  CHECK(one(values[1], 2) == "1");
  CHECK(one(values[2], 3) == "-7");
  CHECK(one(values[3], 4) == std::to_string(std::bit_cast<std::uint64_t>(0.5)));
}

TEST_CASE("A failed span has its status and its reason") {
  std::vector<std::unique_ptr<Span>> spans;
  spans.push_back(some_span());
  spans[0]->fail("timeout", "no answer");
  const Fields status = fields_of(one(fields_of(one(scope_of(spans), 2)), 15));
  CHECK(one(status, 2) == "no answer");
  CHECK(one(status, 3) == "2");
}

TEST_CASE("The spans that a collector rejects are read from its answer; any other answer rejects none") {
  std::string answer;
  {
    protozero::pbf_writer out(answer);
    protozero::pbf_writer partial(out, 1);
    partial.add_int64(1, 3);
    partial.add_string(2, "too old");
  }
  CHECK(rejected_spans(answer) == 3);
  CHECK(rejected_spans("") == 0);
  CHECK(rejected_spans("<html>") == 0);
  CHECK(rejected_spans("\x0a\xff") == 0);
}
