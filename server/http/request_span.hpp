// The span of a request that the server answers, by OpenTelemetry's conventions for HTTP servers. It has the route's
// template and never the path or the query: these have ids of objects and subjects.
#pragma once

#include <string_view>

#include "common/http/message.hpp"
#include "common/tracing/tracer.hpp"

namespace sluice::server::http {

// `route`: "METHOD /template", or "" if the request matches none. Empty without a tracer, or if the request is not
// sampled.
tracing::ActiveSpan start_request_span(tracing::Tracer* tracer, std::string_view route,
                                       const sluice::http::Request& request);

// Ends the span with the answer's status.
void end_request_span(tracing::ActiveSpan& span, unsigned status, std::string_view request_id);

}  // namespace sluice::server::http
