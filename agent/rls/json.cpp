#include "agent/rls/json.hpp"

#include <charconv>
#include <limits>
#include <optional>

#include <fmt/core.h>

#include "common/json/fault_place.hpp"
#include "common/json/fields.hpp"
#include "common/json/text.hpp"

namespace sluice::agent::rls {
namespace {

constexpr std::uint64_t kMost32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMost64 = std::numeric_limits<std::uint64_t>::max();

// Protobuf writes 64-bit numbers as texts, and reads numbers of all sizes in both forms.
std::optional<std::uint64_t> number(json::Fields& fields, std::string_view name, std::uint64_t most) {
  const json::Value* const value = fields.take(name);
  if (value == nullptr) return std::nullopt;
  if (value->type() == json::Type::number || value->type() == json::Type::string) {
    std::uint64_t found = 0;
    const std::string_view text = value->text();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), found);
    if (error == std::errc{} && end == text.data() + text.size() && found <= most) return found;
  }
  fields.fault(name, fmt::format("{} must be a whole number from 0 to {}", name, most));
  return std::nullopt;
}

std::string_view text(json::Fields& fields, std::string_view name) {
  return fields.text(name, kMaxRequestBytes).value_or(std::string_view());
}

// An enumerator is its name or its number. UNKNOWN, the number 0, is refused later, with all other such numbers.
std::uint64_t unit(json::Fields& fields) {
  const json::Value* const value = fields.take("unit");
  if (value == nullptr || value->type() != json::Type::string) return number(fields, "unit", kMost32).value_or(0);
  const std::optional<rls_config::Unit> known = rls_config::unit_from(value->text());
  if (!known && value->text() != "UNKNOWN")
    fields.fault("unit", fmt::format("unit must be one of {}", rls_config::kUnitNames));
  return known ? static_cast<std::uint64_t>(*known) : 0;
}

class Reader {
 public:
  explicit Reader(json::FaultList& faults) : faults_(faults) {}

  Request request(const json::Value& document) {
    const json::Place whole;
    json::Fields fields(document, whole, faults_);
    fields.accept_alias("hits_addend", "hitsAddend");
    Request request;
    request.domain = text(fields, "domain");
    request.hits_addend = static_cast<std::uint32_t>(number(fields, "hitsAddend", kMost32).value_or(0));
    fields.each("descriptors", false, [&](const json::Value& value, const json::Place& at) {
      if (request.descriptors.size() < kMaxDescriptors) {
        request.descriptors.push_back(descriptor(value, at));
      } else if (request.descriptors.size() == kMaxDescriptors) {
        faults_.add(at, fmt::format("a request has at most {} descriptors", kMaxDescriptors));
        request.descriptors.emplace_back();
      }
    });
    fields.reject_unknown();
    return request;
  }

 private:
  Descriptor descriptor(const json::Value& value, const json::Place& at) {
    json::Fields fields(value, at, faults_);
    fields.accept_alias("hits_addend", "hitsAddend");
    fields.accept_alias("is_negative_hits", "isNegativeHits");
    Descriptor descriptor;
    fields.each("entries", false, [&](const json::Value& entry_value, const json::Place& entry_at) {
      if (descriptor.entries.size() == kMaxEntries) {
        return faults_.add(entry_at, fmt::format("a descriptor has at most {} entries", kMaxEntries));
      }
      json::Fields entry(entry_value, entry_at, faults_);
      descriptor.entries.push_back({text(entry, "key"), text(entry, "value")});
      entry.reject_unknown();
    });
    if (const json::Value* const limit = fields.take("limit")) {
      descriptor.limit = limit_override(*limit, fields.at().member("limit"));
    }
    descriptor.hits_addend = number(fields, "hitsAddend", kMost64);
    descriptor.is_negative_hits = fields.boolean("isNegativeHits").value_or(false);
    fields.reject_unknown();
    return descriptor;
  }

  LimitOverride limit_override(const json::Value& value, const json::Place& at) {
    json::Fields fields(value, at, faults_);
    fields.accept_alias("requests_per_unit", "requestsPerUnit");
    const auto requests = static_cast<std::uint32_t>(number(fields, "requestsPerUnit", kMost32).value_or(0));
    const LimitOverride limit{.requests_per_unit = requests, .unit = unit(fields)};
    fields.reject_unknown();
    return limit;
  }

  json::FaultList& faults_;
};

void write_status(const Status& status, std::string& out) {
  out += fmt::format(R"({{"code":"{}")", to_string(status.code));
  if (status.limit) {
    out += R"(,"currentLimit":{)";
    if (status.limit->requests_per_unit != 0) {
      out += fmt::format(R"("requestsPerUnit":{},)", status.limit->requests_per_unit);
    }
    out += fmt::format(R"("unit":"{}")", to_string(status.limit->unit));
    if (!status.limit->name.empty()) {
      out += R"(,"name":)";
      json::append_string(out, status.limit->name);
    }
    out += '}';
  }
  if (status.remaining != 0) out += fmt::format(R"(,"limitRemaining":{})", status.remaining);
  if (status.limit) out += fmt::format(R"(,"durationUntilReset":"{}s")", status.reset_seconds);
  out += '}';
}

// `write` appends one item.
template <class Items, class Write>
void write_list(std::string_view name, const Items& items, Write write, std::string& out) {
  if (items.empty()) return;
  out += fmt::format(R"(,"{}":[)", name);
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ',';
    first = false;
    write(item);
  }
  out += ']';
}

}  // namespace

std::string_view to_string(Code code) {
  switch (code) {
    case Code::ok:
      return "OK";
    case Code::over_limit:
      return "OVER_LIMIT";
    case Code::unknown:
      break;
  }
  return "UNKNOWN";
}

std::expected<Request, Faults> read_request(std::string_view text, json::Tree& tree) {
  const auto document = tree.parse(text);
  if (!document) return std::unexpected(Faults{document.error()});
  json::FaultList list;
  Request request = Reader(list).request(*document);
  if (list.count() == 0) return request;
  Faults faults = list.take();
  json::locate_faults(text, faults);
  return std::unexpected(std::move(faults));
}

void write_response(const Response& response, std::string& out) {
  out += fmt::format(R"({{"overallCode":"{}")", to_string(response.code));
  write_list("statuses", response.statuses, [&](const Status& status) { write_status(status, out); }, out);
  write_list(
      "responseHeadersToAdd", response.headers,
      [&](const Header& header) {
        out += R"({"key":)";
        json::append_string(out, header.name);
        out += R"(,"value":)";
        json::append_string(out, header.value);
        out += '}';
      },
      out);
  if (!response.metadata.empty()) out.append(R"(,"dynamicMetadata":)").append(response.metadata);
  out += '}';
}

}  // namespace sluice::agent::rls
