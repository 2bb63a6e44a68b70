#include "server/playground/check_answer.hpp"

#include <algorithm>
#include <cstdint>

#include "common/domain/check_fields.hpp"
#include "common/json/writer.hpp"

namespace sluice::server::playground {

bool is_check_field(std::string_view name) {
  const CheckField* const field = find_check_field(name);
  if (field == nullptr || !field->alias_of.empty()) return false;
  switch (field->kind) {
    case CheckField::Kind::dimension:
    case CheckField::Kind::tags:
    case CheckField::Kind::attributes:
    case CheckField::Kind::plan_id:
    case CheckField::Kind::cost:
      return true;
    default:
      return false;
  }
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
