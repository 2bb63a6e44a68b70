#include "server/sync/call.hpp"

#include "server/http/field_list.hpp"
#include "server/http/headers.hpp"
#include "server/http/refusal.hpp"

namespace sluice::server::sync {

void SyncCall::read(const sluice::http::Request& request) {
  request_id = http::request_id_of(request.header("x-request-id"));
  credentials.source = request.peer;
  route = sync_route_of(request.method, request.path);
  routed = true;
  http::refuse_coded_body(request);
  if (route == SyncRoute::snapshot || route == SyncRoute::watch) positions = positions_of(route, request.query);
  if (route == SyncRoute::counters) calls_functions = sync::calls_functions(request.query);
  agent_id = agent_id_of(request.header("sluice-agent"));
  if (agent_id.empty() && (route == SyncRoute::watch || route == SyncRoute::whatif)) {
    http::refuse_fault(400, "Sluice-Agent",
                       "the header is missing: this request must name its agent, Sluice-Agent: <agent_id>");
  }
  credentials.authorization = request.header("authorization");
  gzip = http::takes_coding(request.header("accept-encoding"), "gzip");
  reads_whatif = sync::reads_whatif(request.header("sluice-reads"));
  reads_newer_fields = sync::reads_newer_fields(request.header("sluice-reads"));
}

}  // namespace sluice::server::sync
