// The fields of each object, for the codecs and the OpenAPI documents. The fields of a limit are in
// common/domain/limit_fields.hpp; those of tokens and bindings are in server/.
//
// Thread safety: constants.
#pragma once

#include <array>
#include <chrono>
#include <limits>
#include <span>

#include "common/domain/enum_text.hpp"
#include "common/domain/field_rows.hpp"
#include "common/domain/identifiers.hpp"
#include "common/json/field.hpp"

namespace sluice {

// All tables: one for each kind of object, and also "enforcement", "scope", and:
// - "limit": the fields of a limit that are members of the plan or policy itself;
// - "limit.NAME": the fields of a limit with the algorithm or shorthand NAME;
// - "override.set": the numbers that an override can replace;
// - "scope.shorthand": the dimensions that a shorthand policy may have as fields of its own;
// - "check": the body of POST /v1/check.
std::span<const json::FieldTable> field_tables();

namespace object_field {

using json::Field;

inline constexpr Field kId{
    .name = "id",
    .schema = "Id",
    .always = true,
    .help = "A body may leave the id out: then the server takes the id in the path, or makes one."};
inline constexpr Field kTenantId{
    .name = "tenant_id",
    .schema = "Id",
    .always = true,
    .help =
        "The tenant that the object belongs to. A body may leave it out if the query names the tenant, or if the "
        "caller's token has only one tenant."};
inline constexpr Field kName{.name = "name",
                             .type = Field::Type::text,
                             .max = kMaxNameBytes,
                             .help = "A name by which people recognise the object: at most 256 bytes."};
inline constexpr Field kLimits{.name = "limits",
                               .schema = "LimitList",
                               .body_schema = "LimitListBody",
                               .help = "Limits that are judged together. Their names are unique."};
inline constexpr Field kMaxOverride{
    .name = "max_override",
    .min = 1,
    .max = kMaxLimit,
    .schema = "MaxOverride",
    .body_schema = "MaxOverrideBody",
    .help =
        "For each limit that a check may replace for itself (`limit_override`): the largest number that it may bring. "
        "A "
        "limit that is not named cannot be replaced. A single number is for all limits. The API key of the check needs "
        "`may_override`."};
inline constexpr Field kExpiresAt =
    row::instant("expires_at", "When the object expires. Without this field, the object never expires.");

}  // namespace object_field

namespace organization_field {
inline constexpr std::array kAll{object_field::kId, object_field::kName};
}

namespace tenant_field {
using json::Field;
inline constexpr Field kOrganizationId{.name = "organization_id",
                                       .type = Field::Type::text,
                                       .max = kMaxNameBytes,
                                       .schema = "Id",
                                       .always = true,
                                       .help = "The organization that the tenant belongs to."};
inline constexpr Field kMode = row::mode("The mode of the whole tenant.");
inline constexpr Field kDefault{.name = "default",
                                .type = Field::Type::text,
                                .max = kMaxNameBytes,
                                .choices = "allow, deny",
                                .schema = "DefaultDecision",
                                .fallback = "allow",
                                .help = "The decision if no policy matches the request."};
// In JSON the field has an older name.
inline constexpr Field kAllowsPlanId =
    row::flag("plan_calls", "true", "false: a check may not choose its plan with plan_id.");
inline constexpr Field kTrailingSlash{
    .name = "trailing_slash",
    .type = Field::Type::text,
    .max = kMaxNameBytes,
    .choices = "distinct, same",
    .schema = "TrailingSlash",
    .fallback = "distinct",
    .help =
        "same: GET:/orders and GET:/orders/ are one resource; the root keeps its slash. A body that creates a "
        "tenant gets same if it leaves the field out; other bodies that leave it out keep what is stored."};
inline constexpr Field kRecordRequests =
    row::flag("record_requests", "false",
              "true: agents with --record-decisions keep the tenant's checks of the last minutes in memory, so that "
              "POST /v1/admin/whatif can judge them by an edited policy.");
inline constexpr std::array kAll{object_field::kId, object_field::kName, kOrganizationId, kMode,
                                 kDefault,          kAllowsPlanId,       kTrailingSlash,  kRecordRequests};
}  // namespace tenant_field

namespace enforcement_field {
using json::Field;
inline constexpr Field kKeyBy{
    .name = "key_by", .schema = "Dimensions", .body_schema = "KeyBy", .fallback = "[\"resource\", \"subject\"]"};
inline constexpr Field kIpv6Prefix{
    .name = "ipv6_prefix",
    .type = Field::Type::integer,
    .min = 1,
    .max = 128,
    .fallback = "64",
    .help =
        "How many bits of an IPv6 source_ip name a counter. 64: all addresses of a /64 share one, because an end "
        "user usually has a whole /64. 128: each address has its own. IPv4 addresses always have their own."};
inline constexpr Field kRequireKeyBy = [] {
  Field field = row::flag(
      "require_key_by", "true",
      "true: a check that lacks a dimension of key_by is refused with 422; of the default key_by only subject is "
      "required. false: an absent dimension is a value of its own, so all checks that lack it share one counter. PUT "
      "and apply without this field keep the value of an object that exists.");
  field.always = true;
  return field;
}();
inline constexpr Field kExpose =
    row::choice("expose", kExposeNames, "Expose", "all",
                "Which rate limit headers replies have: all that the agent's --headers names, only the one with what "
                "remains, or none. A denial always has Retry-After, and the body always has all numbers.");
inline constexpr Field kMode = row::mode("");
inline constexpr Field kEnforcementMode = [] {
  Field field = row::mode("Another name of mode.");
  field.name = "enforcement_mode";
  field.fallback = {};
  field.body_only = true;
  return field;
}();
inline constexpr Field kFailureMode = row::choice("failure_mode", kFailureModeNames, "FailureMode", "fail_closed",
                                                  "How a check is decided while the counter store does not answer.");
inline constexpr Field kFailOpen{.name = "fail_open",
                                 .type = Field::Type::boolean,
                                 .body_only = true,
                                 .help = "Instead of failure_mode: true means fail_open, false means fail_closed."};
inline constexpr Field kFailureModeWhenOpen =
    row::choice("failure_mode_when_open", kFailureModeNames, "FailureMode", "",
                "Replaces failure_mode while the circuit breaker stops calls to Redis.");
inline constexpr Field kAction =
    row::choice("action", kActionNames, "Action", "deny", "What happens to a request that is over a limit.");
inline constexpr Field kSampleRate =
    row::share("sample_rate",
               "The share of the requests over a limit that pass. Required with the action sample, and "
               "allowed only with it.");
inline constexpr Field kMaxDelay = row::duration("max_delay", Micros(1), std::chrono::days(366),
                                                 "The longest delay; a request that would wait longer is denied. "
                                                 "Required with the action delay, and allowed only with it. For a "
                                                 "bucket with a rate of U units per P µs, in lowest terms: capacity · "
                                                 "P + max_delay (in µs) · U is at most 2^51.");
inline constexpr Field kDowngradeTo{
    .name = "downgrade_to",
    .type = Field::Type::text,
    .min = 1,
    .max = 256,
    .help =
        "What the caller should use instead. Required with the action downgrade or the degrade_action downgrade, "
        "and allowed only with them."};
inline constexpr Field kDegradeShare =
    row::share("degrade_share",
               "Allowed only with fail_degrade: the share of each limit that one agent admits by itself. Default: 1 "
               "divided by the number of the tenant's live agents.");
inline constexpr Field kDegradeAction =
    row::choice("degrade_action", kDegradeActionNames, "DegradeAction", "local_limit",
                "Allowed only with fail_degrade. local_limit: the agent judges by its share of the limits. downgrade: "
                "the agent applies the action downgrade to every check.");
inline constexpr std::array kAll{
    kKeyBy,       kIpv6Prefix, kRequireKeyBy,        kExpose,       kMode,          kEnforcementMode,
    kFailureMode, kFailOpen,   kFailureModeWhenOpen, kDegradeShare, kDegradeAction, kAction,
    kSampleRate,  kMaxDelay,   kDowngradeTo};
}  // namespace enforcement_field

namespace plan_field {
inline constexpr json::Field kLimits = [] {
  json::Field field = object_field::kLimits;
  field.always = true;
  return field;
}();
inline constexpr std::array kAll{object_field::kTenantId, object_field::kId, object_field::kName, kLimits,
                                 object_field::kMaxOverride};
}  // namespace plan_field

namespace policy_field {
using json::Field;
inline constexpr Field kMetadata{.name = "metadata", .schema = "CanonicalMetadata", .body_schema = "Metadata"};
inline constexpr Field kScope{.name = "scope", .schema = "CanonicalScope", .body_schema = "Scope"};
inline constexpr Field kMatchExpr{
    .name = "match_expr",
    .type = Field::Type::text,
    .max = 4096,
    .help =
        "A condition on the dimensions of the request, such as region==us-east-1 && tag.env==production. It may use "
        "== != in !in =~ && || ! ( ) and has at most 4096 bytes. A validation error names the column."};
inline constexpr Field kReportSubjects =
    row::choice("report_subjects", kReportSubjectsNames, "ReportSubjects", "hashed", "");
inline constexpr Field kRolloutPercent{.name = "rollout_percent",
                                       .type = Field::Type::number,
                                       .max = 100,
                                       .places = 2,
                                       .fallback = "100",
                                       .help =
                                           "The share of subjects that the policy applies to, in percent, with at most "
                                           "2 decimals. The share is stable: if it grows, the policy still applies to "
                                           "all subjects that it applied to before."};
inline constexpr Field kValidFrom = row::instant("valid_from", "The policy applies from this time on.");
inline constexpr Field kValidTo =
    row::instant("valid_to", "The policy applies only before this time, which must be after valid_from.");
inline constexpr Field kEnabled = row::flag("enabled", "true", "");
inline constexpr Field kValidFromUnix{
    .name = "valid_from_unix",
    .type = Field::Type::integer,
    .max = 253'402'300'799,  // the end of the year 9999
    .body_only = true,
    .help = "Instead of valid_from: seconds since 1970. 0 means that the policy has no such time."};
inline constexpr Field kValidToUnix = [] {
  Field field = kValidFromUnix;
  field.name = "valid_to_unix";
  field.help = "Instead of valid_to: seconds since 1970. 0 means that the policy has no such time.";
  return field;
}();
inline constexpr Field kPriority{.name = "priority",
                                 .type = Field::Type::integer,
                                 .min = -std::int64_t{std::numeric_limits<std::int32_t>::max()},
                                 .max = std::numeric_limits<std::int32_t>::max(),
                                 .fallback = "0",
                                 .help = "Of equally specific policies, the one with the higher priority comes first."};
inline constexpr Field kPlanId{.name = "plan_id",
                               .type = Field::Type::text,
                               .max = kMaxNameBytes,
                               .schema = "Id",
                               .help =
                                   "The id of the plan that the policy takes its limits from. Left out if the policy "
                                   "has limits of its own."};
inline constexpr Field kPolicyId{.name = "policy_id",
                                 .type = Field::Type::text,
                                 .max = kMaxNameBytes,
                                 .schema = "Id",
                                 .body_only = true,
                                 .help = "Another name of id."};
inline constexpr std::array kAll{object_field::kTenantId,
                                 object_field::kId,
                                 object_field::kName,
                                 kMetadata,
                                 kScope,
                                 kMatchExpr,
                                 kReportSubjects,
                                 kRolloutPercent,
                                 kValidFrom,
                                 kValidTo,
                                 kValidFromUnix,
                                 kValidToUnix,
                                 kPolicyId,
                                 kEnabled,
                                 kPriority,
                                 kPlanId,
                                 object_field::kLimits,
                                 object_field::kMaxOverride};
// Not part of kAll: only a bundle names the version. In the admin API, the server sets the version.
inline constexpr Field kVersion{.name = "version",
                                .type = Field::Type::integer,
                                .min = 1,
                                .max = (std::int64_t{1} << 53) - 1,  // every JSON reader reads it exactly
                                .fallback = "1"};
}  // namespace policy_field

namespace key_field {
using json::Field;
inline constexpr Field kKeyHash{.name = "key_hash",
                                .type = Field::Type::text,
                                .max = 256,
                                .schema = "KeyHash",
                                .always = true,
                                .help =
                                    "The hash of a key that you made yourself (`sluice-agent mint-key`); the answer "
                                    "then contains no key. Without a hash, a new object gets a new key, and an "
                                    "existing object keeps its hash."};
inline constexpr Field kMayOverride =
    row::flag("may_override", "false",
              "true: a check with this key may bring limits of its own (`limit_override`), up to the `max_override` of "
              "the plan. For trusted callers only.");
inline constexpr std::array kAll{object_field::kTenantId,  object_field::kId, object_field::kName, kKeyHash,
                                 object_field::kExpiresAt, kMayOverride};
}  // namespace key_field

namespace override_field {
using json::Field;
inline constexpr Field kPolicyId{.name = "policy_id", .type = Field::Type::text, .max = kMaxNameBytes, .schema = "Id"};
inline constexpr Field kPlanId{.name = "plan_id", .type = Field::Type::text, .max = kMaxNameBytes, .schema = "Id"};
inline constexpr Field kLimitName{.name = "limit_name",
                                  .type = Field::Type::text,
                                  .max = kMaxNameBytes,
                                  .schema = "LimitName",
                                  .always = true,
                                  .help = "The override replaces numbers of the limit of this name."};
inline constexpr Field kIdentity{
    .name = "identity", .schema = "CanonicalIdentity", .body_schema = "OverrideIdentity", .always = true};
inline constexpr Field kSet{.name = "set", .schema = "OverrideNumbers", .body_schema = "OverrideSet", .always = true};
inline constexpr std::array kAll{
    object_field::kTenantId, object_field::kId, kPolicyId, kPlanId, kLimitName, kIdentity, kSet,
    object_field::kExpiresAt};
}  // namespace override_field

}  // namespace sluice
