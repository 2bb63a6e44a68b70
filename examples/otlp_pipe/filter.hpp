// Takes the records out of an export request that the policies deny, and marks those that a sample let pass.
//
// Logs and traces have the same shape: resources, in them scopes, in them records. What this file does not know of a
// message is copied byte for byte.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/engine.hpp>

namespace otlp_pipe {

enum class Signal { logs, traces, metrics };
std::string_view to_string(Signal signal);

struct Filtered {
  std::string message;        // what is left; "" if nothing is
  std::size_t received = 0;   // records
  std::size_t kept = 0;       // of them, with those below
  std::size_t sampled = 0;    // kept and marked
  std::size_t undecided = 0;  // kept, because they could not be decided
};

// Whose records they are.
struct Tenancy {
  std::string tenant;     // of resources that do not name theirs; "": the only one of the policies
  std::string attribute;  // of the resource, whose value names the tenant; "": none does
};

// Reads ExportLogsServiceRequest or ExportTraceServiceRequest (opentelemetry-proto 1.x). Metrics pass as they are, as
// one record. nullopt: the bytes are no such message.
//
// A record is checked with these dimensions:
//   signal       "logs" or "traces"
//   service      the resource's attribute service.name
//   environment  the resource's attribute deployment.environment.name, or deployment.environment
//   severity     of a log: TRACE, DEBUG, INFO, WARN, ERROR or FATAL
//   span_name    of a span
//   priority     "low" below WARN and of spans without an error, "high" from ERROR on, else "normal"
//   attr.NAME    the record's own attributes that are a text, a number or a truth value; names and values of at most
//   256
//                bytes, and no more than the first 64 of them
// A span's name that is longer than 256 bytes is left out.
// A span's trace id is the request's id, so that the action `sample` keeps or drops a trace as a whole.
std::optional<Filtered> filter(Signal signal, std::string_view message, const Tenancy& tenancy,
                               sluice::v1::Engine& engine);

}  // namespace otlp_pipe
