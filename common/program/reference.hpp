// What a program says about itself, for the generated pages in docs/reference: its commands and flags, and the problems
// it answers. scripts/docs renders them.
#pragma once

#include <string>

#include "common/http/problem_table.hpp"
#include "common/program/flags.hpp"

namespace sluice::program {

// One JSON document. REQUIRES: `answered_by` names one program.
std::string reference_document(const Program& program, http::AnsweredBy answered_by);

}  // namespace sluice::program
