// Writes the bodies of refusals: problems (RFC 9457), sent as `application/problem+json`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/base/error.hpp"
#include "common/http/message.hpp"

namespace sluice::http {

inline constexpr std::string_view kProblemType = "application/problem+json";

struct Problem {
  unsigned status = 400;
  std::string_view type;        // of a row of problem_table.cpp, for example "/problems/invalid"
  std::string_view code = {};   // narrows the type down; if empty, the type's name is written, with underscores
  std::string_view title = {};  // if empty, the reason phrase of the status is written
  std::string_view detail = {};
  std::string_view request_id = {};
  std::span<const Fault> errors = {};
};

// Appends the JSON body. REQUIRES: problem_table.cpp has a row for the status and type.
void write_problem(const Problem& problem, std::string& out);

// The code that write_problem() writes.
std::string code_of(const Problem& problem);

// Appends a JSON list.
void write_faults(std::span<const Fault> faults, std::string& out);

std::string_view reason_phrase(unsigned status);

// The answer to a request for which an allocation failed. It is written out here, so that making it needs no memory.
inline const Response kNoMemoryResponse{.status = 503,
                                        .content_type = kProblemType,
                                        .headers = "Retry-After: 1\r\n",
                                        .body = R"({"type":"/problems/out-of-memory","title":"Service Unavailable",)"
                                                R"("status":503,"code":"out_of_memory",)"
                                                R"("detail":"There was no memory left for this request."})"};

}  // namespace sluice::http
