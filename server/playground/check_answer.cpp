#include "server/playground/check_answer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "common/json/writer.hpp"

namespace sluice::server::playground {

bool is_check_field(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames{"resource", "subject", "plan_id", "cost"};
  return std::ranges::find(kNames, name) != kNames.end();
}

http_client::Request request_of(const AgentCheck& check) {
  return {.method = "POST",
          .target = "/v1/check",
          .fields = {{"x-api-key", check.key}},
          .body = check.body,
          .max_body = 1UL << 16};
}

std::string answer_json(const http_client::Response& response, std::chrono::microseconds agent,
                        std::chrono::microseconds total) {
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("status", static_cast<std::int64_t>(response.status));
  out.field("agent_us", std::int64_t{agent.count()});
  out.field("server_us", std::int64_t{std::max(total - agent, std::chrono::microseconds(0)).count()});
  out.key("headers");
  out.begin_list();
  for (const auto& [name, value] : response.fields) out.texts({name, value});
  out.end_list();
  out.field("body", response.body);
  out.end_object();
  return out.take();
}

}  // namespace sluice::server::playground
