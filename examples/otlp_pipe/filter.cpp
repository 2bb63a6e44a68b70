#include "filter.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <protozero/pbf_message.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace otlp_pipe {
namespace {

using protozero::data_view;
using protozero::pbf_reader;
using protozero::pbf_wire_type;
using protozero::pbf_writer;

// Field numbers of opentelemetry-proto. Those of logs and traces are the same where only one is here.
constexpr std::uint32_t kResources = 1;  // of an export request
constexpr std::uint32_t kResource = 1;   // of ResourceLogs and ResourceSpans
constexpr std::uint32_t kScopes = 2;     // of these
constexpr std::uint32_t kRecords = 2;    // of ScopeLogs and ScopeSpans
constexpr std::uint32_t kResourceAttributes = 1;
constexpr std::uint32_t kKey = 1, kValue = 2;                              // of KeyValue
constexpr std::uint32_t kText = 1, kTruth = 2, kInteger = 3, kNumber = 4;  // of AnyValue
constexpr std::uint32_t kSeverityNumber = 2, kLogAttributes = 6;
constexpr std::uint32_t kTraceId = 1, kSpanName = 5, kSpanAttributes = 9, kSpanStatus = 15;
constexpr std::uint32_t kStatusCode = 3;
constexpr std::int32_t kStatusError = 2;

constexpr std::int32_t kWarn = 13, kError = 17;  // SeverityNumber

// Whether the reader is at this field, and its value has the type that the field must have.
bool at(const pbf_reader& reader, std::uint32_t field, pbf_wire_type type) {
  return reader.tag() == field && reader.has_wire_type(type);
}
constexpr auto kBytes = pbf_wire_type::length_delimited;

std::string_view text_of(data_view view) { return {view.data(), view.size()}; }

// The engine's rules of a check.
constexpr std::size_t kMostAttributes = 64;
bool is_dimension(std::string_view text) { return text.size() <= 256; }

std::string_view severity_of(std::int32_t number) {
  constexpr std::array<std::string_view, 6> kNames{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"};
  if (number < 1 || number > 24) return {};
  return kNames[static_cast<std::size_t>(number - 1) / 4];
}

struct Attribute {
  std::string_view name;
  std::string text;
};

// nullopt: a list, a map or bytes, which are no dimension.
std::optional<Attribute> read_attribute(pbf_reader pair) {
  Attribute found;
  bool has_value = false;
  while (pair.next()) {
    if (at(pair, kKey, kBytes)) {
      found.name = text_of(pair.get_view());
    } else if (at(pair, kValue, kBytes)) {
      pbf_reader value = pair.get_message();
      while (value.next()) {
        has_value = true;
        if (at(value, kText, kBytes)) {
          found.text = text_of(value.get_view());
        } else if (at(value, kTruth, pbf_wire_type::varint)) {
          found.text = value.get_bool() ? "true" : "false";
        } else if (at(value, kInteger, pbf_wire_type::varint)) {
          found.text = std::to_string(value.get_int64());
        } else if (at(value, kNumber, pbf_wire_type::fixed64)) {
          found.text = std::to_string(value.get_double());
        } else {
          has_value = false;
          value.skip();
        }
      }
    } else {
      pair.skip();
    }
  }
  if (!has_value) return std::nullopt;
  return found;
}

struct Origin {  // of a resource
  std::string tenant;
  std::string service;
  std::string environment;
};

Origin read_origin(pbf_reader resource, std::string_view tenant_attribute) {
  Origin origin;
  while (resource.next()) {
    if (!at(resource, kResourceAttributes, kBytes)) {
      resource.skip();
      continue;
    }
    auto attribute = read_attribute(resource.get_message());
    if (!attribute || attribute->name.empty()) continue;
    if (attribute->name == tenant_attribute) origin.tenant = attribute->text;
    if (attribute->name == "service.name")
      origin.service = std::move(attribute->text);
    else if (attribute->name == "deployment.environment.name")
      origin.environment = std::move(attribute->text);
    else if (attribute->name == "deployment.environment" && origin.environment.empty())
      origin.environment = std::move(attribute->text);
  }
  return origin;
}

// What is asked about one record.
struct Record {
  std::string_view severity;
  std::string_view span_name;
  std::string_view priority;
  std::string trace_id;  // in hex
  std::vector<Attribute> attributes;
};

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char each : bytes) {
    text += kDigits[static_cast<unsigned char>(each) >> 4];
    text += kDigits[static_cast<unsigned char>(each) & 15];
  }
  return text;
}

Record read_log(pbf_reader log) {
  Record record;
  std::int32_t severity = 0;
  while (log.next()) {
    if (at(log, kSeverityNumber, pbf_wire_type::varint)) {
      severity = log.get_enum();
    } else if (at(log, kLogAttributes, kBytes)) {
      if (auto attribute = read_attribute(log.get_message())) record.attributes.push_back(std::move(*attribute));
    } else {
      log.skip();
    }
  }
  record.severity = severity_of(severity);
  record.priority = severity >= kError ? "high" : severity >= kWarn ? "normal" : "low";
  return record;
}

bool is_error(pbf_reader status) {
  bool found = false;
  while (status.next()) {
    if (at(status, kStatusCode, pbf_wire_type::varint)) {
      found = status.get_enum() == kStatusError;
    } else {
      status.skip();
    }
  }
  return found;
}

Record read_span(pbf_reader span) {
  Record record;
  record.priority = "low";
  while (span.next()) {
    if (at(span, kTraceId, kBytes)) {
      record.trace_id = hex_of(text_of(span.get_view()));
    } else if (at(span, kSpanName, kBytes)) {
      record.span_name = text_of(span.get_view());
    } else if (at(span, kSpanAttributes, kBytes)) {
      if (auto attribute = read_attribute(span.get_message())) record.attributes.push_back(std::move(*attribute));
    } else if (at(span, kSpanStatus, kBytes)) {
      if (is_error(span.get_message())) record.priority = "high";
    } else {
      span.skip();
    }
  }
  return record;
}

template <class Write>
void add_attribute(std::string& record, std::uint32_t field, std::string_view name, Write write_value) {
  std::string value, pair;
  pbf_writer value_writer{value};
  write_value(value_writer);
  pbf_writer pair_writer{pair};
  pair_writer.add_string(kKey, name.data(), name.size());
  pair_writer.add_message(kValue, value);
  pbf_writer(record).add_message(field, pair);
}

class Filter {
 public:
  Filter(Signal signal, const Tenancy& tenancy, sluice::v1::Engine& engine)
      : signal_(signal), tenancy_(tenancy), engine_(engine) {}

  Filtered run(std::string_view message) {
    filtered_.message = rewritten(message, kResources, [this](data_view group) { return resource_group(group); });
    return std::move(filtered_);
  }

 private:
  // The message with each field `number` replaced by what `replace` returns for it; without those that become empty.
  // All else is copied.
  template <class Replace>
  static std::string rewritten(std::string_view message, std::uint32_t number, Replace replace) {
    std::string out;
    pbf_writer writer(out);
    pbf_reader reader(message.data(), message.size());
    std::string_view rest = text_of(reader.data());
    while (reader.next()) {
      if (at(reader, number, kBytes)) {
        const std::string replaced = replace(reader.get_view());
        if (!replaced.empty()) writer.add_message(number, replaced);
      } else {
        reader.skip();
        out.append(rest.substr(0, rest.size() - text_of(reader.data()).size()));
      }
      rest = text_of(reader.data());
    }
    return out;
  }

  std::string resource_group(data_view group) {
    pbf_reader reader(group);
    origin_ = reader.next(kResource, kBytes) ? read_origin(reader.get_message(), tenancy_.attribute) : Origin();
    const std::size_t kept = filtered_.kept;
    std::string out = rewritten(text_of(group), kScopes, [this](data_view scope) { return scope_group(scope); });
    return filtered_.kept > kept ? out : std::string();
  }

  std::string scope_group(data_view group) {
    const std::size_t kept = filtered_.kept;
    std::string out = rewritten(text_of(group), kRecords, [this](data_view record) { return decided(record); });
    return filtered_.kept > kept ? out : std::string();
  }

  std::string decided(data_view bytes) {
    const bool is_log = signal_ == Signal::logs;
    const Record record = is_log ? read_log(pbf_reader(bytes)) : read_span(pbf_reader(bytes));
    take_attributes(record);
    sluice::v1::Request request{.signal = to_string(signal_), .attributes = attributes_};
    request.tenant = origin_.tenant.empty() ? tenancy_.tenant : origin_.tenant;
    if (!origin_.service.empty()) request.service = origin_.service;
    if (!origin_.environment.empty()) request.environment = origin_.environment;
    request.severity = record.severity;
    if (is_dimension(record.span_name)) request.span_name = record.span_name;
    request.priority = record.priority;
    request.request_id = record.trace_id;
    engine_.check(request, decision_);

    ++filtered_.received;
    const bool undecided = !decision_.status.ok();
    if (!undecided && !decision_.allowed) return {};
    ++filtered_.kept;
    filtered_.undecided += undecided ? 1 : 0;
    std::string kept(text_of(bytes));
    if (!undecided && decision_.reason == sluice::v1::Reason::sampled)
      mark(kept, is_log ? kLogAttributes : kSpanAttributes);
    return kept;
  }

  // Those that a policy can match. Otherwise a record with a stack trace could not be decided, and would always pass.
  void take_attributes(const Record& record) {
    attributes_.clear();
    for (const Attribute& each : record.attributes) {
      if (attributes_.size() == kMostAttributes) break;
      const bool known = std::any_of(attributes_.begin(), attributes_.end(),
                                     [&](const sluice::v1::Named& other) { return other.name == each.name; });
      if (!known && is_dimension(each.name) && !each.name.empty() && is_dimension(each.text))
        attributes_.push_back({each.name, each.text});
    }
  }

  void mark(std::string& record, std::uint32_t field) {
    ++filtered_.sampled;
    add_attribute(record, field, "sluice.sample_rate",
                  [this](pbf_writer& value) { value.add_double(kNumber, decision_.sample_rate); });
    add_attribute(record, field, "sluice.policy",
                  [this](pbf_writer& value) { value.add_string(kText, decision_.policy); });
  }

  const Signal signal_;
  const Tenancy& tenancy_;
  sluice::v1::Engine& engine_;
  Origin origin_;  // of the resource whose records are read
  std::vector<sluice::v1::Named> attributes_;
  sluice::v1::Decision decision_;
  Filtered filtered_;
};

}  // namespace

std::string_view to_string(Signal signal) {
  constexpr std::array<std::string_view, 3> kNames{"logs", "traces", "metrics"};
  return kNames[static_cast<std::size_t>(signal)];
}

std::optional<Filtered> filter(Signal signal, std::string_view message, const Tenancy& tenancy,
                               sluice::v1::Engine& engine) {
  if (signal == Signal::metrics) return Filtered{.message = std::string(message), .received = 1, .kept = 1};
  try {
    return Filter(signal, tenancy, engine).run(message);
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
}

}  // namespace otlp_pipe
