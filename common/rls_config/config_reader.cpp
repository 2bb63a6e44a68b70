#include "common/rls_config/config_reader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "common/base/text.hpp"
#include "common/json/edit.hpp"
#include "common/json/fields.hpp"
#include "common/json/tree.hpp"
#include "common/yaml/yaml.hpp"

namespace sluice::rls_config {
namespace {

constexpr std::size_t kMaxText = 4096;  // bytes of a domain, key, value or name

// The keys of the format that a level does not read itself. Where they mean nothing they are ignored.
constexpr std::array<std::string_view, 16> kKeys{"domain",
                                                 "descriptors",
                                                 "key",
                                                 "value",
                                                 "rate_limit",
                                                 "unit",
                                                 "requests_per_unit",
                                                 "unlimited",
                                                 "name",
                                                 "replaces",
                                                 "shadow_mode",
                                                 "quota_mode",
                                                 "detailed_metric",
                                                 "value_to_metric",
                                                 "share_threshold",
                                                 "metadata"};

// Reads one file into the config.
class Reader {
 public:
  Reader(Config& config, std::uint32_t file, std::uint32_t first_index, json::FaultList& faults)
      : config_(config), file_(file), first_index_(first_index), faults_(faults) {}

  void read(const json::Value& document) {
    const json::Place whole;
    json::Fields fields(document, whole, faults_);
    if (!fields.is_object()) return;
    fields.require("domain", "a file has the rules of one domain");
    const std::string domain = text(fields, "domain");
    if (fields.present("domain") && domain.empty()) fields.fault("domain", "must not be empty");
    // Rules of a domain that another file has are read too, so that all their faults are found.
    const auto [root, is_new] = config_.domains.try_emplace(domain);
    if (!is_new) {
      fields.fault("domain", fmt::format("is in another file already: {}", quoted(domain)));
    } else if (fields.present("domain")) {
      record(root->second, whole.member("domain"));
    }
    read_descriptors(fields, root->second, domain);
    end(fields, "the top level");
  }

  // Sets the lines of the descriptors that were read. Call it last.
  void locate(const yaml::YamlDocument& document) {
    document.locate(places_);
    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i]->line = places_[i].line;
  }
  std::uint32_t next_index() const { return first_index_ + static_cast<std::uint32_t>(nodes_.size()); }

 private:
  void record(Node& node, const json::Place& at) {
    node.file = file_;
    node.index = next_index();
    nodes_.push_back(&node);
    places_.push_back({.pointer = at.pointer(), .text = {}});
  }

  // A number or true is the text that it is written as.
  std::string text(json::Fields& fields, std::string_view name) {
    const json::Value* const value = fields.take(name);
    if (value == nullptr) return {};
    switch (value->type()) {
      case json::Type::boolean:
        return value->boolean() ? "true" : "false";
      case json::Type::string:
      case json::Type::number:
        if (value->text().size() <= kMaxText) return std::string(value->text());
        fields.fault(name, fmt::format("must be at most {} bytes", kMaxText));
        return {};
      default:
        fields.fault(name, json::wrong_type_text(name, *value, "a text"));
        return {};
    }
  }

  bool flag(json::Fields& fields, std::string_view name) { return fields.boolean(name).value_or(false); }

  void read_descriptors(json::Fields& fields, Node& parent, const std::string& path) {
    fields.each("descriptors", false, [&](const json::Value& value, const json::Place& at) {
      json::Fields descriptor(value, at, faults_);
      if (descriptor.is_object()) read_descriptor(descriptor, parent, path);
    });
  }

  void read_descriptor(json::Fields& fields, Node& parent, const std::string& path) {
    fields.require("key", "a descriptor has a key");
    std::string name = text(fields, "key");
    const std::size_t key_bytes = name.size();
    if (fields.present("key") && name.empty()) fields.fault("key", "must not be empty");
    if (const std::string value = text(fields, "value"); !value.empty()) name.append("_").append(value);
    const std::string own_path = path + "." + name;

    auto node = std::make_unique<Node>();
    node->name = name;
    node->key_bytes = key_bytes;
    node->value_to_metric = flag(fields, "value_to_metric");
    node->share_threshold = flag(fields, "share_threshold");
    const bool is_wildcard = name.ends_with('*');
    if (!parent.children.contains(name)) record(*node, fields.at());
    if (node->share_threshold && !is_wildcard) {
      fields.fault("share_threshold", "needs a value that ends in '*', because it is for all values that match");
    }
    read_rule(fields, *node, own_path);
    read_descriptors(fields, *node, own_path);
    end(fields, "a descriptor");

    parent.note_name_size(name.size());
    const auto [stored, is_new] = parent.children.try_emplace(std::move(name), nullptr);
    if (!is_new) {
      return fields.fault(fields.present("value") ? "value" : "key",
                          fmt::format("is the same descriptor as an earlier one: {}", quoted(own_path)));
    }
    if (is_wildcard) parent.wildcards.push_back(node.get());
    stored->second = std::move(node);
  }

  // Modes mean something only where there is a rule.
  void read_rule(json::Fields& fields, Node& node, const std::string& path) {
    Rule rule;
    rule.path = path;
    rule.shadow_mode = flag(fields, "shadow_mode");
    rule.quota_mode = flag(fields, "quota_mode");
    rule.detailed_metric = flag(fields, "detailed_metric");
    rule.metadata = metadata(fields);
    const json::Value* const block = fields.take("rate_limit");
    if (block == nullptr) return;
    const json::Place at = fields.at().member("rate_limit");
    json::Fields limit(*block, at, faults_);
    if (!limit.is_object()) return;
    rule.name = text(limit, "name");
    rule.unlimited = flag(limit, "unlimited");
    read_numbers(limit, rule);
    read_replaces(limit, rule);
    if (rule.metadata.empty()) rule.metadata = metadata(limit);
    end(limit, "rate_limit");
    node.rule = std::move(rule);
    ++config_.rules;
  }

  void read_numbers(json::Fields& limit, Rule& rule) {
    constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
    const auto requests = limit.integer("requests_per_unit", 0, kMost);
    rule.requests_per_unit = static_cast<std::uint32_t>(requests.value_or(0));
    if (rule.unlimited) {
      if (limit.present("unit")) limit.fault("unit", "must be left out where `unlimited` is true");
      return;
    }
    if (!limit.present("requests_per_unit")) {
      limit.note("requests_per_unit",
                 "`requests_per_unit` is missing and counts as 0, so every request is over this limit");
    }
    limit.require("unit", fmt::format("say {}; or `unlimited: true`", kUnitNames));
    const std::string unit = text(limit, "unit");
    const std::optional<Unit> known = unit_from(unit);
    if (limit.present("unit") && !known) {
      limit.fault("unit", fmt::format("is {}, and must be one of {}", quoted(unit), kUnitNames));
    }
    rule.unit = known.value_or(Unit::second);
  }

  void read_replaces(json::Fields& limit, Rule& rule) {
    limit.each("replaces", false, [&](const json::Value& value, const json::Place& at) {
      json::Fields replaced(value, at, faults_);
      if (!replaced.is_object()) return;
      replaced.require("name", "an entry of `replaces` names a rule");
      std::string name = text(replaced, "name");
      if (replaced.present("name") && name.empty()) replaced.fault("name", "must not be empty");
      if (!name.empty() && name == rule.name)
        replaced.fault("name", "is the rule's own name; a rule cannot replace itself");
      rule.replaces.push_back(std::move(name));
      end(replaced, "an entry of `replaces`");
    });
  }

  std::string metadata(json::Fields& fields) {
    const json::Value* const value = fields.take("metadata");
    if (value == nullptr) return {};
    std::string text;
    if (value->type() == json::Type::object) {
      json::append(text, *value);
    } else {
      fields.fault("metadata", json::wrong_type_text("metadata", *value, "a map"));
    }
    return text;
  }

  // Reports what the level has besides what was read.
  void end(json::Fields& fields, std::string_view level) {
    for (json::Member& member : fields.members()) {
      if (member.taken || std::ranges::find(kKeys, member.name) == kKeys.end()) continue;
      fields.take(member.name);
      fields.note(member.name, fmt::format("`{}` has no meaning in {} and is ignored", member.name, level));
    }
    fields.reject_unknown();
  }

  Config& config_;
  const std::uint32_t file_;
  const std::uint32_t first_index_;
  json::FaultList& faults_;
  std::vector<Node*> nodes_;  // that were read, with their places
  Faults places_;
};

struct FileResult {
  Faults faults;
  Faults notes;
};

FileResult read_file(const std::string& text, std::uint32_t file, std::uint32_t& next_index, Config& config) {
  const auto yaml = yaml::json_of_yaml(text);
  if (!yaml) return {.faults = {yaml.error()}, .notes = {}};
  json::Tree tree;
  const auto document = tree.parse(yaml->json);
  FileResult result;
  if (!document) {
    result.faults = {document.error()};
  } else {
    json::FaultList list;
    list.keep_notes(true);
    Reader reader(config, file, next_index, list);
    reader.read(*document);
    if (list.count() == 0) reader.locate(*yaml);
    next_index = reader.next_index();
    result = {.faults = list.take(), .notes = list.take_notes()};
  }
  yaml->locate(result.faults);
  yaml->locate(result.notes);
  return result;
}

}  // namespace

std::expected<ReadConfig, std::vector<FileFaults>> read_config(std::span<const FileText> files) {
  auto config = std::make_shared<Config>();
  std::vector<FileFaults> faults;
  std::vector<FileFaults> notes;
  std::uint32_t index = 0;
  std::uint32_t number = 0;
  for (const FileText& file : files) {
    FileResult result = read_file(file.text, number++, index, *config);
    if (!result.faults.empty()) faults.push_back({file.name, std::move(result.faults)});
    if (!result.notes.empty()) notes.push_back({file.name, std::move(result.notes)});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return ReadConfig{std::move(config), std::move(notes)};
}

}  // namespace sluice::rls_config
