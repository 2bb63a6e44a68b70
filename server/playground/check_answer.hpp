// What the playground sends to the agent, and what its page gets back. Pure functions.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "common/http_client/client.hpp"

namespace sluice::server::playground {

// The members of a check that the playground passes on; it refuses others, and other names of these.
inline constexpr std::string_view kCheckFields =
    "dimensions such as resource, subject and region, tags, attributes, plan_id and cost";
bool is_check_field(std::string_view name);

// A check that an agent will judge.
struct AgentCheck {
  std::string caller;  // whose place among the checks in flight it takes
  std::string key;     // the API key: the agent judges for its tenant
  std::string body;    // JSON
};

http_client::Request request_of(const AgentCheck& check);

// {"status","agent_us","server_us","headers":[[name,value],…],"body"}. The body is the agent's, as a text. `agent`:
// from sending the check to the whole answer; `total`: from the arrival of the caller's request.
std::string answer_json(const http_client::Response& response, std::chrono::microseconds agent,
                        std::chrono::microseconds total);

}  // namespace sluice::server::playground
