#include "agent/follow/fetch.hpp"

#include <fmt/core.h>

#include <utility>

#include "agent/follow/server_link.hpp"

namespace sluice::agent::follow {
namespace {

constexpr std::size_t kFaultsTold = 3;

std::string text_of(const Faults& faults) {
  std::string text;
  for (std::size_t i = 0; i < faults.size() && i < kFaultsTold; ++i) {
    text += fmt::format("{}{}{}{}", i == 0 ? "" : "; ", faults[i].pointer, faults[i].pointer.empty() ? "" : ": ",
                        faults[i].text);
  }
  if (faults.size() > kFaultsTold) text += fmt::format("; and {} more", faults.size() - kFaultsTold);
  return text;
}

FetchReply cannot_take(bool since_given, std::optional<sync::Position> head, Error why) {
  if (since_given) return AskForWhole{std::move(why.text)};
  return NotTaken{std::move(head), std::move(why)};
}

FetchReply judge_document(const sync::ScopeState& before, bool since_given, const std::string& body) {
  const auto document = sync::parse_snapshot(body);
  if (!document) return cannot_take(since_given, std::nullopt, {"unreadable_snapshot", text_of(document.error())});
  const bool whole = !document->since;
  auto applied = whole ? sync::replace(before, *document) : sync::apply(before, *document);
  // A whole state that was sent in place of a delta would be the same if asked for again.
  if (!applied) return cannot_take(since_given && !whole, document->head, std::move(applied.error()));
  return NewState{*std::move(applied), whole};
}

}  // namespace

FetchReply judge_reply(const sync::ScopeState& before, bool since_given, const Result<http_client::Response>& answer) {
  if (!answer && answer.error().code == "too_large") return cannot_take(since_given, std::nullopt, answer.error());
  if (!answer) return Unusable{answer.error()};
  switch (answer->status) {
    case 200:
      return judge_document(before, since_given, answer->body);
    case 304:
      if (since_given) return NotModified{};
      return Unusable{{"status", "the server answers 304 to a request for the whole state"}};
    case 410:
      if (since_given) return AskForWhole{"the server does not know the position (410)"};
      [[fallthrough]];
    default:
      return Unusable{refused_by_server("the snapshot", *answer)};
  }
}

}  // namespace sluice::agent::follow
