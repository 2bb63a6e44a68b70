#include "agent/rls/verdict.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/json/edit.hpp"
#include "common/json/text.hpp"
#include "common/json/tree.hpp"

namespace sluice::agent::rls {
namespace {

constexpr std::string_view kBackend = "backend_name";
constexpr std::string_view kModel = "model_name_override";

// The model that a descriptor is about. Both texts are empty if it is about none.
struct Model {
  std::string_view backend;
  std::string_view name;

  bool is_known() const { return !backend.empty() || !name.empty(); }
};

Model model_of(const Descriptor& descriptor) {
  Model model;
  for (const rls_config::Entry& entry : descriptor.entries) {
    if (entry.key == kBackend) model.backend = entry.value;
    if (entry.key == kModel) model.name = entry.value;
  }
  return model;
}

// Descriptors that are about no model are groups of their own.
std::string group_of(const Descriptor& descriptor) {
  std::string group;
  const auto add = [&group](std::string_view text) { group.append(fmt::format("{}:", text.size())).append(text); };
  if (const Model model = model_of(descriptor); model.is_known()) {
    add(model.backend);
    add(model.name);
    return group;
  }
  group = "entries";
  for (const rls_config::Entry& entry : descriptor.entries) {
    add(entry.key);
    add(entry.value);
  }
  return group;
}

class QuotaGroups {
 public:
  explicit QuotaGroups(std::span<const DescriptorVerdict> verdicts) {
    for (const DescriptorVerdict& each : verdicts) {
      if (!has_quota(each)) continue;
      bool& over = over_[group_of(*each.descriptor)];
      over = over || each.status.code == Code::over_limit;
    }
  }

  static bool has_quota(const DescriptorVerdict& verdict) {
    return verdict.rule != nullptr && verdict.rule->quota_mode;
  }
  bool empty() const { return over_.empty(); }
  bool all_over() const {
    return !over_.empty() && std::ranges::all_of(over_, [](const auto& group) { return group.second; });
  }
  bool is_over(const DescriptorVerdict& verdict) const {
    return has_quota(verdict) && over_.at(group_of(*verdict.descriptor));
  }

 private:
  std::map<std::string, bool> over_;
};

// The descriptor that the caller's headers are about: the last one that refuses the request, or the one with the least
// remaining. nullptr if no limit was judged.
const Status* binding_status(std::span<const DescriptorVerdict> verdicts) {
  const Status* binding = nullptr;
  for (const DescriptorVerdict& each : verdicts) {
    if (!each.status.limit) continue;
    const bool refuses = each.status.code == Code::over_limit && !QuotaGroups::has_quota(each);
    if (refuses || binding == nullptr || each.status.remaining < binding->remaining) binding = &each.status;
  }
  return binding;
}

std::vector<Header> headers_of(std::span<const DescriptorVerdict> verdicts) {
  const Status* const binding = binding_status(verdicts);
  if (binding == nullptr) return {};
  return {{"RateLimit-Limit", fmt::format("{}", binding->limit->requests_per_unit)},
          {"RateLimit-Remaining", fmt::format("{}", binding->remaining)},
          {"RateLimit-Reset", fmt::format("{}", binding->reset_seconds)}};
}

// Writes `objects` as one object. Of several members with one name, objects are merged and else the first one counts.
void append_merged(std::span<const json::Value> objects, std::string& out) {
  std::vector<std::pair<std::string_view, std::vector<json::Value>>> members;
  for (const json::Value& object : objects) {
    for (const json::Member& member : object.members()) {
      const auto known =
          std::ranges::find(members, member.name, &std::pair<std::string_view, std::vector<json::Value>>::first);
      if (known == members.end()) {
        members.push_back({member.name, {member.value}});
      } else {
        known->second.push_back(member.value);
      }
    }
  }
  out += '{';
  bool first = true;
  for (auto& [name, values] : members) {
    json::append_member(out, name, first);
    if (values.front().type() == json::Type::object) {
      std::erase_if(values, [](const json::Value& value) { return value.type() != json::Type::object; });
      append_merged(values, out);
    } else {
      json::append(out, values.front());
    }
  }
  out += '}';
}

void append_descriptor(const Descriptor& descriptor, std::string& out) {
  out += R"({"entries":[)";
  for (std::size_t i = 0; i < descriptor.entries.size(); ++i) {
    if (i > 0) out += ',';
    json::append_string(out, fmt::format("{}={}", descriptor.entries[i].key, descriptor.entries[i].value));
  }
  out += ']';
  if (descriptor.limit) {
    const auto unit = rls_config::unit_from(descriptor.limit->unit);
    out += fmt::format(R"(,"limit":"requests_per_unit:{} unit:{}")", descriptor.limit->requests_per_unit,
                       unit ? to_string(*unit) : "UNKNOWN");
  }
  if (descriptor.hits_addend) out += fmt::format(R"(,"hitsAddend":{})", *descriptor.hits_addend);
  out += '}';
}

// The descriptors that are not over, without those of a quota group that is.
std::vector<const DescriptorVerdict*> available(std::span<const DescriptorVerdict> verdicts,
                                                const QuotaGroups& groups) {
  std::vector<const DescriptorVerdict*> found;
  for (const DescriptorVerdict& each : verdicts) {
    if (each.status.code != Code::over_limit && !groups.is_over(each)) found.push_back(&each);
  }
  return found;
}

void append_rule_metadata(std::span<const DescriptorVerdict* const> verdicts, std::string& out) {
  json::Tree tree;
  std::vector<json::Value> objects;
  for (const DescriptorVerdict* each : verdicts) {
    if (each->rule == nullptr || each->rule->metadata.empty()) continue;
    if (const auto object = tree.parse(each->rule->metadata)) objects.push_back(*object);
  }
  if (objects.empty()) return;
  out += R"(,"metadata":)";
  append_merged(objects, out);
}

// The models that the proxy may still send the request to.
void append_backends(std::span<const DescriptorVerdict* const> verdicts, std::string& out) {
  std::vector<std::string> seen;
  std::string list;
  for (const DescriptorVerdict* each : verdicts) {
    const Model model = model_of(*each->descriptor);
    std::string group = group_of(*each->descriptor);
    if (!model.is_known() || std::ranges::find(seen, group) != seen.end()) continue;
    seen.push_back(std::move(group));
    list += fmt::format(R"({}{{"{}":)", list.empty() ? "" : ",", kBackend);
    json::append_string(list, model.backend);
    list += fmt::format(R"(,"{}":)", kModel);
    json::append_string(list, model.name);
    list += '}';
  }
  if (!list.empty()) out += fmt::format(R"(,"passedBackends":[{}])", list);
}

std::string metadata_of(const Request& request, std::span<const DescriptorVerdict> verdicts,
                        const QuotaGroups& groups) {
  std::string out = R"({"domain":)";
  json::append_string(out, request.domain);
  out += R"(,"descriptors":[)";
  for (std::size_t i = 0; i < request.descriptors.size(); ++i) {
    if (i > 0) out += ',';
    append_descriptor(request.descriptors[i], out);
  }
  out += ']';
  if (request.hits_addend != 0) out += fmt::format(R"(,"hitsAddend":{})", request.hits_addend);
  const std::vector<const DescriptorVerdict*> passed = available(verdicts, groups);
  append_rule_metadata(passed, out);
  if (!groups.empty()) append_backends(passed, out);
  out += '}';
  return out;
}

}  // namespace

Response make_response(const Request& request, std::span<const DescriptorVerdict> verdicts, ResponseParts parts) {
  Response response;
  response.statuses.reserve(verdicts.size());
  for (const DescriptorVerdict& each : verdicts) response.statuses.push_back(each.status);
  const QuotaGroups groups(verdicts);
  const bool one_refuses = std::ranges::any_of(verdicts, [](const DescriptorVerdict& each) {
    return each.status.code == Code::over_limit && !QuotaGroups::has_quota(each);
  });
  if (one_refuses || groups.all_over()) response.code = Code::over_limit;
  if (parts.headers) response.headers = headers_of(verdicts);
  if (parts.metadata) response.metadata = metadata_of(request, verdicts, groups);
  return response;
}

}  // namespace sluice::agent::rls
