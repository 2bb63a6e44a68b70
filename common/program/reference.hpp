// Describes the flags, problems and metrics of a program, for the generated pages in docs/reference.
#pragma once

#include <span>
#include <string>

#include "common/http/problem_table.hpp"
#include "common/program/flags.hpp"
#include "common/telemetry/metric_spec.hpp"

namespace sluice::program {

// Returns JSON. REQUIRES: `answered_by` is the same program as `program`.
std::string reference_document(const Program& program, http::AnsweredBy answered_by,
                               std::span<const telemetry::MetricSpec> metrics);

}  // namespace sluice::program
