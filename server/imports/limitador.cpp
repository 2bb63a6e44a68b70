// Limits files of Limitador.
//
// Limitador judges all limits whose conditions and variables a request meets, and charges all or none. A counter begins
// with its first hit, and ends `seconds` later: a fixed window with align `first`. Sluice lets one policy decide, so
// limits with the same conditions become one policy, and a policy of narrower conditions repeats the limits of wider
// ones.
#include <algorithm>
#include <optional>
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

constexpr std::int64_t kMaxSeconds = std::chrono::duration_cast<std::chrono::seconds>(kMaxWindow).count();

enum class Test : std::uint8_t { present, equal, unequal };

struct Condition {
  std::string key;
  Test test = Test::present;
  std::string value;

  auto operator<=>(const Condition&) const = default;
};
using Conditions = std::vector<Condition>;  // sorted

struct LimitadorLimit {
  std::string space;  // `namespace`
  std::string name;
  std::int64_t most = 0;
  std::int64_t seconds = 0;
  Conditions conditions;
  std::vector<std::string> variables;
  Place at;
};

struct Group {
  std::string space;
  Conditions conditions;
  std::vector<const LimitadorLimit*> limits;
};

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

// "descriptors[0].KEY", "descriptors[0]['KEY']" or "KEY"; nullopt for everything else of CEL.
std::optional<std::string> key_of(std::string_view text) {
  constexpr std::string_view kDescriptor = "descriptors[0]";
  constexpr std::string_view kName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-:";
  text = trimmed(text);
  if (text.starts_with(kDescriptor)) {
    text.remove_prefix(kDescriptor.size());
    const bool indexed = text.size() > 4 && text[0] == '[' && (text[1] == '\'' || text[1] == '"') &&
                         text[text.size() - 2] == text[1] && text.back() == ']';
    if (indexed) {
      text = text.substr(2, text.size() - 4);
    } else if (text.starts_with('.')) {
      text.remove_prefix(1);
    } else {
      return std::nullopt;
    }
  }
  if (text.empty() || text.find_first_not_of(kName) != std::string_view::npos) return std::nullopt;
  return std::string(text);
}

// A text in quotes, or, as old files have it, one without.
std::optional<std::string> value_of(std::string_view text) {
  text = trimmed(text);
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"')) {
    const char quote = text.front();
    const std::string_view inner = text.substr(1, text.size() - 2);
    if (text.back() != quote || inner.find_first_of(std::string{quote, '\\'}) != std::string_view::npos)
      return std::nullopt;
    return std::string(inner);
  }
  if (text.empty() || text.find_first_of(" '\"()[]&|!=<>") != std::string_view::npos) return std::nullopt;
  return std::string(text);
}

std::optional<Condition> condition_of(std::string_view text) {
  for (const auto& [sign, test] : {std::pair{std::string_view("=="), Test::equal}, {"!=", Test::unequal}}) {
    const std::size_t at = text.find(sign);
    if (at == std::string_view::npos) continue;
    auto key = key_of(text.substr(0, at));
    auto value = value_of(text.substr(at + sign.size()));
    if (!key || !value) return std::nullopt;
    return Condition{*std::move(key), test, *std::move(value)};
  }
  return std::nullopt;
}

// Whether a request that meets `all` meets `one`.
bool implied(const Condition& one, const Conditions& all) {
  return std::ranges::any_of(all, [&one](const Condition& other) {
    if (other == one) return true;
    if (other.key != one.key || other.test != Test::equal) return false;
    return one.test == Test::present || (one.test == Test::unequal && other.value != one.value);
  });
}
bool implied(const Conditions& wide, const Conditions& narrow) {
  return std::ranges::all_of(wide, [&narrow](const Condition& one) { return implied(one, narrow); });
}
bool exclude_each_other(const Conditions& a, const Conditions& b) {
  return std::ranges::any_of(a, [&b](const Condition& one) {
    return std::ranges::any_of(b, [&one](const Condition& other) {
      if (one.key != other.key || one.test == Test::present || other.test == Test::present) return false;
      if (one.test == Test::equal && other.test == Test::equal) return one.value != other.value;
      return one.test != other.test && one.value == other.value;
    });
  });
}

// Adds the presence of the variables, and sorts. A value that is tested is there anyway.
void complete(LimitadorLimit& limit) {
  for (const std::string& variable : limit.variables) limit.conditions.push_back({variable, Test::present, {}});
  std::ranges::sort(limit.conditions);
  limit.conditions.erase(std::ranges::unique(limit.conditions).begin(), limit.conditions.end());
  const Conditions all = limit.conditions;
  std::erase_if(limit.conditions, [&all](const Condition& one) {
    return one.test == Test::present && std::ranges::any_of(all, [&one](const Condition& other) {
             return other.key == one.key && other.test == Test::equal;
           });
  });
}

void read_conditions(Section& section, LimitadorLimit& limit, bool& whole) {
  for (const std::string& text : section.texts("conditions")) {
    auto condition = condition_of(text);
    if (condition) {
      limit.conditions.push_back(*std::move(condition));
      continue;
    }
    whole = false;
    section.note("conditions",
                 fmt::format("{} compares more than one entry of the first descriptor with a text, so this limit was "
                             "left out",
                             quoted(text)),
                 "write a policy with a match_expr by hand");
  }
  for (const std::string& text : section.texts("variables")) {
    auto key = key_of(text);
    if (key) {
      limit.variables.push_back(*std::move(key));
      continue;
    }
    whole = false;
    section.note("variables",
                 fmt::format("{} is not an entry of the first descriptor, so this limit was left out", quoted(text)),
                 "write a policy with a key_by by hand");
  }
}

void read_limitador_limit(const YamlSource& source, const json::Value& value, std::vector<LimitadorLimit>& out) {
  Section section(source, value);
  LimitadorLimit limit;
  limit.at = section.place();
  section.require("namespace", "it is the domain that requests name");
  section.require("max_value", "it is how many hits are allowed");
  section.require("seconds", "it is the length of the window");
  limit.space = section.text("namespace").value_or("");
  limit.name = section.text("name").value_or("");
  if (auto id = section.text("id"); id && limit.name.empty()) limit.name = *std::move(id);
  limit.most = section.integer("max_value", 0, kMaxLimit).value_or(0);
  limit.seconds = section.integer("seconds", 1, kMaxSeconds).value_or(1);
  bool whole = section.is_map();
  read_conditions(section, limit, whole);
  section.note_rest("a limit of Limitador");
  if (!whole) return;
  if (out.size() == Draft::kMaxPolicies) {
    return section.draft().fault(
        limit.at, fmt::format("an import takes at most {} limits: divide the files", Draft::kMaxPolicies));
  }
  complete(limit);
  out.push_back(std::move(limit));
}

std::vector<Group> groups_of(const std::vector<LimitadorLimit>& limits) {
  std::vector<Group> groups;
  for (const LimitadorLimit& limit : limits) {
    const auto found = std::ranges::find_if(groups, [&limit](const Group& group) {
      return group.space == limit.space && group.conditions == limit.conditions;
    });
    if (found != groups.end()) {
      found->limits.push_back(&limit);
    } else {
      groups.push_back({limit.space, limit.conditions, {&limit}});
    }
  }
  return groups;
}

// Repeats the limits of wider groups, and notes what then counts apart.
std::vector<const LimitadorLimit*> limits_for(const Group& group, const std::vector<Group>& groups, Draft& draft) {
  std::vector<const LimitadorLimit*> limits = group.limits;
  for (const Group& other : groups) {
    if (&other == &group || other.space != group.space) continue;
    if (implied(other.conditions, group.conditions)) {
      for (const LimitadorLimit* limit : other.limits) {
        if (limits.size() > kMaxLimitsPerPlan) break;  // the policy will be refused
        limits.push_back(limit);
        draft.note(
            limit->at, fmt::format("max_value {}", limit->most),
            fmt::format("this limit also holds for the requests of the limit on line {}, which have a policy and "
                        "so counters of their own; both together let up to {} pass in {} s",
                        group.limits.front()->at.line, 2 * limit->most, limit->seconds),
            "lower one of the two numbers if the sum must hold");
      }
    } else if (draft.has_room_for_notes() && &group < &other && !implied(group.conditions, other.conditions) &&
               !exclude_each_other(group.conditions, other.conditions)) {
      draft.note(other.limits.front()->at, "conditions",
                 fmt::format("a request can meet these and those of the limit on line {}; Limitador then judges both, "
                             "Sluice lets one policy decide",
                             group.limits.front()->at.line),
                 "write a policy that has both conditions and both limits");
    }
  }
  return limits;
}

void set_conditions(Policy& policy, const Group& group) {
  require_value(policy, attribute("domain"), group.space);
  for (const Condition& condition : group.conditions) {
    const DimensionRef key = attribute(condition.key);
    const bool literal = !condition.value.ends_with('*') && !condition.value.empty();
    if (condition.test == Test::present) {
      require_value(policy, key, "*");
    } else if (condition.test == Test::equal && literal) {
      require_value(policy, key, condition.value);
    } else {
      require_expression(policy,
                         fmt::format("{} {} {}", expression_value(to_string(key)),
                                     condition.test == Test::equal ? "==" : "!=", expression_value(condition.value)));
      // Limitador: a request without the entry meets no condition on it.
      if (condition.test == Test::unequal) require_value(policy, key, "*");
    }
  }
  policy.priority = static_cast<std::int64_t>(group.conditions.size());
}

void add_group(const Group& group, const std::vector<Group>& groups, Draft& draft) {
  const std::vector<const LimitadorLimit*> limits = limits_for(group, groups, draft);
  std::string conditions;
  for (const Condition& condition : group.conditions)
    conditions.append(condition.key).append("-").append(condition.value).append("-");
  Policy policy;
  policy.id = draft.make_id({"limitador", group.space, group.limits.front()->name, conditions});
  set_conditions(policy, group);
  std::vector<KeyedLimit> keyed;
  for (const LimitadorLimit* limit : limits) {
    KeyedLimit made{
        window_limit(limit_name(limit->name, "limit"), limit->most, std::chrono::seconds(limit->seconds), Align::first),
        {}};
    for (const std::string& variable : limit->variables) made.keys.push_back(attribute(variable));
    keyed.push_back(std::move(made));
  }
  set_limits(policy, std::move(keyed));
  draft.add(std::move(policy), group.limits.front()->at);
}

}  // namespace

void read_limitador(std::span<const Source> sources, Draft& draft) {
  std::vector<LimitadorLimit> limits;
  for (std::size_t file = 0; file < sources.size(); ++file) {
    const YamlSource source(sources[file].text, file, draft);
    for (const json::Value* document : source.documents()) {
      if (document->type() != json::Type::array) {
        draft.fault(source.place_of(*document), "a limits file of Limitador is a list of limits");
        continue;
      }
      for (const json::Value& item : document->items()) read_limitador_limit(source, item, limits);
    }
  }
  if (!draft.faultless()) return;
  const std::vector<Group> groups = groups_of(limits);
  for (const Group& group : groups) add_group(group, groups, draft);
}

}  // namespace sluice::server::imports
