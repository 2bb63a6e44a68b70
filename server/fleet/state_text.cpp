#include "server/fleet/state_text.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "common/base/json_text.hpp"

namespace sluice::server {
namespace {

std::string json_string(std::string_view text) {
  std::string quoted;
  append_json_string(quoted, text);
  return quoted;
}

// What an agent may say of itself is bounded by its parser; what is kept of thousands of agents is bounded closer. Cut
// between characters.
std::string kept(std::string_view text) {
  std::size_t end = std::min(text.size(), kMaxKeptText);
  const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; };
  while (end < text.size() && end > 0 && continues(end)) --end;
  return json_string(storable(text.substr(0, end)));
}

}  // namespace

std::string storable(std::string_view text) {
  std::string made(text);
  std::ranges::replace(made, '\0', ' ');
  return made;
}

std::string state_text(const sync::AgentState& state) {
  std::string text = fmt::format(R"({{"pod":{},"boot_id":{},"version":{},"degraded":[)", json_string(state.pod),
                                 json_string(state.boot_id), json_string(state.version));
  for (const std::string& reason : state.degraded) {
    if (!text.ends_with('[')) text += ',';
    text += kept(reason);
  }
  text += "],\"refusal\":";
  if (!state.refusal) return text += "null}";
  const sync::SnapshotRefusal& refusal = *state.refusal;
  return text += fmt::format(R"({{"revision":{},"chain":"{}","code":{},"text":{}}}}})", refusal.refused.revision,
                             refusal.refused.chain, json_string(refusal.code), kept(refusal.text));
}

}  // namespace sluice::server
