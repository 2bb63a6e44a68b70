// Describes a request to the rate limit service in its span `ratelimit.check`. Pure functions.
//
// One span tells of the whole request, since its descriptors are judged together: how many there are, how many are over
// their limits, and the rule that decided. Values of descriptors are those of users and are left out.
#pragma once

#include <span>
#include <string_view>

#include "agent/rls/message.hpp"
#include "agent/rls/verdict.hpp"
#include "common/tracing/span.hpp"

namespace sluice::agent::rls {

void describe_answer(std::string_view tenant, const Request& request, std::span<const DescriptorVerdict> verdicts,
                     const Response& response, tracing::Span& span) noexcept;

// The span fails, unless the caller is to blame.
void describe_refusal(std::string_view tenant, const Request& request, Refusal::Kind kind,
                      tracing::Span& span) noexcept;

}  // namespace sluice::agent::rls
