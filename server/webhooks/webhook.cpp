#include "server/webhooks/webhook.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "common/base/text.hpp"
#include "common/json/fields.hpp"
#include "common/json/writer.hpp"

namespace sluice::server::webhooks {
namespace {

constexpr std::string_view kIdRule = "must match [a-z0-9][a-z0-9.-]{0,62}: lower-case letters, digits, '.' and '-'";

std::string read_an_id(json::Fields& fields, const json::Field& field, std::string_view why) {
  fields.require(field.name, why);
  const auto id = fields.text(field);
  if (!id) return {};
  if (!is_id(*id)) fields.fault(field.name, fmt::format("{} {}", quoted(*id), kIdRule));
  return std::string(*id);
}

// A stored document may have events that only a later release knows.
void read_events(json::Fields& fields, bool stored, Webhook& webhook) {
  fields.each("events", false, [&](const json::Value& item, const json::Place& at) {
    const auto kind = item.type() == json::Type::string ? event_kind_from(item.text()) : std::nullopt;
    if (!kind && stored) return;
    if (!kind) {
      return fields.faults().add(at, fmt::format("an event must be one of {}", fmt::join(kEventNames, ", ")));
    }
    webhook.events.push_back(*kind);
  });
  std::ranges::sort(webhook.events);
  const auto twice = std::ranges::unique(webhook.events);
  webhook.events.erase(twice.begin(), twice.end());
}

void read_policies(json::Fields& fields, Webhook& webhook) {
  fields.each("policies", false, [&](const json::Value& item, const json::Place& at) {
    if (item.type() != json::Type::string || !is_id(item.text())) {
      return fields.faults().add(at, fmt::format("the id of a policy {}", kIdRule));
    }
    webhook.policies.emplace_back(item.text());
  });
  std::ranges::sort(webhook.policies);
  const auto twice = std::ranges::unique(webhook.policies);
  webhook.policies.erase(twice.begin(), twice.end());
  if (webhook.policies.size() > kMaxPolicies) {
    fields.fault("policies", fmt::format("must name at most {} policies: leave it out for all of them, or make another "
                                         "webhook",
                                         kMaxPolicies));
  }
}

// `rules`: nullptr for a stored document.
Webhook read(json::Fields& fields, const AddressRules* rules) {
  Webhook webhook;
  webhook.tenant_id = read_an_id(fields, webhook_field::kTenantId, "the tenant whose events are sent");
  webhook.id = read_an_id(fields, webhook_field::kId, "a name for the webhook");
  webhook.name = fields.text(webhook_field::kName).value_or("");
  fields.require("url", "where events are sent, such as https://example.com/sluice");
  if (const auto url = fields.text(webhook_field::kUrl)) {
    webhook.url = *url;
    if (rules != nullptr) {
      if (auto target = parse_target(*url, *rules); !target) fields.fault("url", "url " + target.error().text);
    }
  }
  read_events(fields, rules == nullptr, webhook);
  read_policies(fields, webhook);
  webhook.denied_percent = fields.integer(webhook_field::kPercent).value_or(webhook.denied_percent);
  webhook.denied_minutes = fields.integer(webhook_field::kMinutes).value_or(webhook.denied_minutes);
  webhook.enabled = fields.boolean(webhook_field::kEnabled).value_or(true);
  return webhook;
}

}  // namespace

std::optional<EventKind> event_kind_from(std::string_view name) {
  const auto* const found = std::ranges::find(kEventNames, name);
  if (found == kEventNames.end()) return std::nullopt;
  return static_cast<EventKind>(found - kEventNames.begin());
}

bool Webhook::wants(EventKind kind, std::string_view policy_id) const {
  return enabled && std::ranges::binary_search(events, kind) &&
         (policies.empty() || std::ranges::binary_search(policies, policy_id));
}

Webhook read_webhook(const json::Value& body, const AddressRules& rules, Faults& faults) {
  json::FaultList found;
  const json::Place root;
  json::Fields fields(body, root, found);
  Webhook webhook = read(fields, &rules);
  fields.reject_unknown();
  for (Fault& fault : found.take()) faults.push_back(std::move(fault));
  return webhook;
}

std::string write_webhook(const Webhook& webhook) {
  const Webhook defaults;
  json::Writer out(json::Writer::Layout::compact);
  out.begin_object();
  out.field("tenant_id", webhook.tenant_id);
  out.field("id", webhook.id);
  out.optional_field("name", webhook.name);
  out.field("url", webhook.url);
  out.key("events");
  out.begin_list();
  for (const EventKind kind : webhook.events) out.text(to_string(kind));
  out.end_list();
  out.key("policies");
  out.texts(webhook.policies);
  if (webhook.denied_percent != defaults.denied_percent) out.field("denied_percent", webhook.denied_percent);
  if (webhook.denied_minutes != defaults.denied_minutes) out.field("denied_minutes", webhook.denied_minutes);
  if (!webhook.enabled) out.field("enabled", false);
  out.end_object();
  return out.take();
}

std::optional<Webhook> read_stored_webhook(std::string_view document) {
  json::Tree tree;
  json::FaultList faults;
  const json::Place root;
  const json::Value value = tree.parse(document).value_or(json::Value());
  // Unknown fields are ignored, because a later version of the server may have written them.
  json::Fields fields(value, root, faults);
  Webhook webhook = read(fields, nullptr);
  if (faults.count() > 0) return std::nullopt;
  return webhook;
}

}  // namespace sluice::server::webhooks
