#include "engine/whatif/record.hpp"

#include <cstring>
#include <limits>

namespace sluice::whatif {
namespace {

constexpr std::size_t kAlignment = 8;
constexpr std::int64_t kNoWait = -1;
static_assert(kNamedDimensions <= 32, "the dimensions that are present are bits of one word");

// Both take the parts of a record in their order: one counts their bytes, the other writes them.
class Counter {
 public:
  template <class Number>
  void number(Number) {
    bytes_ += sizeof(Number);
  }
  void text(std::string_view text) { bytes_ += sizeof(std::uint32_t) + text.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_ = sizeof(RecordHead);
};

class Output {
 public:
  explicit Output(char* at) : at_(at) {}
  template <class Number>
  void number(Number value) {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  void text(std::string_view text) {
    number(static_cast<std::uint32_t>(text.size()));
    if (!text.empty()) std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }

 private:
  char* at_;
};

class Input {
 public:
  explicit Input(const char* at) : at_(at) {}
  template <class Number>
  Number number() {
    Number value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string_view text() {
    const auto size = number<std::uint32_t>();
    const std::string_view text(at_, size);
    at_ += size;
    return text;
  }

 private:
  const char* at_;
};

std::uint32_t present_dimensions(const CheckRequest& request) {
  std::uint32_t present = 0;
  for (std::size_t i = 0; i < kNamedDimensions; ++i) {
    if (request.dimensions[i].present) present |= std::uint32_t{1} << i;
  }
  return present;
}

template <class Sink>
void put_named(Sink& sink, const std::vector<NamedValue>& values) {
  sink.number(static_cast<std::uint32_t>(values.size()));
  for (const NamedValue& value : values) {
    sink.text(value.name);
    sink.text(value.text);
  }
}

template <class Sink>
void put(Sink& sink, const CheckRequest& request) {
  sink.number(present_dimensions(request));
  for (const Value& value : request.dimensions) {
    if (value.present) sink.text(value.text);
  }
  put_named(sink, request.tags);
  put_named(sink, request.attributes);
  sink.number(request.requests);
  sink.number(static_cast<std::uint32_t>(request.costs.size()));
  for (const UnitCost& cost : request.costs) {
    sink.text(cost.unit);
    sink.number(cost.cost);
  }
  sink.number(static_cast<std::uint32_t>(request.limit_override.size()));
  for (const BroughtLimit& brought : request.limit_override) {
    sink.text(brought.name);
    sink.number(brought.limit);
  }
  sink.text(request.plan_id);
  sink.text(request.request_id);
  sink.number(request.wait ? std::int64_t{request.wait->count()} : kNoWait);
}

void take_named(Input& input, std::vector<NamedValue>& out) {
  for (auto left = input.number<std::uint32_t>(); left > 0; --left) {
    const std::string_view name = input.text();
    out.emplace_back(name, input.text());
  }
}

}  // namespace

std::size_t record_bytes(const CheckRequest& request) {
  Counter counter;
  put(counter, request);
  return (counter.bytes() + kAlignment - 1) / kAlignment * kAlignment;
}

void write_record(const RecordHead& head, const CheckRequest& request, std::span<char> out) {
  std::memcpy(out.data(), &head, sizeof head);
  Output output(out.data() + sizeof head);
  put(output, request);
}

RecordHead read_head(const char* record) {
  RecordHead head;
  std::memcpy(&head, record, sizeof head);
  return head;
}

void read_request(const char* record, CheckRequest& out) {
  out.clear();
  Input input(record + sizeof(RecordHead));
  const auto present = input.number<std::uint32_t>();
  for (std::size_t i = 0; i < kNamedDimensions; ++i) {
    if ((present >> i & 1U) != 0) out.dimensions[i] = {.text = input.text(), .present = true};
  }
  take_named(input, out.tags);
  take_named(input, out.attributes);
  out.requests = input.number<std::int64_t>();
  for (auto left = input.number<std::uint32_t>(); left > 0; --left) {
    const std::string_view unit = input.text();
    out.costs.push_back({.unit = unit, .cost = input.number<std::int64_t>()});
  }
  for (auto left = input.number<std::uint32_t>(); left > 0; --left) {
    const std::string_view name = input.text();
    out.limit_override.push_back({.name = name, .limit = input.number<std::int64_t>()});
  }
  out.plan_id = input.text();
  out.request_id = input.text();
  const auto wait_us = input.number<std::int64_t>();
  if (wait_us != kNoWait) out.wait = std::chrono::microseconds(wait_us);
}

}  // namespace sluice::whatif
