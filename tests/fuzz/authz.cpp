// The sub-request of a proxy: whatever its headers say, it becomes a check within the bounds of checks, or faults. Only
// a trusted proxy is believed, and of it only the headers that the address names.
//
// The first four lines are --authz-map, --trusted-proxies, the peer, and METHOD TARGET. The others are headers, as
// NAME:VALUE.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "agent/api/authz.hpp"
#include "common/base/utf8.hpp"
#include "common/domain/identifiers.hpp"
#include "common/domain/resource.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/unit/agent/api/sub_request.hpp"

namespace {

using namespace sluice;
using namespace sluice::agent::api;

using Fields = std::map<std::string, std::string>;

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

Fields read_fields(std::string_view text) {
  Fields fields;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const std::string_view name = line.substr(0, line.find(':'));
    const std::string_view value = line.substr(std::min(name.size() + 1, line.size()));
    std::string& field = fields[std::string(name)];
    if (!field.empty()) field += ", ";  // as http::Request::header() joins them
    field += value;
  }
  return fields;
}

Fields without(Fields fields, std::initializer_list<const char*> names) {
  for (const char* name : names) fields.erase(name);
  return fields;
}

template <class T>
T value_or_report(std::expected<T, std::string> read, T otherwise) {
  if (read) return *std::move(read);
  REQUIRE_THAT(!read.error().empty());
  return otherwise;
}

// A sub-request but for its headers, and what the agent was told of proxies.
struct Case {
  AuthzOptions options;
  std::string_view peer_text;
  std::string_view method;
  std::string_view target;

  Peer peer() const { return find_peer(peer_text, options.proxies); }
  std::string outcome(const Fields& fields) const;
};

class Outcome {
 public:
  explicit Outcome(std::string_view text) : text_(text) {}

  void add(std::string_view value) {
    REQUIRE_THAT(value.size() <= kMaxValueBytes && is_utf8(value));
    REQUIRE_THAT(value.empty() || (value.data() >= text_.data() && value.end() <= text_.end()));
    written_.append(value).push_back('\n');
  }
  std::string take() { return std::move(written_); }

 private:
  std::string_view text_;  // that all values must point into
  std::string written_;
};

void examine_route(const CheckRequest& check) {
  const Value& resource = check.dimensions[static_cast<std::size_t>(Dimension::resource)];
  REQUIRE_THAT(resource.present && resource.text.size() <= kMaxRoute);
  REQUIRE_THAT(std::ranges::all_of(resource.text, [](char c) { return c > ' ' && c < '\x7f'; }));
  std::string copy(resource.text);
  if (copy.size() < kMaxRoute) REQUIRE_THAT(canonical_resource(std::span(copy)) == resource.text);
}

// What the agent makes of it, as text.
std::string Case::outcome(const Fields& fields) const {
  SubRequest request(method, target, fields);
  request.peer = peer_text;
  std::string text;
  CheckRequest check;
  if (const auto faults = read_authz(options, request, peer(), text, check); !faults.empty()) {
    REQUIRE_THAT(faults.size() == 1 && faults[0].status == 422 && !faults[0].text.empty());
    return faults[0].text;
  }
  if (options.map.empty()) examine_route(check);  // else a header may have replaced it
  Outcome outcome(text);
  for (const Value& value : check.dimensions) outcome.add(value.present ? value.text : std::string_view());
  for (const NamedValue& tag : check.tags) outcome.add(tag.text);
  for (const NamedValue& attribute : check.attributes) outcome.add(attribute.text);
  outcome.add(check.plan_id);
  return outcome.take();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Case given;
  given.options.map = value_or_report(parse_authz_map(take_line(bytes)), {});
  given.options.proxies = value_or_report(parse_trusted_proxies(take_line(bytes)), {});
  given.peer_text = take_line(bytes);
  const std::string_view line = take_line(bytes);
  given.method = line.substr(0, line.find(' '));
  given.target = line.substr(std::min(given.method.size() + 1, line.size()));
  const Fields fields = read_fields(bytes);

  const std::string outcome = given.outcome(fields);
  if (!given.peer().trusted) {
    Fields believed;
    if (const auto host = fields.find("host"); host != fields.end()) believed.insert(*host);
    REQUIRE_THAT(given.outcome(believed) == outcome);
  }
  given.options.map.clear();  // a header may be mapped, whatever its name is
  const std::string unmapped = given.outcome(fields);
  const Fields forwarded = without(fields, {"x-original-uri", "x-original-url", "x-original-method"});
  const Fields original = without(fields, {"x-forwarded-uri", "x-forwarded-method", "x-forwarded-host"});
  const bool own = given.target.starts_with(kAuthzPrefix);
  if (own || given.target.ends_with("?headers=forwarded")) REQUIRE_THAT(given.outcome(forwarded) == unmapped);
  if (own || given.target.ends_with("?headers=original")) REQUIRE_THAT(given.outcome(original) == unmapped);
  return 0;
}
