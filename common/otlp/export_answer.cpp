#include "common/otlp/export_answer.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "common/otlp/trace_message.hpp"

namespace sluice::otlp {
namespace {

constexpr std::chrono::seconds kMostRetryAfter{300};

bool may_work_later(unsigned status) { return status == 429 || (status >= 502 && status <= 504); }

// The header's other form, a date, counts as absent: the back-off does as well.
std::optional<std::chrono::seconds> read_retry_after(std::string_view text) {
  std::uint32_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return std::min(std::chrono::seconds(seconds), kMostRetryAfter);
}

// The requests are well-formed, so `request` means that a header of the configuration cannot be sent.
bool is_lasting(const Error& error) { return error.code == "request"; }

}  // namespace

ExportAnswer judge(const Result<http_client::Response>& outcome) {
  using Verdict = ExportAnswer::Verdict;
  if (!outcome) {
    return {.verdict = is_lasting(outcome.error()) ? Verdict::refused : Verdict::retry, .why = outcome.error()};
  }
  const unsigned status = outcome->status;
  if (status >= 200 && status < 300) return {.verdict = Verdict::taken, .rejected = rejected_spans(outcome->body)};
  Error why{"status", fmt::format("the collector answered with status {}", status)};
  if (!may_work_later(status)) return {.verdict = Verdict::refused, .why = std::move(why)};
  return {.verdict = Verdict::retry,
          .retry_after = read_retry_after(outcome->header("retry-after")),
          .why = std::move(why)};
}

}  // namespace sluice::otlp
