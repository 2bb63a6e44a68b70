// A webhook: where a tenant wants its events sent, and which. Reads and writes the documents.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.hpp"
#include "common/domain/identifiers.hpp"
#include "common/json/field.hpp"
#include "common/json/tree.hpp"
#include "server/webhooks/target.hpp"

namespace sluice::server::webhooks {

// The kinds of event that a webhook can ask for. `test` is sent on demand only.
enum class EventKind : std::uint8_t { failure_mode, denials, quota_80, quota_100 };
inline constexpr std::array<std::string_view, 4> kEventNames{"failure_mode", "denials", "quota_80", "quota_100"};
constexpr std::string_view to_string(EventKind kind) { return kEventNames[static_cast<std::size_t>(kind)]; }
std::optional<EventKind> event_kind_from(std::string_view name);
inline constexpr std::string_view kTestEvent = "test";

inline constexpr std::size_t kMaxPolicies = 100;

namespace webhook_field {
using json::Field;
inline constexpr Field kTenantId{
    .name = "tenant_id", .type = Field::Type::text, .max = kMaxIdBytes, .schema = "Id", .always = true};
inline constexpr Field kId{.name = "id",
                           .type = Field::Type::text,
                           .max = kMaxIdBytes,
                           .schema = "Id",
                           .body_schema = "ChosenId",
                           .always = true,
                           .help =
                               "Unique within the tenant. A body may leave it out: the server takes the id from the "
                               "path, or makes one from `name`."};
inline constexpr Field kName{.name = "name", .type = Field::Type::text, .max = 200, .help = "For people."};
inline constexpr Field kUrl{.name = "url",
                            .type = Field::Type::text,
                            .min = 1,
                            .max = kMaxUrlBytes,
                            .always = true,
                            .help =
                                "Where events are sent, by POST: `https://HOST[:PORT]/PATH`. The host must have only "
                                "addresses of the public Internet, unless the operator allows others."};
inline constexpr Field kEvents{.name = "events",
                               .schema = "WebhookEvents",
                               .always = true,
                               .help =
                                   "`failure_mode`: Redis did not answer, and a policy's failure mode decided. "
                                   "`denials`: a policy denied more than `denied_percent` of its checks for "
                                   "`denied_minutes`. `quota_80`, `quota_100`: 80 % or all of a quota is used up "
                                   "in its period. An empty list gets test events only."};
inline constexpr Field kPolicies{.name = "policies",
                                 .schema = "WebhookPolicies",
                                 .always = true,
                                 .help = "Only events of these policies. An empty list: of every policy."};
inline constexpr Field kPercent{.name = "denied_percent",
                                .type = Field::Type::integer,
                                .min = 1,
                                .max = 99,
                                .fallback = "10",
                                .help = "The event `denials`: the share of denied checks that must be exceeded."};
inline constexpr Field kMinutes{.name = "denied_minutes",
                                .type = Field::Type::integer,
                                .min = 1,
                                .max = 60,
                                .fallback = "5",
                                .help = "The event `denials`: in how many minutes in a row."};
inline constexpr Field kEnabled{.name = "enabled",
                                .type = Field::Type::boolean,
                                .fallback = "true",
                                .help = "Without it, nothing is sent, and no events are made. Deliveries wait."};
inline constexpr std::array kAll{kTenantId, kId, kName, kUrl, kEvents, kPolicies, kPercent, kMinutes, kEnabled};
}  // namespace webhook_field

struct Webhook {
  std::string tenant_id;
  std::string id;
  std::string name;
  std::string url;
  std::vector<EventKind> events;      // sorted, without duplicates
  std::vector<std::string> policies;  // sorted; empty: all
  std::int64_t denied_percent = 10;
  std::int64_t denied_minutes = 5;
  bool enabled = true;

  bool wants(EventKind kind, std::string_view policy_id) const;
  bool operator==(const Webhook&) const = default;
};

// Does not check that the tenant exists.
Webhook read_webhook(const json::Value& body, const AddressRules& rules, Faults& faults);

std::string write_webhook(const Webhook& webhook);

// Returns nullopt if the document has faults. Does not judge the URL.
std::optional<Webhook> read_stored_webhook(std::string_view document);

}  // namespace sluice::server::webhooks
