#include "engine/follow/fetch.hpp"

#include <fmt/core.h>

#include <utility>

#include "engine/follow/server_link.hpp"

namespace sluice::follow {
namespace {

constexpr std::size_t kMaxFaultsListed = 3;

std::string text_of(const Faults& faults) {
  std::string text;
  for (std::size_t i = 0; i < faults.size() && i < kMaxFaultsListed; ++i) {
    text += fmt::format("{}{}{}{}", i == 0 ? "" : "; ", faults[i].pointer, faults[i].pointer.empty() ? "" : ": ",
                        faults[i].text);
  }
  if (faults.size() > kMaxFaultsListed) text += fmt::format("; and {} more", faults.size() - kMaxFaultsListed);
  return text;
}

FetchReply refuse_or_resync(bool since_given, std::optional<sync::Position> head, Error why) {
  if (since_given) return NeedFullSnapshot{std::move(why.text)};
  return RefusedState{std::move(head), std::move(why)};
}

FetchReply read_document(const sync::ScopeState& before, bool since_given, const std::string& body) {
  const auto document = sync::parse_snapshot(body);
  if (!document) return refuse_or_resync(since_given, std::nullopt, {"unreadable_snapshot", text_of(document.error())});
  const bool full = !document->since;
  auto applied = full ? sync::replace(before, *document) : sync::apply(before, *document);
  // A full snapshot that cannot be used is not fetched again at once: the server would send the same one.
  if (!applied) return refuse_or_resync(since_given && !full, document->head, std::move(applied.error()));
  return NewState{*std::move(applied), full};
}

}  // namespace

FetchReply read_reply(const sync::ScopeState& before, bool since_given, const Result<http_client::Response>& answer) {
  if (!answer && answer.error().code == "too_large") return refuse_or_resync(since_given, std::nullopt, answer.error());
  if (!answer) return FailedFetch{answer.error()};
  switch (answer->status) {
    case 200:
      return read_document(before, since_given, answer->body);
    case 304:
      if (since_given) return NotModified{};
      return FailedFetch{{"status", "the server answers 304 to a request for a full snapshot"}};
    case 410:
      if (since_given) return NeedFullSnapshot{"the server does not know the position (410)"};
      [[fallthrough]];
    default:
      return FailedFetch{refused_by_server("the snapshot", *answer)};
  }
}

}  // namespace sluice::follow
