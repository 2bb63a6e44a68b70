// Configuration files of envoyproxy/ratelimit.
//
// A descriptor of a request is a list of keys with values, and a rule is a path of such keys. Each rule with a limit
// becomes a policy: its scope has the domain as attr.domain and each key as attr.KEY, and keys without a value name the
// counter. The peer's windows begin at multiples of the unit since 1970: fixed windows with align `epoch`.
#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "server/imports/limit_set.hpp"
#include "server/imports/sources.hpp"
#include "server/imports/yaml_source.hpp"

namespace sluice::server::imports {
namespace {

struct Unit {
  std::string_view name;
  std::chrono::seconds length;
};
constexpr std::array kUnits{Unit{"second", std::chrono::seconds(1)}, Unit{"minute", std::chrono::minutes(1)},
                            Unit{"hour", std::chrono::hours(1)},     Unit{"day", std::chrono::days(1)},
                            Unit{"week", std::chrono::days(7)},      Unit{"month", std::chrono::days(30)},
                            Unit{"year", std::chrono::days(365)}};

struct Entry {
  std::string key;
  std::string value;            // "": any value
  bool shares_counter = false;  // all values that a wildcard matches have one counter
};
using Path = std::vector<Entry>;

class RuleReader {
 public:
  RuleReader(const YamlSource& source, Draft& draft) : source_(source), draft_(draft) {}

  void read_document(const json::Value& document) {
    Section section(source_, document);
    section.require("domain", "it is the name that requests come with");
    domain_ = section.text("domain").value_or("");
    Path path;
    read_list(section, path);
    section.note_rest("a configuration of envoyproxy/ratelimit");
    if (keys_.size() > 1) {
      draft_.note(
          section.place_of("domain"), "domain",
          "envoyproxy/ratelimit applies a rule to descriptors with exactly its keys; a policy also matches checks "
          "that have more attributes",
          "send the entries of one descriptor in each check");
    }
  }

 private:
  void read_list(Section& section, Path& path) {
    const std::span<const json::Value> items = section.list("descriptors");
    for (const json::Value& item : items) {
      const auto same_key = std::ranges::count_if(
          items, [&item](const json::Value& other) { return other.text_of("key") == item.text_of("key"); });
      read_rule(item, same_key > 1, path);
    }
  }

  void read_rule(const json::Value& item, bool has_siblings, Path& path) {
    Section section(source_, item);
    section.require("key", "it is the key of a descriptor's entry");
    Entry entry{section.text("key").value_or(""), section.text("value").value_or("")};
    entry.shares_counter = section.boolean("share_threshold").value_or(false);
    keys_.insert(entry.key);
    path.push_back(std::move(entry));
    const json::Value* const limit = section.take("rate_limit");
    const bool shadow = section.boolean("shadow_mode").value_or(false);
    if (section.boolean("quota_mode").value_or(false)) {
      section.note("quota_mode", "the peer answers OK and puts the outcome into metadata; the policy denies");
    }
    const bool has_children = item.find("descriptors") != nullptr;
    if (limit != nullptr) {
      add_limit(*limit, section, shadow, path);
    } else if (!has_children || has_siblings) {
      add_unlimited(section.place(), path);
    }
    read_list(section, path);
    for (const std::string_view name : {"detailed_metric", "value_to_metric"}) {
      section.drop(name, "it is for the peer's metrics", "see the analytics and metrics of Sluice");
    }
    section.drop("metadata", "the peer's answers do not come from here");
    section.note_rest("a descriptor of envoyproxy/ratelimit");
    path.pop_back();
  }

  Policy policy_of(const Path& path, std::vector<DimensionRef>& keys) {
    Policy policy;
    std::string words;
    require_value(policy, attribute("domain"), domain_);
    for (const Entry& entry : path) {
      const bool is_open = entry.value.empty() || entry.value.ends_with('*');
      require_value(policy, attribute(entry.key), entry.value.empty() ? "*" : entry.value);
      if (is_open && !entry.shares_counter) keys.push_back(attribute(entry.key));
      words.append(entry.key).append("-").append(entry.value).append("-");
    }
    policy.id = draft_.make_id({"envoy", domain_, words});
    return policy;
  }

  void add_limit(const json::Value& value, const Section& rule, bool shadow, const Path& path) {
    Section section(source_, value);
    const bool unlimited = section.boolean("unlimited").value_or(false);
    const std::string name = section.text("name").value_or("");
    section.drop("replaces",
                 "one policy decides here, the one with the most attributes, so no other limit is charged "
                 "for the same descriptor; limits of other descriptors are not replaced",
                 "raise the other limit for these requests with a policy of higher priority");
    if (unlimited) {
      section.leave_aside({"unit", "requests_per_unit"});
      section.note_rest("rate_limit");
      return add_unlimited(rule.place(), path);
    }
    section.require("unit", "it is second, minute, hour, day, week, month or year");
    section.require("requests_per_unit", "it is how many requests are allowed");
    std::string unit = section.text("unit").value_or("second");
    for (char& c : unit) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const auto* const found = std::ranges::find(kUnits, unit, &Unit::name);
    if (found == kUnits.end()) {
      return section.fault(
          "unit", fmt::format("unit must be second, minute, hour, day, week, month or year, not {}", quoted(unit)));
    }
    const std::int64_t count = section.integer("requests_per_unit", 0, UINT32_MAX).value_or(0);
    section.note_rest("rate_limit");
    std::vector<DimensionRef> keys;
    Policy policy = policy_of(path, keys);
    set_limits(policy, {{window_limit(limit_name(name, unit), count, found->length, Align::epoch), std::move(keys)}});
    if (shadow) policy.enforcement.action = Action::shadow_only;
    draft_.add(std::move(policy), rule.place());
  }

  // A policy in mode `off` decides, so that no wider rule does.
  void add_unlimited(Place at, const Path& path) {
    std::vector<DimensionRef> keys;
    Policy policy = policy_of(path, keys);
    set_limits(policy, {{window_limit("unlimited", 1, std::chrono::seconds(1), Align::epoch), {}}});
    policy.enforcement.mode = Mode::off;
    draft_.add(std::move(policy), at);
  }

  const YamlSource& source_;
  Draft& draft_;
  std::string domain_;
  std::set<std::string> keys_;
};

}  // namespace

void read_envoy_ratelimit(std::span<const Source> sources, Draft& draft) {
  for (std::size_t file = 0; file < sources.size(); ++file) {
    const YamlSource source(sources[file].text, file, draft);
    for (const json::Value* document : source.documents()) RuleReader(source, draft).read_document(*document);
  }
}

}  // namespace sluice::server::imports
