#include "common/http/problem.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "common/http/problem_table.hpp"
#include "common/json/text.hpp"

namespace sluice::http {
namespace {

struct Phrase {
  unsigned status;
  std::string_view text;
};

constexpr Phrase kPhrases[] = {
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};
static_assert(std::ranges::is_sorted(kPhrases, {}, &Phrase::status));

void append_member(std::string& out, std::string_view name, std::string_view value) {
  out += ",\"";
  out += name;
  out += "\":";
  json::append_string(out, value);
}

void append_number(std::string& out, std::string_view name, std::uint32_t value) {
  out += ",\"";
  out += name;
  out += "\":";
  json::append_integer(out, value);
}

}  // namespace

void write_problem(const Problem& problem, std::string& out) {
  assert(find_problem(problem.status, problem.type) != nullptr);  // if this fails, add a row to problem_table.cpp
  out += "{\"type\":";
  json::append_string(out, problem.type);
  append_member(out, "title", problem.title.empty() ? reason_phrase(problem.status) : problem.title);
  out += ",\"status\":";
  json::append_integer(out, problem.status);
  append_member(out, "code", code_of(problem));
  if (!problem.detail.empty()) append_member(out, "detail", problem.detail);
  if (!problem.request_id.empty()) append_member(out, "request_id", problem.request_id);
  if (!problem.errors.empty()) {
    out += ",\"errors\":";
    write_faults(problem.errors, out);
  }
  out += '}';
}

// "/problems/body-too-large" becomes "body_too_large".
std::string code_of(const Problem& problem) {
  if (!problem.code.empty()) return std::string(problem.code);
  std::string code(problem.type.substr(kProblemPath.size()));
  std::ranges::replace(code, '-', '_');
  return code;
}

void write_faults(std::span<const Fault> faults, std::string& out) {
  out += '[';
  for (const Fault& fault : faults) {
    if (&fault != faults.data()) out += ',';
    out += "{\"pointer\":";
    json::append_string(out, fault.pointer);
    append_member(out, "detail", fault.text);
    if (fault.line != 0) {
      append_number(out, "line", fault.line);
      if (fault.column != 0) append_number(out, "column", fault.column);
    }
    out += '}';
  }
  out += ']';
}

std::string_view reason_phrase(unsigned status) {
  const auto found = std::ranges::lower_bound(kPhrases, status, {}, &Phrase::status);
  return found != std::end(kPhrases) && found->status == status ? found->text : "Unknown";
}

}  // namespace sluice::http
