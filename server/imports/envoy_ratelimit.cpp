// Configuration files of envoyproxy/ratelimit, read as the agent reads them.
//
// A descriptor of a request is a list of keys with values, and a rule is a path of such keys. Each rule with a limit
// becomes a policy: its scope has the domain as attr.domain and each key as attr.KEY, and keys without a value name the
// counter. The peer's windows begin at multiples of the unit since 1970: fixed windows with align `epoch`.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/base/letter_case.hpp"
#include "common/base/text.hpp"
#include "common/rls_config/config_reader.hpp"
#include "server/imports/limit_set.hpp"
#include "server/imports/sources.hpp"

namespace sluice::server::imports {
namespace {

using Nodes = std::vector<const rls_config::Node*>;  // from the first level of a domain to a descriptor

Nodes in_order(const rls_config::Node& parent) {
  Nodes nodes;
  for (const auto& [name, child] : parent.children) nodes.push_back(child.get());
  std::ranges::sort(nodes, {}, &rls_config::Node::index);
  return nodes;
}

Place place_of(const rls_config::Node& node) { return {node.file, node.line}; }
bool is_open(const rls_config::Node& node) { return node.value().empty() || node.value().ends_with('*'); }

class DomainReader {
 public:
  DomainReader(std::string_view domain, Draft& draft) : domain_(domain), draft_(draft) {}

  void read(const rls_config::Node& root) {
    Nodes path;
    read_level(root, false, path);
    if (keys_.size() < 2) return;
    draft_.note(
        place_of(root), "domain",
        "envoyproxy/ratelimit applies a rule to descriptors with exactly its keys; a policy also matches checks "
        "that have more attributes",
        "send the entries of one descriptor in each check");
  }

 private:
  // `under_rule`: a level above has a limit, which its policy must not bring to the levels below.
  void read_level(const rls_config::Node& parent, bool under_rule, Nodes& path) {
    const Nodes nodes = in_order(parent);
    std::map<std::string_view, std::size_t> same_key;
    for (const rls_config::Node* node : nodes) ++same_key[node->key()];
    for (const rls_config::Node* node : nodes) {
      if (!draft_.faultless()) return;
      if (!is_expressible(*node, parent, path)) continue;
      keys_.insert(std::string(node->key()));
      path.push_back(node);
      if (node->rule) {
        read_rule(*node->rule, path);
      } else if (same_key[node->key()] > 1 || under_rule) {
        add_unlimited(path);
      }
      note_metrics(*node);
      read_level(*node, under_rule || node->rule.has_value(), path);
      path.pop_back();
    }
  }

  // Notes a descriptor that no scope can say, or that the peer never finds.
  bool is_expressible(const rls_config::Node& node, const rls_config::Node& parent, const Nodes& path) {
    constexpr std::string_view kByHand = "write its policy by hand";
    if (node.key().ends_with('*')) {
      draft_.note(place_of(node), node.name, "it matches keys by their beginning, so it was left out",
                  std::string(kByHand));
      return false;
    }
    const auto has_key = [&node](const rls_config::Node* other) { return other->key() == node.key(); };
    if (std::ranges::any_of(path, has_key)) {
      draft_.note(place_of(node), node.name, "a level above has the same key, and a check has an attribute once",
                  std::string(kByHand));
      return false;
    }
    for (const rls_config::Node* other : parent.wildcards) {
      if (other == &node || !node.name.ends_with('*')) break;
      if (!node.name.starts_with(std::string_view(other->name).substr(0, other->name.size() - 1))) continue;
      draft_.note(place_of(node), node.name,
                  fmt::format("line {} is found first, so the peer never comes here; it was left out", other->line),
                  "");
      return false;
    }
    return true;
  }

  void note_metrics(const rls_config::Node& node) {
    if (node.value_to_metric || (node.rule && node.rule->detailed_metric)) {
      draft_.note(place_of(node), node.value_to_metric ? "value_to_metric" : "detailed_metric",
                  "it is for the peer's metrics", "see the analytics and metrics of Sluice");
    }
  }

  Policy policy_of(const Nodes& path, std::vector<DimensionRef>& keys) {
    Policy policy;
    std::string words;
    require_value(policy, attribute("domain"), domain_);
    for (const rls_config::Node* node : path) {
      const std::string value(node->value());
      require_value(policy, attribute(node->key()), value.empty() ? "*" : value);
      if (is_open(*node) && !node->share_threshold) keys.push_back(attribute(node->key()));
      words.append(node->key()).append("-").append(value).append("-");
    }
    policy.id = draft_.make_id({"envoy", domain_, words});
    return policy;
  }

  void read_rule(const rls_config::Rule& rule, const Nodes& path) {
    const Place at = place_of(*path.back());
    if (rule.quota_mode) {
      draft_.note(at, "quota_mode", "the peer answers OK and puts the outcome into metadata; the policy denies");
    }
    if (!rule.metadata.empty()) draft_.note(at, "metadata", "answers have no metadata of a policy");
    if (!rule.replaces.empty()) {
      draft_.note(at, "replaces",
                  "one policy decides here, the one with the most attributes, so no other limit is charged "
                  "for the same descriptor; limits of other descriptors are not replaced",
                  "raise the other limit for these requests with a policy of higher priority");
    }
    if (rule.unlimited) return add_unlimited(path);
    std::vector<DimensionRef> keys;
    Policy policy = policy_of(path, keys);
    std::string name = limit_name(rule.name, lower_case(rls_config::to_string(rule.unit)));
    set_limits(policy, {{window_limit(std::move(name), rule.requests_per_unit, length_of(rule.unit), Align::epoch),
                         std::move(keys)}});
    if (rule.shadow_mode) policy.enforcement.action = Action::shadow_only;
    draft_.add(std::move(policy), at);
  }

  // A policy in mode `off` decides, so that no wider rule does.
  void add_unlimited(const Nodes& path) {
    std::vector<DimensionRef> keys;
    Policy policy = policy_of(path, keys);
    set_limits(policy, {{window_limit("unlimited", 1, std::chrono::seconds(1), Align::epoch), {}}});
    policy.enforcement.mode = Mode::off;
    draft_.add(std::move(policy), place_of(*path.back()));
  }

  std::string domain_;
  Draft& draft_;
  std::set<std::string> keys_;
};

// The sources' positions are the names, because two sources may have the same name.
std::size_t file_of(const rls_config::FileFaults& faults) { return static_cast<std::size_t>(std::stoul(faults.file)); }

}  // namespace

void read_envoy_ratelimit(std::span<const Source> sources, Draft& draft) {
  std::vector<rls_config::FileText> files;
  for (const Source& source : sources) files.push_back({std::to_string(files.size()), source.text});
  const auto read = rls_config::read_config(files);
  if (!read) {
    for (const rls_config::FileFaults& file : read.error()) {
      for (const Fault& fault : file.faults) {
        draft.fault({file_of(file), fault.line}, fmt::format("{}: {}", fault.pointer, fault.text));
      }
    }
    return;
  }
  for (const rls_config::FileFaults& file : read->notes) {
    for (const Fault& note : file.faults) draft.note({file_of(file), note.line}, note.pointer, note.text);
  }
  std::vector<std::pair<std::string_view, const rls_config::Node*>> domains;
  for (const auto& [domain, root] : read->config->domains) domains.emplace_back(domain, &root);
  std::ranges::sort(domains, {}, [](const auto& each) { return each.second->index; });
  for (const auto& [domain, root] : domains) DomainReader(domain, draft).read(*root);
}

}  // namespace sluice::server::imports
