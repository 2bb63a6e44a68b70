#include "common/redis/sentinel_search.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "common/redis/handshake.hpp"

namespace sluice::redis {
namespace {

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<HostPort> read_address(std::string_view host, std::string_view port) {
  const auto number = read_number<std::uint16_t>(port);
  if (!is_host(host) || !number || *number == 0) return std::nullopt;
  return HostPort{std::string(host), *number};
}

// SENTINEL MASTER lists names and values in turn.
std::optional<std::string_view> field(const Reply& master, std::string_view name) {
  for (std::size_t i = 0; i + 1 < master.elements.size(); i += 2) {
    if (master.elements[i].text == name) return master.elements[i + 1].text;
  }
  return std::nullopt;
}

bool lists(std::string_view flags, std::string_view flag) {
  for (;;) {
    const std::size_t comma = flags.find(',');
    if (flags.substr(0, comma) == flag) return true;
    if (comma == std::string_view::npos) return false;
    flags.remove_prefix(comma + 1);
  }
}

Error not_a_view(std::string_view what) {
  return {"protocol", fmt::format("it answers with {}: is this a Sentinel?", what)};
}

bool better(const SentinelSearch::Candidate& left, const SentinelSearch::Candidate& right) {
  return left.votes != right.votes ? left.votes > right.votes : left.config_epoch > right.config_epoch;
}

// Whether `code` means that the sentinel was not reached. Errors from sentinels that were reached explain more.
bool unreached(std::string_view code) {
  static constexpr std::array kCodes{"refused", "unreachable", "timeout", "resolve", "disconnected"};
  return std::ranges::find(kCodes, code) != kCodes.end();
}

}  // namespace

Error sentinel_error(const Reply& reply) {
  const std::string_view code = reply.error_code();
  const std::string said = quote(reply);
  if (code == "IDONTKNOW" || reply.text.starts_with("ERR No such master")) {
    return {"unknown_primary", fmt::format("it watches no primary of that name ({}); see `sentinel monitor`", said)};
  }
  if (code == "NOAUTH") return {"sentinel_login", "it demands a password, and none was given for the sentinels"};
  if (code == "WRONGPASS") return {"sentinel_login", fmt::format("it refuses the sentinels' login ({})", said)};
  if (code == "NOPERM") {
    return {"sentinel_login",
            fmt::format("its user lacks a permission ({}): grant +info +ping +subscribe +unsubscribe +sentinel|master "
                        "+sentinel|get-master-addr-by-name &+switch-master",
                        said)};
  }
  return not_a_view(fmt::format("the error '{}'", said));
}

Result<HostPort> read_primary(const Reply& reply) {
  if (reply.is_error()) return std::unexpected(sentinel_error(reply));
  if (reply.type == Reply::Type::nil) {
    return failure("unknown_primary", "it watches no primary of that name; see `sentinel monitor`");
  }
  if (reply.elements.size() != 2) return std::unexpected(not_a_view("no address"));
  const auto primary = read_address(reply.elements[0].text, reply.elements[1].text);
  if (!primary) return std::unexpected(not_a_view("an invalid address"));
  return *primary;
}

Result<SentinelView> read_view(Result<HostPort> primary, const Reply& reply) {
  if (!primary) return std::unexpected(std::move(primary.error()));
  if (reply.is_error()) return std::unexpected(sentinel_error(reply));
  const auto flags = field(reply, "flags");
  const auto epoch = read_number<std::uint64_t>(field(reply, "config-epoch").value_or(""));
  if (!flags || !epoch) return std::unexpected(not_a_view("no flags or no config-epoch"));
  if (!lists(*flags, "master")) return std::unexpected(not_a_view("a Redis that is not a primary"));
  return SentinelView{*std::move(primary), *epoch, lists(*flags, "s_down") || lists(*flags, "o_down")};
}

std::optional<HostPort> read_switch(std::string_view message, std::string_view primary_name) {
  std::array<std::string_view, 5> words;  // NAME OLD-HOST OLD-PORT HOST PORT
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t space = message.find(' ');
    if ((space == std::string_view::npos) != (i + 1 == words.size())) return std::nullopt;
    words[i] = message.substr(0, space);
    message.remove_prefix(space == std::string_view::npos ? message.size() : space + 1);
  }
  if (words[0] != primary_name) return std::nullopt;
  return read_address(words[3], words[4]);
}

void SentinelSearch::begin(TimePoint deadline) {
  std::ranges::fill(answers_, Answer{});
  ends_at_ = deadline;
  settling_ = false;
  under_way_ = true;
}

void SentinelSearch::answered(std::size_t sentinel, Result<SentinelView> view, TimePoint now) {
  Answer& answer = answers_[sentinel];
  if (std::exchange(answer.given, true)) return;
  answer.view = std::move(view);
  if (!answer.view || std::exchange(settling_, true)) return;
  ends_at_ = std::min(ends_at_, now + kSettle);
}

bool SentinelSearch::enough(TimePoint now) const {
  if (now >= ends_at_ || std::ranges::all_of(answers_, &Answer::given)) return true;
  return std::ranges::any_of(answers_, [this](const Answer& each) {
    if (!each.view) return false;
    const auto agree = std::ranges::count_if(answers_, [&each](const Answer& other) {
      return other.view && !other.view->down && other.view->primary == each.view->primary;
    });
    return static_cast<std::size_t>(agree) > answers_.size() / 2;
  });
}

std::vector<SentinelSearch::Candidate> SentinelSearch::finish() {
  under_way_ = false;
  std::vector<Candidate> candidates;
  for (const Answer& answer : answers_) {
    if (!answer.view) continue;
    auto same = std::ranges::find(candidates, answer.view->primary, &Candidate::address);
    if (same == candidates.end()) same = candidates.insert(same, {.address = answer.view->primary});
    ++same->votes;
    same->config_epoch = std::max(same->config_epoch, answer.view->config_epoch);
  }
  // A stable insertion sort, because std::stable_sort uses a deprecated library function.
  std::vector<Candidate> ranked;
  for (Candidate& each : candidates) {
    ranked.insert(std::ranges::upper_bound(ranked, each, better), std::move(each));
  }
  return ranked;
}

Error SentinelSearch::why_nobody() const {
  const auto telling = std::ranges::find_if(
      answers_, [](const Answer& each) { return !each.view && !unreached(each.view.error().code); });
  Error why = (telling == answers_.end() ? answers_.front() : *telling).view.error();
  why.text.clear();
  const auto silent = std::ranges::count(answers_, false, &Answer::given);
  if (silent > 0) why.text = fmt::format("{} of {} sentinels did not answer in time", silent, answers_.size());
  for (const Answer& each : answers_) {
    if (each.given && !each.view) why.text += (why.text.empty() ? "" : "; ") + each.view.error().text;
  }
  return why;
}

}  // namespace sluice::redis
