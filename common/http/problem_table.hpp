// Lists every problem (RFC 9457) that agents and servers answer with. docs/reference/errors.md is generated from this
// table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::http {

enum class AnsweredBy : std::uint8_t { agent, server, both };

struct ProblemKind {
  unsigned status;
  std::string_view type;  // "about:blank", or "/problems/" and a name
  AnsweredBy by;
  std::string_view when;
  std::string_view fix;
};

// Ascending by status.
std::span<const ProblemKind> problem_table();

const ProblemKind* find_problem(unsigned status, std::string_view type);

}  // namespace sluice::http
