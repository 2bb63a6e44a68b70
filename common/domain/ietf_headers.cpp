#include "common/domain/ietf_headers.hpp"

#include <algorithm>

#include "common/domain/decision_time.hpp"
#include "common/json/text.hpp"

namespace sluice {
namespace {

constexpr std::int64_t kMaxStructuredInteger = 999'999'999'999'999;  // RFC 9651 3.3.1: 15 digits

bool is_plain(char c) { return c >= 0x20 && c <= 0x7E && c != '"' && c != '\\'; }

// Adds an sf-string (RFC 9651 3.3.3). Bytes that it cannot hold become '?', so no text can end the header line.
void add_structured_string(std::string& out, std::string_view text) {
  out.push_back('"');
  while (!text.empty()) {
    const auto plain = static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const char c = text.front();
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c >= 0x20 && c <= 0x7E ? c : '?');
    text.remove_prefix(1);
  }
  out.push_back('"');
}

// RFC 9651 3.1.2
bool is_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '*';
}

void add_policy(const Decision& decision, std::string& out) {
  out.append("RateLimit-Policy: ");
  add_structured_string(out, decision.limit_name);
  add_structured(out, ";q=", decision.report.limit);
  if (decision.window_us > 0) add_structured(out, ";w=", round_up(decision.window_us, kMicrosPerSecond));
  out.append("\r\n");
}

// The dimensions as parameters of the limit's name. A name of a tag that a parameter cannot have is left out.
void add_partition(const Decision& decision, std::string& out) {
  if (decision.key_by.empty() && decision.limit_key_by.empty()) return;
  out.append("RateLimit-Partition: ");
  add_structured_string(out, decision.limit_name);
  for (const auto& dimensions : {decision.key_by, decision.limit_key_by}) {
    for (const DimensionRef& dimension : dimensions) {
      if (!std::ranges::all_of(dimension.name, is_key_character)) continue;
      out.append(";").append(dimension_name(dimension.dimension));
      if (!dimension.name.empty()) out.append(".").append(dimension.name);
    }
  }
  out.append("\r\n");
}

}  // namespace

void add_structured(std::string& out, std::string_view key, std::int64_t value) {
  out.append(key);
  json::append_integer(out, std::clamp<std::int64_t>(value, 0, kMaxStructuredInteger));
}

void add_ietf_headers(const Decision& decision, bool only_remaining, std::string& out) {
  if (!only_remaining) add_policy(decision, out);
  out.append("RateLimit: ");
  add_structured_string(out, decision.limit_name);
  add_structured(out, ";r=", decision.report.remaining);
  if (!only_remaining) add_structured(out, ";t=", round_up(decision.report.reset_after_us, kMicrosPerSecond));
  out.append("\r\n");
}

void add_next_ietf_headers(const Decision& decision, bool only_remaining, std::string& out) {
  if (!only_remaining) add_policy(decision, out);
  out.append("RateLimit: ");
  add_structured_string(out, decision.limit_name);
  add_structured(out, ";a=", decision.report.remaining);
  if (!only_remaining) {
    add_structured(out, ";w=", round_up(decision.report.reset_after_us, kMicrosPerSecond));
    add_structured(out, ";c=", decision.spent);
  }
  out.append("\r\n");
  if (!only_remaining) add_partition(decision, out);
}

}  // namespace sluice
