#include "server/http/headers.hpp"

#include <fmt/core.h>

#include "common/http/request_id.hpp"

namespace sluice::server::http {
std::string request_id_of(std::string_view given) {
  return sluice::http::is_request_id(given) ? std::string(given) : sluice::http::make_request_id();
}

std::string answer_headers(std::string_view own, std::string_view request_id) {
  return fmt::format("{}X-Request-Id: {}\r\n{}", own, request_id, kCommonHeaders);
}

}  // namespace sluice::server::http
