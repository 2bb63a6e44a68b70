// Lists every problem (RFC 9457) that agents and servers answer with: when it happens, and what the caller can do about
// it. docs/reference/errors.md is generated from this table. write_problem() asserts that the table has the problem it
// writes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::http {

enum class AnsweredBy : std::uint8_t { agent, server, both };

struct ProblemKind {
  unsigned status;
  std::string_view type;  // as in Problem::type: "about:blank", or "/problems/" and a name
  AnsweredBy by;
  std::string_view when;
  std::string_view fix;
};

// Ascending by status.
std::span<const ProblemKind> problem_table();

// nullptr where no row has this status and type.
const ProblemKind* find_problem(unsigned status, std::string_view type);

}  // namespace sluice::http
