// Requests of Gubernator: {"requests": [{name, unique_key, limit, duration, algorithm, behavior, burst}]}, or the list.
//
// TOKEN_BUCKET: `limit` hits, all of them back `duration` ms after the first one: a fixed window with align `first`.
// With DURATION_IS_GREGORIAN the window is a calendar interval. LEAKY_BUCKET: room for `burst` hits (by default
// `limit`), which come back at limit / duration: that is a token bucket. Gubernator never tells a caller to wait, so it
// is not the leaky_bucket of Sluice, whose answers have delay_ms. The name becomes the operation, the unique_key the
// subject.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/domain/limit_numbers.hpp"
#include "server/imports/limit_set.hpp"
#include "server/imports/sources.hpp"
#include "server/imports/yaml_source.hpp"

namespace sluice::server::imports {
namespace {

constexpr std::int64_t kMaxMillis = std::chrono::duration_cast<std::chrono::milliseconds>(kMaxWindow).count();

enum Behavior : std::int64_t { no_batching = 1, global = 2, gregorian = 4, reset = 8, multi_region = 16, drain = 32 };
struct BehaviorName {
  std::string_view name;
  std::int64_t flag;
};
constexpr std::array kBehaviors{BehaviorName{"BATCHING", 0},
                                BehaviorName{"NO_BATCHING", no_batching},
                                BehaviorName{"GLOBAL", global},
                                BehaviorName{"DURATION_IS_GREGORIAN", gregorian},
                                BehaviorName{"RESET_REMAINING", reset},
                                BehaviorName{"MULTI_REGION", multi_region},
                                BehaviorName{"DRAIN_OVER_LIMIT", drain}};

struct Request {
  std::string name;
  std::string unique_key;
  Limit limit;
  Place at;

  bool same_limit(const Request& other) const { return name == other.name && limit == other.limit; }
};

std::optional<std::int64_t> flag_of(std::string_view name) {
  const auto* const found = std::ranges::find(kBehaviors, name, &BehaviorName::name);
  if (found == kBehaviors.end()) return std::nullopt;
  return found->flag;
}

// A number of flags, a name, or a list of names.
std::int64_t read_behavior(Section& section) {
  const json::Value* const value = section.take("behavior");
  if (value == nullptr) return 0;
  if (value->type() == json::Type::number) return section.integer("behavior", 0, 63).value_or(0);
  std::int64_t flags = 0;
  const auto add = [&section, &flags](const std::string& name) {
    const auto flag = flag_of(name);
    if (flag) {
      flags |= *flag;
    } else {
      section.note("behavior", fmt::format("{} is not a behavior that is known, and was left out", quoted(name)));
    }
  };
  if (value->type() == json::Type::array) {
    for (const std::string& name : section.texts("behavior")) add(name);
  } else if (const auto name = section.text("behavior")) {
    add(*name);
  }
  return flags;
}

void note_behavior(Section& section, std::int64_t flags) {
  if ((flags & global) != 0) {
    section.note("behavior",
                 "GLOBAL lets each peer count for itself for a while, so that more than the limit passes; "
                 "Sluice counts exactly");
  }
  if ((flags & multi_region) != 0) {
    section.note("behavior",
                 "MULTI_REGION adds up the counts of several data centers; the counters of Sluice are in "
                 "one Redis",
                 "run agents of all regions against one Redis, or divide the limit");
  }
  if ((flags & reset) != 0) {
    section.note("behavior", "RESET_REMAINING is an act of one request, not a rule",
                 "reset a counter with POST /v1/admin/counters/reset");
  }
  if ((flags & drain) != 0) {
    section.note("behavior",
                 "DRAIN_OVER_LIMIT takes what is left when a request asks for more; Sluice charges a denied "
                 "request nothing, so a smaller one may still pass");
  }
}

constexpr std::string_view kIntervals = "0 (minute), 1 (hour), 2 (day), 3 (week), 4 (month) or 5 (year)";

Limit calendar_limit(Section& section, std::int64_t count) {
  constexpr std::array kPeriods{Period::hour, Period::hour, Period::day, Period::week, Period::month, Period::year};
  const std::int64_t interval = section.integer("duration", 0, 5).value_or(0);
  if (interval >= 2) {
    section.note("duration", "the interval begins at midnight in Gubernator's time zone; Sluice takes UTC",
                 "set `anchor` in the limit for another time zone");
  }
  if (interval == 0) return window_limit("gregorian", count, std::chrono::minutes(1), Align::epoch);
  return quota_limit("gregorian", count, kPeriods[static_cast<std::size_t>(interval)]);
}

std::optional<bool> is_leaky(Section& section) {
  const std::string algorithm = section.text("algorithm").value_or("TOKEN_BUCKET");
  if (algorithm == "TOKEN_BUCKET" || algorithm == "0") return false;
  if (algorithm == "LEAKY_BUCKET" || algorithm == "1") return true;
  section.fault("algorithm", fmt::format("algorithm must be TOKEN_BUCKET or LEAKY_BUCKET, not {}", quoted(algorithm)));
  return std::nullopt;
}

Limit read_limit(Section& section) {
  const std::int64_t flags = read_behavior(section);
  note_behavior(section, flags);
  const bool leaky = is_leaky(section).value_or(false);
  const std::int64_t count = section.integer("limit", 0, kMaxLimit).value_or(0);
  const std::int64_t burst = section.integer("burst", 0, kMaxLimit).value_or(0);
  const bool by_calendar = (flags & gregorian) != 0;
  if (!leaky) {
    if (burst > 0) section.note("burst", "Gubernator has no burst in a TOKEN_BUCKET, so it was left out");
    if (by_calendar) return calendar_limit(section, count);
    const std::int64_t millis = section.integer("duration", 1, kMaxMillis).value_or(1);
    return window_limit("token_bucket", count, std::chrono::milliseconds(millis), Align::first);
  }
  std::int64_t millis = 1;
  if (by_calendar) {
    constexpr std::array<std::int64_t, 6> kSeconds{60, 3'600, 86'400, 604'800, 2'592'000, 31'536'000};
    const std::int64_t interval = section.integer("duration", 0, 5).value_or(0);
    millis = kSeconds[static_cast<std::size_t>(interval)] * 1000;
    section.note("duration", fmt::format("a LEAKY_BUCKET of a calendar interval was made one of {} s; in Gubernator it "
                                         "is also full again when it was not asked until the interval's end",
                                         millis / 1000));
  } else {
    millis = section.integer("duration", 1, kMaxMillis).value_or(1);
  }
  const std::int64_t room = burst > 0 ? burst : count;
  // A rate must be above zero. A bucket without room denies everything, whatever its rate is.
  return bucket_limit("leaky_bucket", Algorithm::token_bucket, count == 0 ? 0 : room, std::max<std::int64_t>(count, 1),
                      std::chrono::milliseconds(millis));
}

void read_request(const YamlSource& source, const json::Value& value, std::vector<Request>& out) {
  Section section(source, value);
  if (out.size() == Draft::kMaxPolicies) {
    return section.draft().fault(
        section.place(), fmt::format("an import takes at most {} requests: divide the files", Draft::kMaxPolicies));
  }
  section.require("name", "it names the limit");
  section.require("limit", "it is how many hits are allowed");
  section.require("duration",
                  fmt::format("it is a time in milliseconds, or with DURATION_IS_GREGORIAN one of {}", kIntervals));
  Request request;
  request.at = section.place();
  request.name = section.text("name").value_or("");
  request.unique_key = section.text("unique_key").value_or("");
  request.limit = read_limit(section);
  section.leave_aside({"hits", "created_at"});  // of one call; a check says its cost
  section.drop("metadata", "it belongs to one call and not to the limit");
  section.note_rest("a request of Gubernator");
  out.push_back(std::move(request));
}

// One policy for the requests of a name that have the same limit. Where a name has several limits, each policy names
// its keys.
void add_policy(const std::vector<Request>& all, std::size_t first, std::set<std::size_t>& done, Draft& draft) {
  const Request& request = all[first];
  std::vector<std::string> keys;
  bool only = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name != request.name) continue;
    if (!request.same_limit(all[i])) {
      only = false;
    } else if (done.insert(i).second) {
      keys.push_back(all[i].unique_key);
    }
  }
  Policy policy;
  require_value(policy, dimension(Dimension::operation), request.name);
  const bool any_key = only || std::ranges::find(keys, std::string()) != keys.end();
  if (!any_key) {
    for (std::string& key : keys) require_value(policy, dimension(Dimension::subject), std::move(key));
  }
  policy.id = draft.make_id({"gubernator", request.name, any_key ? "" : policy.scope.back().values.front()});
  set_limits(policy, {{request.limit, {dimension(Dimension::subject)}}});
  draft.add(std::move(policy), request.at);
}

void check_keys(const std::vector<Request>& all, Draft& draft) {
  std::map<std::pair<std::string_view, std::string_view>, const Request*> first;
  for (const Request& request : all) {
    const Request& other =
        *first.emplace(std::pair<std::string_view, std::string_view>(request.name, request.unique_key), &request)
             .first->second;
    if (!request.same_limit(other)) {
      draft.fault(request.at, fmt::format("{} with the unique_key {} has another limit on line {}: keep one",
                                          quoted(request.name), quoted(request.unique_key), other.at.line));
    }
    if (request.unique_key.ends_with('*')) {
      draft.fault(request.at,
                  fmt::format("unique_key {} ends in *, which means any ending in a policy: write this one by "
                              "hand, with match_expr",
                              quoted(request.unique_key)));
    }
  }
}

}  // namespace

void read_gubernator(std::span<const Source> sources, Draft& draft) {
  std::vector<Request> requests;
  for (std::size_t file = 0; file < sources.size(); ++file) {
    const YamlSource source(sources[file].text, file, draft);
    for (const json::Value* document : source.documents()) {
      if (document->type() == json::Type::array) {
        for (const json::Value& item : document->items()) read_request(source, item, requests);
        continue;
      }
      Section section(source, *document);
      section.require("requests", "it is the list of requests");
      for (const json::Value& item : section.list("requests")) read_request(source, item, requests);
      section.note_rest("a call of Gubernator");
    }
  }
  check_keys(requests, draft);
  if (!draft.faultless()) return;
  std::set<std::size_t> done;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!done.contains(i)) add_policy(requests, i, done, draft);
  }
}

}  // namespace sluice::server::imports
