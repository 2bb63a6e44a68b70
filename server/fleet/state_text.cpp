#include "server/fleet/state_text.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/base/utf8.hpp"
#include "common/json/text.hpp"

namespace sluice::server::fleet {
namespace {

// Returns `text`, shortened to at most kMaxStoredText bytes, as a JSON string.
std::string shortened(std::string_view text) {
  return json::string_literal(without_nul(utf8_prefix(text, kMaxStoredText)));
}

}  // namespace

std::string without_nul(std::string_view text) {
  std::string copy(text);
  std::ranges::replace(copy, '\0', ' ');
  return copy;
}

std::string state_text(const sluice::sync::AgentState& state) {
  std::string text = fmt::format(R"({{"pod":{},"boot_id":{},"version":{},"counters_generation":{},"degraded":[)",
                                 json::string_literal(state.pod), json::string_literal(state.boot_id),
                                 json::string_literal(state.version), json::string_literal(state.counters_generation));
  for (const std::string& reason : state.degraded) {
    if (!text.ends_with('[')) text += ',';
    text += shortened(reason);
  }
  text += "],\"refusal\":";
  if (!state.refusal) return text += "null}";
  const sluice::sync::SnapshotRefusal& refusal = *state.refusal;
  return text += fmt::format(R"({{"revision":{},"chain":"{}","code":{},"text":{}}}}})", refusal.refused.revision,
                             refusal.refused.chain, json::string_literal(refusal.code), shortened(refusal.text));
}

}  // namespace sluice::server::fleet
