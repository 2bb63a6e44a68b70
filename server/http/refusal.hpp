// The exception that says why a request is refused. Handlers throw it, and problem() turns it into a problem document
// (RFC 9457).
#pragma once

#include <chrono>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/error.hpp"
#include "common/http/message.hpp"
#include "server/http/answer.hpp"

namespace sluice::server::http {

class Refusal : public std::exception {
 public:
  // `type`: the last segment of the problem's type "/problems/TYPE".
  Refusal(unsigned status, std::string type, std::string detail, Faults faults = {}, std::string headers = {})
      : status(status),
        type(std::move(type)),
        detail(std::move(detail)),
        faults(std::move(faults)),
        headers(std::move(headers)) {}

  const char* what() const noexcept override { return detail.c_str(); }

  unsigned status;
  std::string type;
  std::string detail;
  Faults faults;
  std::string headers;         // complete header lines
  std::string_view code = {};  // as in http::Problem; of a text that lives as long as the program
};

[[noreturn]] void refuse_faults(unsigned status, Faults faults);
// `pointer`: the JSON pointer of the faulty field.
[[noreturn]] void refuse_fault(unsigned status, std::string pointer, std::string text);
// For a failed authentication. `wait`: as FailureThrottle::failed() returns it.
Refusal too_many_failures(std::chrono::seconds wait);
// Refuses 415 if the body has a content coding.
void refuse_coded_body(const sluice::http::Request& request);
[[noreturn]] void refuse_unknown(std::string_view kind, std::string_view id);  // 404

Answer problem(const Refusal& refusal, std::string_view request_id);

}  // namespace sluice::server::http
