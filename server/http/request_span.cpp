#include "server/http/request_span.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "common/tracing/attribute_names.hpp"

namespace sluice::server::http {
namespace {

namespace attribute = tracing::attribute;

constexpr std::string_view kUnmatched = "HTTP";
constexpr unsigned kServerError = 500;

// Callers may send any method; the attribute has few values.
std::string_view known_method(std::string_view method) {
  constexpr std::array<std::string_view, 7> kKnown{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
  return std::ranges::find(kKnown, method) != kKnown.end() ? method : "_OTHER";
}

}  // namespace

tracing::ActiveSpan start_request_span(tracing::Tracer* tracer, std::string_view route,
                                       const sluice::http::Request& request) {
  if (tracer == nullptr) return {};
  tracing::ActiveSpan span = tracer->start_request(route.empty() ? kUnmatched : route, tracing::SpanKind::server,
                                                   request.header("traceparent"), request.header("tracestate"));
  if (!span) return span;
  span->set(attribute::kHttpMethod, known_method(request.method));
  if (!route.empty()) span->set(attribute::kHttpRoute, route.substr(route.find(' ') + 1));
  if (!request.peer.empty()) span->set(attribute::kNetworkPeerAddress, request.peer);
  return span;
}

void end_request_span(tracing::ActiveSpan& span, unsigned status, std::string_view request_id) {
  if (!span) return;
  span->set(attribute::kHttpStatus, status);
  if (!request_id.empty()) span->set(attribute::kRequestId, request_id);
  if (status >= kServerError) span->fail(std::to_string(status));
  span.end();
}

}  // namespace sluice::server::http
