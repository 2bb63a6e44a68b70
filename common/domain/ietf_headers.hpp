// The rate limit headers of draft-ietf-httpapi-ratelimit-headers: RateLimit-Policy and RateLimit. The draft still
// changes, and everything about it is here.
//
// Revision 08 to 10: RateLimit has the parameters r (remaining) and t (seconds until the whole limit is back). The next
// revision, as the working group has proposed it, calls them a (available) and w (window), adds c (what the
// request consumed, nothing if it was refused), and names what a counter counts by in RateLimit-Partition. All of them
// use structured fields (RFC 9651).
//
// For `Out` see limit_headers.hpp. Thread safety: pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/domain/decision.hpp"
#include "common/domain/decision_time.hpp"
#include "common/domain/limit_header_names.hpp"

namespace sluice::limit_headers {

// An sf-string (RFC 9651 3.3.3). Bytes that it cannot hold become '?', so no text can end the header line.
class StructuredString {
 public:
  explicit StructuredString(std::string_view text) : text_(text), plain_(has_only_plain(text)) {}

  template <class Out>
  void add_to(Out& out) const {
    out.add('"');
    if (plain_) [[likely]] {
      out.add(text_);
    } else {
      for (const char c : text_) {
        if (c == '"' || c == '\\') out.add('\\');
        out.add(c >= 0x20 && c <= 0x7E ? c : '?');
      }
    }
    out.add('"');
  }

 private:
  // Without a branch for each character: nearly every name is plain.
  static bool has_only_plain(std::string_view text) {
    bool plain = true;
    for (const char c : text) plain &= c >= 0x20 & c <= 0x7E & c != '"' & c != '\\';
    return plain;
  }

  std::string_view text_;
  bool plain_;
};

// Limits a number to what a structured field can hold: 0 to 15 digits (RFC 9651 3.3.1).
constexpr std::int64_t within_structured(std::int64_t value) {
  constexpr std::int64_t kMost = 999'999'999'999'999;
  return std::clamp<std::int64_t>(value, 0, kMost);
}

// RFC 9651 3.1.2
constexpr bool is_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '*';
}

template <class Out>
void add_parameter(Out& out, std::string_view key, std::int64_t value) {
  out.add(key);
  out.add(within_structured(value));
}

template <class Out>
void add_ietf_policy(const Decision& decision, const StructuredString& name, Out& out) {
  out.template begin<LimitHeader::ietf_policy>();
  name.add_to(out);
  add_parameter(out, ";q=", decision.report.limit);
  if (decision.window_us > 0) add_parameter(out, ";w=", round_up(decision.window_us, kMicrosPerSecond));
  out.end();
}

// The dimensions as parameters of the limit's name. A name of a tag that a parameter cannot have is left out.
template <class Out>
void add_ietf_partition(const Decision& decision, const StructuredString& name, Out& out) {
  if (decision.key_by.empty() && decision.limit_key_by.empty()) return;
  out.template begin<LimitHeader::ietf_partition>();
  name.add_to(out);
  for (const auto& dimensions : {decision.key_by, decision.limit_key_by}) {
    for (const DimensionRef& dimension : dimensions) {
      if (!std::ranges::all_of(dimension.name, is_key_character)) continue;
      out.add(';');
      out.add(dimension_name(dimension.dimension));
      if (dimension.name.empty()) continue;
      out.add('.');
      out.add(std::string_view(dimension.name));
    }
  }
  out.end();
}

// `name`: the limit's. `only_remaining`: no RateLimit-Policy, and of RateLimit only what remains.
// REQUIRES: a limit was judged.
template <class Out>
void add_ietf_headers(const Decision& decision, const StructuredString& name, bool only_remaining, Out& out) {
  if (!only_remaining) add_ietf_policy(decision, name, out);
  out.template begin<LimitHeader::ietf>();
  name.add_to(out);
  add_parameter(out, ";r=", decision.report.remaining);
  if (!only_remaining) add_parameter(out, ";t=", round_up(decision.report.reset_after_us, kMicrosPerSecond));
  out.end();
}

template <class Out>
void add_next_ietf_headers(const Decision& decision, const StructuredString& name, bool only_remaining, Out& out) {
  if (!only_remaining) add_ietf_policy(decision, name, out);
  out.template begin<LimitHeader::ietf>();
  name.add_to(out);
  add_parameter(out, ";a=", decision.report.remaining);
  if (!only_remaining) {
    add_parameter(out, ";w=", round_up(decision.report.reset_after_us, kMicrosPerSecond));
    add_parameter(out, ";c=", decision.spent);
  }
  out.end();
  if (!only_remaining) add_ietf_partition(decision, name, out);
}

}  // namespace sluice::limit_headers
