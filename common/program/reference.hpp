// Describes a program for the generated pages in docs/reference: its commands and flags, the problems it answers, and
// its metrics. `sluice-agent reference` and `sluice-server reference` print the description; scripts/docs renders it.
#pragma once

#include <span>
#include <string>

#include "common/http/problem_table.hpp"
#include "common/program/flags.hpp"
#include "common/telemetry/metric_spec.hpp"

namespace sluice::program {

// Returns one JSON document. REQUIRES: `answered_by` means the same program as `program`; it is not AnsweredBy::both.
std::string reference_document(const Program& program, http::AnsweredBy answered_by,
                               std::span<const telemetry::MetricSpec> metrics);

}  // namespace sluice::program
