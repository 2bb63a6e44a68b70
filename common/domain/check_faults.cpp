#include "common/domain/check_faults.hpp"

#include <fmt/core.h>
#include <rapidjson/error/en.h>

#include <algorithm>
#include <array>

#include "common/base/utf8.hpp"
#include "common/domain/check_batch.hpp"
#include "common/domain/check_fields.hpp"
#include "common/json/pointer.hpp"
#include "common/json/syntax_fault.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMaxNameShown = 64;  // bytes

struct OtherName {
  std::string_view theirs;
  std::string_view ours;
};
// What people often write instead of a field of a check, where no likeness of names leads to it.
constexpr auto kOtherNames = std::to_array<OtherName>({{"client_ip", "source_ip"},
                                                       {"ip", "source_ip"},
                                                       {"ip_address", "source_ip"},
                                                       {"remote_addr", "source_ip"},
                                                       {"remote_address", "source_ip"},
                                                       {"limit", "limit_override"},
                                                       {"limits", "limit_override"},
                                                       {"max_requests", "limit_override"},
                                                       {"override", "limit_override"},
                                                       {"plan", "plan_id"},
                                                       {"hits", "cost"},
                                                       {"hits_addend", "cost"},
                                                       {"weight", "cost"},
                                                       {"tokens", "cost"},
                                                       {"path", "resource"},
                                                       {"url", "resource"},
                                                       {"key", "subject"},
                                                       {"identifier", "subject"}});

struct NoField {
  std::string_view name;
  std::string_view why;
};
// What people send because other limiters, or other routes of ours, have it.
constexpr std::string_view kNoPolicyId =
    "a check does not choose its policy: leave it out, and scopes choose; plan_id chooses a plan";
constexpr auto kNoFields = std::to_array<NoField>(
    {{"tenant", "it follows from the credential; leave it out"},
     {"org", "it follows from the credential; leave it out"},
     {"policy", kNoPolicyId},
     {"policy_id", kNoPolicyId},
     {"version", "leave it out; the API's version is in the path, and the one of your program goes into tags"},
     {"unit", "write costs, such as {\"tokens\":5}, to spend other units than requests"},
     {"units", "write costs, such as {\"tokens\":5}, to spend other units than requests"}});

std::string_view our_name(std::string_view theirs) {
  const auto found = std::ranges::find(kOtherNames, theirs, &OtherName::theirs);
  return found == kOtherNames.end() ? std::string_view() : found->ours;
}

}  // namespace

std::string CheckFaults::pointer_to(std::string_view name) {
  const std::string_view shown = utf8_prefix(name, kMaxNameShown);
  std::string token = json::pointer_to("", shown);
  if (shown.size() != name.size()) token += "…";
  return token;
}

void CheckFaults::add(unsigned status, std::string pointer, std::string text, std::optional<std::size_t> offset) {
  if (faults_.size() == kMaxFaults) {
    if (faults_.back().status <= status) return;
    faults_.pop_back();
  }
  const auto after_same_status = std::ranges::upper_bound(faults_, status, {}, &RequestFault::status);
  faults_.insert(after_same_status, RequestFault{status, std::move(pointer), std::move(text), offset});
}

void CheckFaults::add_unknown(std::string_view name) {
  if (const CheckField* const field = check_field_of_go(name)) {
    return add(422, pointer_to(name), fmt::format("is not a field of a check; write it as {}", field->name));
  }
  if (name == "checks") {
    return add(
        400, "/checks",
        fmt::format("is the list of a batch: send a batch to POST {}, or one check without this member", kBatchPath));
  }
  std::string text = "unknown field";
  const auto none = std::ranges::find(kNoFields, name, &NoField::name);
  if (none != kNoFields.end()) {
    text += fmt::format(": {}", none->why);
  } else if (const std::string_view ours = our_name(name); !ours.empty()) {
    text += fmt::format("; write it as {}", ours);
  } else if (const std::string_view hint = nearest_check_field(name); !hint.empty()) {
    text += fmt::format("; did you mean {}?", hint);
  } else {
    text += "; dimensions of your own go into tags or attributes";
  }
  add(400, pointer_to(name), std::move(text));
}

void CheckFaults::add_syntax(rapidjson::ParseErrorCode code, std::size_t offset, std::span<const char> body) {
  switch (code) {
    case rapidjson::kParseErrorTermination:
      return;  // the handler that stopped the reader has added the fault
    case rapidjson::kParseErrorDocumentEmpty:
      return add(400, "", "the body is empty: send a JSON object");
    case rapidjson::kParseErrorStringInvalidEncoding:
      return add(400, "", fmt::format("not UTF-8 at byte {}", offset));
    case rapidjson::kParseErrorStringMissQuotationMark:
      if (offset < body.size() && body[offset] != '\0') {  // json::InsituUtf8 stopped the reader
        return add(400, "",
                   fmt::format("not UTF-8: the \\u escape before byte {} is half of a surrogate pair", offset));
      }
      [[fallthrough]];
    default:
      return add_unreadable(rapidjson::GetParseError_En(code), offset, body);
  }
}

void CheckFaults::add_unreadable(std::string_view why, std::size_t offset, std::span<const char> body) {
  const auto mistake = json::usual_mistake({body.data(), body.size()}, offset);
  if (mistake) {
    why = mistake->why;
    offset = mistake->offset;
  }
  add(400, "", fmt::format("not JSON: {} (byte {})", why, offset), offset);
}

}  // namespace sluice
