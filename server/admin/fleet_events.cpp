#include "server/admin/fleet_events.hpp"

#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "common/json/text.hpp"

namespace sluice::server::admin {
namespace {

// REQUIRES: `data` has no line break.
std::string event(std::string_view name, std::string_view data, std::string_view id = {}) {
  return fmt::format("event: {}\n{}data: {}\n\n", name, id, data);
}

void add_to(std::string& list, const std::string& item) {
  if (!list.empty()) list += ',';
  list += item;
}

}  // namespace

FleetEvents::FleetEvents(FleetEventsOptions options) : options_(std::move(options)) {
  const std::string_view id = options_.last_event_id;
  const std::size_t dot = id.find('.');
  if (dot == std::string_view::npos) return;
  const std::string_view number = id.substr(dot + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), seen_);
  if (error == std::errc{} && end == number.data() + number.size()) epoch_ = id.substr(0, dot);
}

std::string FleetEvents::next() {
  if (!newest_) return {};
  if (options_.agents) {
    if (std::string text = next_agents(); !text.empty()) return text;
  }
  return next_enforcement();
}

// The id comes with the last event of a list, because only then has the reader seen all of it. The first event of a
// whole list takes the id back: a reader that gets only a part must not go on from the list before.
std::string FleetEvents::next_agents() {
  if (!sending_) {
    const bool goes_on = newest_->epoch() == epoch_ && seen_ >= newest_->gone_since() && seen_ <= newest_->number();
    if (goes_on && seen_ == newest_->number()) return {};
    sending_ = newest_;
    whole_ = !goes_on;
    at_ = 0;
  }
  const bool first = at_ == 0;
  const auto& agents = sending_->agents();
  std::string items;
  std::size_t count = 0;
  for (; at_ < agents.size() && count < kPerEvent; ++at_) {
    if (!whole_ && agents[at_]->changed <= seen_) continue;
    add_to(items, agents[at_]->read.document);
    ++count;
  }
  const bool more = at_ < agents.size();
  std::string gone;
  if (!more && !whole_) {
    for (const auto& agent : sending_->gone()) {
      if (agent->changed > seen_) add_to(gone, agent->read.identity);
    }
  }
  const std::string data =
      fmt::format(R"({{"whole":{},"more":{},"items":[{}],"gone":[{}]}})", whole_ && first, more, items, gone);
  if (more) return event("agents", data, whole_ && first ? "id\n" : "");
  epoch_ = sending_->epoch();
  seen_ = sending_->number();
  sending_ = nullptr;
  return event("agents", data, fmt::format("id: {}.{}\n", epoch_, seen_));
}

std::string FleetEvents::next_enforcement() {
  const std::int64_t revision = options_.revision.value_or(newest_->newest());
  const Enforcement found = enforcement_of(newest_->groups(), revision);
  std::string data = fmt::format(R"({{"newest":{},"revision":{},"enforced_by_all":{},"agents":{}}})", newest_->newest(),
                                 revision, found.by_all, found.agents);
  if (data == enforcement_) return {};
  enforcement_ = std::move(data);
  return event("enforcement", enforcement_);
}

std::string stale_event(std::string_view detail) {
  if (detail.empty()) return event("stale", R"({"stale":false,"detail":null})");
  return event("stale", fmt::format(R"({{"stale":true,"detail":{}}})", json::string_literal(detail)));
}

std::string end_event(std::string_view problem) { return event("end", problem); }

}  // namespace sluice::server::admin
