// Lists every problem (RFC 9457) that agents and servers answer with. The pages at /problems/NAME (problem_page.hpp)
// and docs/reference/errors.md are made from this table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace sluice::http {

inline constexpr std::string_view kProblemPath = "/problems/";

enum class AnsweredBy : std::uint8_t { agent, server, both };

struct ProblemKind {
  unsigned status;
  std::string_view type;  // kProblemPath and a name; also the path of the page that explains it
  AnsweredBy by;
  std::string_view when;
  std::string_view fix;
};

// Ascending by status.
std::span<const ProblemKind> problem_table();

const ProblemKind* find_problem(unsigned status, std::string_view type);

}  // namespace sluice::http
