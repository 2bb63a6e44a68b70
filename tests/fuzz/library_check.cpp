// Any bytes as what a program asks the library: no crash; a check that is not decided says why and is not allowed; a
// decision keeps within its limit; the explanation is JSON and the headers are lines, whatever the texts of the
// request.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/engine.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/fuzz/texts.hpp"

namespace {

namespace v1 = sluice::v1;
using sluice::fuzz::is_json;
using sluice::fuzz::is_line;

constexpr std::string_view kBundle = R"({"format":"sluice/v1",
"tenants":[{"id":"shop"},{"id":"bank"}],
"plans":[{"tenant_id":"shop","id":"gold","max_override":{"burst":100},"limits":[
  {"name":"burst","algorithm":"token_bucket","capacity":10,"refill":"5/1s"},
  {"name":"tokens","algorithm":"sliding_window","limit":1000,"window":"1m","unit":"tokens"}]}],
"policies":[
  {"tenant_id":"shop","id":"orders","scope":{"resource":"GET:/orders/**"},"key_by":["subject","tag.env"],"plan_id":"gold"},
  {"tenant_id":"shop","id":"places","scope":{"resource":"POST:*"},"key_by":["source_ip"],
   "limits":[{"name":"places","algorithm":"concurrency","limit":3,"lease_ttl":"1m"}]},
  {"tenant_id":"shop","id":"logs","scope":{"signal":"logs"},"match_expr":"attr.size != \"\" && severity != \"ERROR\"",
   "key_by":["attr.size"],"action":"sample","sample_rate":0.5,
   "limits":[{"name":"exact","algorithm":"sliding_window_log","limit":5,"window":"1s"}]}]})";

v1::Engine& engine() {
  static const auto opened = v1::Engine::open(
      {.bundle = std::string(kBundle), .clock_us = [] { return std::int64_t{1'800'230'400'000'000}; }});
  REQUIRE_THAT(opened);
  return *opened.engine;
}

// Takes pieces off the input: a text ends with a NUL byte; the text "\1" stands for an absent one.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }
  std::string_view text() {
    const std::string_view found = rest_.substr(0, rest_.find('\0'));
    rest_.remove_prefix(std::min(rest_.size(), found.size() + 1));
    return found == "\1" || rest_.data() == nullptr ? std::string_view() : found;
  }
  std::int64_t number() {
    std::int64_t found = 0;
    std::memcpy(&found, rest_.data(), std::min(rest_.size(), sizeof found));
    rest_.remove_prefix(std::min(rest_.size(), sizeof found));
    return found;
  }

 private:
  std::string_view rest_;
};

void require_lines(std::string_view headers) {
  while (!headers.empty()) {
    const std::size_t end = headers.find("\r\n");
    REQUIRE_THAT(end != std::string_view::npos);
    const std::string_view line = headers.substr(0, end);
    REQUIRE_THAT(line.find(": ") != std::string_view::npos && line.find('\n') == std::string_view::npos);
    headers.remove_prefix(end + 2);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  v1::Request request;
  constexpr std::array kTexts{&v1::Request::tenant,   &v1::Request::resource,   &v1::Request::subject,
                              &v1::Request::signal,   &v1::Request::severity,   &v1::Request::source_ip,
                              &v1::Request::method,   &v1::Request::endpoint,   &v1::Request::priority,
                              &v1::Request::plan,     &v1::Request::request_id, &v1::Request::api_key,
                              &v1::Request::job_type, &v1::Request::span_name};
  for (const auto field : kTexts) request.*field = input.text();
  request.cost = input.number();
  std::vector<v1::Named> tags, attributes;
  std::vector<v1::Amount> costs, limits;
  tags.push_back({"env", input.text()});
  attributes.push_back({input.text(), input.text()});
  costs.push_back({input.text(), input.number()});
  if (input.number() & 1) limits.push_back({input.text(), input.number()});
  while (!input.empty()) attributes.push_back({"size", input.text()});
  request.tags = tags;
  request.attributes = attributes;
  request.costs = costs;
  request.limits = limits;
  request.explain = request.headers = true;

  v1::Decision decision;
  engine().check(request, decision);
  if (!decision.status.ok()) {
    REQUIRE_THAT(!decision.allowed && is_line(decision.status.message));
    return 0;
  }
  REQUIRE_THAT(static_cast<std::size_t>(decision.reason) <= static_cast<std::size_t>(v1::Reason::overload));
  if (decision.has_limit) REQUIRE_THAT(decision.remaining >= 0 && decision.remaining <= decision.limit);
  REQUIRE_THAT(decision.retry_after >= v1::kNever && decision.reset_after.count() >= 0);
  REQUIRE_THAT(is_json(decision.explanation));
  require_lines(decision.headers);
  const v1::Lease lease = engine().lease(request, decision);  // and back at once
  return 0;
}
