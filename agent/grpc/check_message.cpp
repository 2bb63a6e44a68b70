#include "agent/grpc/check_message.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>

#include "common/base/utf8.hpp"
#include "common/domain/check_batch.hpp"
#include "common/domain/check_faults.hpp"
#include "common/domain/check_rules.hpp"
#include "common/domain/ip_address.hpp"
#include "common/domain/resource.hpp"

namespace sluice::agent::rpc {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

using check_rules::kMaxNamed;
using check_rules::kMaxText;

// Field numbers of CheckRequest.
enum : std::uint32_t {
  kResource = 1,
  kSubject = 2,
  kCost = 3,
  kCosts = 4,
  kPlanId = 5,
  kTags = 6,
  kAttributes = 7,
  kRequestId = 8,
  kExplain = 9,
  kWait = 10,
  kLimitOverride = 11,
  kTenantId = 12,
  kDenyWithStatus = 13,
  kFirstDimension = 20,
};

// The dimensions from kFirstDimension on, in the order of their numbers.
constexpr auto kDimensions = std::to_array<Dimension>(
    {Dimension::application, Dimension::service, Dimension::environment, Dimension::signal, Dimension::operation,
     Dimension::endpoint, Dimension::method, Dimension::user, Dimension::client, Dimension::client_id,
     Dimension::source_ip, Dimension::region, Dimension::severity, Dimension::span_name, Dimension::topic,
     Dimension::consumer_group, Dimension::job_type, Dimension::priority});

std::optional<Dimension> dimension_of(std::uint32_t field) {
  if (field == kResource) return Dimension::resource;
  if (field == kSubject) return Dimension::subject;
  if (field < kFirstDimension || field >= kFirstDimension + kDimensions.size()) return std::nullopt;
  return kDimensions[field - kFirstDimension];
}

std::string_view name_of(std::uint32_t field) {
  if (const auto dimension = dimension_of(field)) return dimension_name(*dimension);
  switch (field) {
    case kCost:
      return "cost";
    case kCosts:
      return "costs";
    case kPlanId:
      return "plan_id";
    case kTags:
      return "tags";
    case kAttributes:
      return "attributes";
    case kRequestId:
      return "request_id";
    case kWait:
      return "wait";
    case kLimitOverride:
      return "limit_override";
    default:
      return "tenant_id";
  }
}

std::string_view view_of(pbf_reader& reader) {
  const auto view = reader.get_view();
  return {view.data(), view.size()};
}

bool is(const pbf_reader& reader, std::uint32_t field, pbf_wire_type type) {
  return reader.tag() == field && reader.wire_type() == type;
}

class CheckReader {
 public:
  CheckReader(std::span<char> message, CheckMessage& out) : message_(message), out_(out) {}

  void read();
  std::vector<RequestFault> take_faults() { return std::move(faults_).take(); }

 private:
  void take_number(std::uint32_t field, std::int64_t value);
  void take_text(std::uint32_t field, std::string_view text);
  void take_dimension(std::uint32_t field, Dimension dimension, std::string_view text);
  void take_source_ip(std::string_view text);
  void take_wait(std::string_view text);
  void take_named_text(std::uint32_t field, std::string_view entry);
  void take_named_number(std::uint32_t field, std::string_view entry);
  void take_cost(std::string_view unit, std::int64_t cost, const std::string& pointer);
  bool accept_name(std::uint32_t field, std::string_view name, std::size_t entries);
  bool accept_text(std::uint32_t field, std::string_view text);
  void finish();

  static std::string pointer_to(std::uint32_t field, std::string_view name = {}) {
    std::string pointer = CheckFaults::pointer_to(name_of(field));
    if (!name.empty()) pointer += CheckFaults::pointer_to(name);
    return pointer;
  }

  std::span<char> message_;
  CheckMessage& out_;
  CheckFaults faults_;
  bool cost_given_ = false;
  bool requests_named_ = false;  // costs has `requests`
  bool identified_ = false;      // a dimension or a plan was given, valid or not
};

// Fields that are unknown are skipped, because a caller may be newer than this agent.
void CheckReader::read() {
  try {
    pbf_reader reader(message_.data(), message_.size());
    while (reader.next()) {
      const std::uint32_t field = reader.tag();
      if (reader.wire_type() == pbf_wire_type::varint) {
        take_number(field, reader.get_int64());
      } else if (reader.wire_type() == pbf_wire_type::length_delimited) {
        take_text(field, view_of(reader));
      } else {
        reader.skip();
      }
    }
    finish();
  } catch (const protozero::exception&) {
    faults_.add(400, "", "the message is not a sluice.v1.CheckRequest: its encoding is broken");
  }
}

void CheckReader::take_number(std::uint32_t field, std::int64_t value) {
  if (field == kExplain) out_.request.explain = value != 0;
  if (field == kDenyWithStatus) out_.deny_with_status = value != 0;
  if (field != kCost) return;
  cost_given_ = true;
  take_cost("requests", value, "/cost");
}

void CheckReader::take_cost(std::string_view unit, std::int64_t cost, const std::string& pointer) {
  if (!check_rules::is_cost(cost)) {
    return faults_.add(422, pointer, std::string(check_rules::fault_of_cost(cost < 0)));
  }
  if (unit == "requests") {
    out_.request.requests = cost;
    return;
  }
  const auto known = std::ranges::find(out_.request.costs, unit, &UnitCost::unit);
  if (known == out_.request.costs.end()) {
    out_.request.costs.push_back({unit, cost});
  } else {
    known->cost = cost;
  }
}

void CheckReader::take_text(std::uint32_t field, std::string_view text) {
  switch (field) {
    case kTags:
    case kAttributes:
      return take_named_text(field, text);
    case kCosts:
    case kLimitOverride:
      return take_named_number(field, text);
    case kWait:
      return take_wait(text);
    default:
      break;
  }
  if (const auto dimension = dimension_of(field)) return take_dimension(field, *dimension, text);
  if (field != kPlanId && field != kRequestId && field != kTenantId) return;
  if (!accept_text(field, text)) return;
  if (field == kRequestId) out_.request.request_id = text;
  if (field == kTenantId) out_.request.tenant_id = text;
  if (field != kPlanId) return;
  identified_ = identified_ || !text.empty();
  out_.request.plan_id = text;
}

bool CheckReader::accept_text(std::uint32_t field, std::string_view text) {
  if (!is_utf8(text)) {
    faults_.add(400, pointer_to(field), "not UTF-8");
    return false;
  }
  if (text.size() <= kMaxText) return true;
  faults_.add(422, pointer_to(field), std::string(check_rules::kTextRule));
  return false;
}

void CheckReader::take_dimension(std::uint32_t field, Dimension dimension, std::string_view text) {
  identified_ = true;
  if (field == kResource && !text.empty() && is_utf8(text)) {  // a query does not count towards the length
    text = canonical_resource(message_.subspan(static_cast<std::size_t>(text.data() - message_.data()), text.size()));
  }
  if (!accept_text(field, text)) return;
  if (dimension == Dimension::source_ip && !text.empty()) return take_source_ip(text);
  out_.request.dimensions[static_cast<std::size_t>(dimension)] = {text, !text.empty()};
}

void CheckReader::take_source_ip(std::string_view text) {
  const auto address = find_address(text);
  if (address) {
    out_.request.dimensions[static_cast<std::size_t>(Dimension::source_ip)] = {*address, true};
    return;
  }
  faults_.add(422, "/source_ip", check_rules::fault_of_source_ip(text));
}

void CheckReader::take_wait(std::string_view text) {
  if (text.empty()) return;
  auto wait = check_rules::read_wait(text);
  if (!wait) return faults_.add(422, "/wait", std::move(wait).error());
  out_.request.wait = *wait;
}

// `entries`: of this map, with this one.
bool CheckReader::accept_name(std::uint32_t field, std::string_view name, std::size_t entries) {
  if (entries > kMaxNamed) {
    if (entries == kMaxNamed + 1) faults_.add(422, pointer_to(field), std::string(check_rules::kNamesRule));
    return false;
  }
  if (!is_utf8(name)) return faults_.add(400, pointer_to(field), "a name is not UTF-8"), false;
  if (check_rules::is_name(name)) return true;
  faults_.add(422, pointer_to(field, name), std::string(check_rules::fault_of_name(name)));
  return false;
}

void CheckReader::take_named_text(std::uint32_t field, std::string_view entry) {
  std::string_view name;
  std::string_view text;
  pbf_reader reader(entry.data(), entry.size());
  while (reader.next()) {
    if (is(reader, 1, pbf_wire_type::length_delimited)) {
      name = view_of(reader);
    } else if (is(reader, 2, pbf_wire_type::length_delimited)) {
      text = view_of(reader);
    } else {
      reader.skip();
    }
  }
  identified_ = true;
  auto& values = field == kTags ? out_.request.tags : out_.request.attributes;
  const auto known = std::ranges::find(values, name, &NamedValue::name);
  if (known == values.end() && !accept_name(field, name, values.size() + 1)) return;
  if (!is_utf8(text)) return faults_.add(400, pointer_to(field, name), "not UTF-8");
  if (text.size() > kMaxText) {
    return faults_.add(422, pointer_to(field, name), std::string(check_rules::kTextRule));
  }
  if (known == values.end()) {
    values.emplace_back(name, text);
  } else {
    known->text = text;  // the last entry of a key counts
  }
}

void CheckReader::take_named_number(std::uint32_t field, std::string_view entry) {
  std::string_view name;
  std::int64_t number = 0;
  pbf_reader reader(entry.data(), entry.size());
  while (reader.next()) {
    if (is(reader, 1, pbf_wire_type::length_delimited)) {
      name = view_of(reader);
    } else if (is(reader, 2, pbf_wire_type::varint)) {
      number = reader.get_int64();
    } else {
      reader.skip();
    }
  }
  auto& limits = out_.request.limit_override;
  const std::size_t entries = (field == kCosts ? out_.request.costs.size() : limits.size()) + 1;
  if (!accept_name(field, name, entries)) return;
  if (field == kCosts) {
    requests_named_ = requests_named_ || name == "requests";
    return take_cost(name, number, pointer_to(field, name));
  }
  if (!check_rules::is_limit(number)) {
    return faults_.add(422, pointer_to(field, name), check_rules::fault_of_limit(fmt::format("{}", number)));
  }
  const auto known = std::ranges::find(limits, name, &BroughtLimit::name);
  if (known == limits.end()) {
    limits.push_back({name, number});
  } else {
    known->limit = number;
  }
}

void CheckReader::finish() {
  if (requests_named_ && cost_given_) {
    faults_.add(400, "/costs/requests", std::string(check_rules::kTwoCosts));
  }
  if (!identified_) faults_.add(400, "/resource", std::string(check_rules::kNoDimension));
}

RequestFault broken(std::string_view message) {
  return {.status = 400,
          .pointer = "",
          .text = fmt::format("the message is not a sluice.v1.{}: its encoding is broken", message)};
}

std::span<char> within(std::span<char> message, std::string_view part) {
  if (part.empty()) return {};
  return message.subspan(static_cast<std::size_t>(part.data() - message.data()), part.size());
}

}  // namespace

std::vector<RequestFault> read_check(std::span<char> message, CheckMessage& out) {
  out.request.clear();
  out.deny_with_status = false;
  CheckReader reader(message, out);
  reader.read();
  return reader.take_faults();
}

std::vector<RequestFault> read_batch(std::span<char> message, std::vector<std::span<char>>& checks) {
  checks.clear();
  try {
    pbf_reader reader(message.data(), message.size());
    while (reader.next()) {
      if (!is(reader, 1, pbf_wire_type::length_delimited)) {
        reader.skip();
        continue;
      }
      if (checks.size() == kMaxBatchChecks) return {{422, "/checks", "holds more than 256 checks"}};
      checks.push_back(within(message, view_of(reader)));
    }
  } catch (const protozero::exception&) {
    return {broken("CheckBatchRequest")};
  }
  if (checks.empty()) return {{422, "/checks", "is empty"}};
  return {};
}

std::optional<StreamMessage> read_stream_message(std::span<char> message) {
  StreamMessage found;
  try {
    pbf_reader reader(message.data(), message.size());
    while (reader.next()) {
      if (is(reader, 1, pbf_wire_type::varint)) {
        found.id = reader.get_uint64();
      } else if (is(reader, 2, pbf_wire_type::length_delimited)) {
        found.check = within(message, view_of(reader));
      } else {
        reader.skip();
      }
    }
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
  return found;
}

std::optional<std::string_view> read_lease_id(std::span<const char> message) {
  std::string_view id;
  try {
    pbf_reader reader(message.data(), message.size());
    while (reader.next()) {
      if (is(reader, 1, pbf_wire_type::length_delimited)) {
        id = view_of(reader);
      } else {
        reader.skip();
      }
    }
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
  return id.empty() ? std::nullopt : std::optional(id);
}

}  // namespace sluice::agent::rpc
