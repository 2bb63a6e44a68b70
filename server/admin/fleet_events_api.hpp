// The route of the fleet's event stream.
#pragma once

#include "server/admin/call.hpp"

namespace sluice::server::admin {

// The agents that list_agents() shows, and how many agents enforce a revision, as events that go on
// (event_streams.hpp). The server repeats the call as long as the stream is open, so a token or session that ends, ends
// the stream too.
Answer follow_fleet(Context& context);

}  // namespace sluice::server::admin
