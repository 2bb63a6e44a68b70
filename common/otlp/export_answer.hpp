// Says what to do after a batch was sent to the collector (OTLP, "OTLP/HTTP Response" and "Retryable Response Codes").
//
// Pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/error.hpp"
#include "common/http_client/client.hpp"

namespace sluice::otlp {

struct ExportAnswer {
  enum class Verdict : std::uint8_t {
    taken,
    retry,
    refused,  // another attempt would have the same end
  };
  Verdict verdict = Verdict::taken;
  std::uint64_t rejected = 0;                            // if taken: spans that the collector has rejected
  std::optional<std::chrono::seconds> retry_after = {};  // if retry: not before, as the collector says
  Error why = {};                                        // if not taken
};

ExportAnswer judge(const Result<http_client::Response>& outcome);

}  // namespace sluice::otlp
