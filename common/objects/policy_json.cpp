#include "common/objects/policy_json.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/base/crypto.hpp"
#include "common/base/text.hpp"
#include "common/base/timestamp.hpp"
#include "common/domain/enum_text.hpp"
#include "common/domain/identifiers.hpp"
#include "common/objects/enforcement_json.hpp"
#include "common/objects/field_tables.hpp"
#include "common/objects/limit_json.hpp"
#include "common/objects/scope_json.hpp"

namespace sluice {
namespace {

constexpr std::size_t kMaxMetadata = 32;  // entries; every decision of the policy contains them
constexpr std::size_t kMaxMetadataName = 64;
constexpr std::size_t kMaxMetadataValue = 512;
constexpr std::size_t kMadeIdBytes = 8;  // made_id() uses this many bytes of the content's hash

// Returns the `match_expr` that a person wrote into the metadata. It does not become part of `out`.
std::optional<std::string_view> read_metadata(json::Fields& policy, Author author, Metadata& out) {
  const json::Value* const metadata = policy.take("metadata");
  if (metadata == nullptr) return std::nullopt;
  const json::Place at = policy.at().member("metadata");
  json::Fields fields(*metadata, at, policy.faults());
  if (fields.members().size() > kMaxMetadata) {
    policy.fault("metadata", fmt::format("metadata has more than {} entries", kMaxMetadata));
    return std::nullopt;
  }
  std::optional<std::string_view> expression;
  for (json::Member& member : fields.members()) {
    if (author == Author::person && member.name == policy_field::kMatchExpr.name) {
      expression = fields.text(policy_field::kMatchExpr);
    } else if (member.name.empty() || member.name.size() > kMaxMetadataName) {
      fields.fault(member.name, fmt::format("a name in metadata is 1 to {} bytes long", kMaxMetadataName));
    } else if (const auto value = fields.text(member.name, kMaxMetadataValue)) {
      out.emplace(member.name, *value);
    }
  }
  return expression;
}

void take_metadata_expression(json::Fields& policy, std::string_view expression, std::string& match_expr) {
  const std::string_view name = policy_field::kMatchExpr.name;
  const json::Place metadata = policy.at().member("metadata");
  if (policy.present(name) && match_expr != expression) {
    return policy.faults().add(metadata, name,
                               "the policy has another match_expr: keep the one beside metadata, and remove this one");
  }
  match_expr = expression;
  policy.faults().note(
      metadata, name,
      fmt::format("{} is taken as the match_expr of the policy: write it beside metadata", quoted(expression)));
}

// Whether an unknown member, such as `plan`, is most likely meant as `name`. reject_unknown() says so, and then the
// field is not missing too. Call it when all fields were read, because a field that is not read yet is unknown too.
bool is_misspelt(const json::Fields& fields, std::string_view name) {
  return std::ranges::any_of(fields.members(), [name](const json::Member& member) {
    return !member.taken && !nearest(member.name, {&name, 1}).empty();
  });
}

// A policy has exactly one of `plan_id`, `limits` and the fields of one limit. That it has none of them is no fault
// yet: see is_misspelt().
LimitsForm read_plan_or_limits(json::Fields& fields, Policy& out) {
  const LimitsForm limits = read_limits(fields, out.limits);
  if (fields.present("plan_id")) {
    const auto plan_id = fields.text(policy_field::kPlanId);
    if (plan_id) out.plan_id = *plan_id;
    if (plan_id && plan_id->empty()) fields.fault("plan_id", "plan_id is empty: it must be the id of a plan");
    if (limits != LimitsForm::none) {
      fields.fault("plan_id",
                   "plan_id and limits are both given: keep one, a policy has the limits of a plan or its own");
    }
  }
  return limits;
}

// `unix_field`: the same time in seconds, 0 for none.
std::optional<WallTime> read_instant(json::Fields& fields, const json::Field& field, const json::Field& unix_field) {
  const auto time = fields.timestamp(field);
  const auto seconds = fields.integer(unix_field);
  if (fields.present(field.name) && fields.present(unix_field.name)) {
    fields.fault(unix_field.name, fmt::format("{} and {} say the same: keep one", field.name, unix_field.name));
  }
  if (seconds && *seconds > 0) return WallTime(std::chrono::seconds(*seconds));
  return time;
}

// A percentage below 1 is rare, and most likely a share of 1.
std::optional<std::string> note_on_share(double percent) {
  if (percent <= 0 || percent >= 1) return std::nullopt;
  return fmt::format("{} percent, fewer than one subject in a hundred; for {} of all subjects write {:g}", percent,
                     percent, percent * 100);
}

void read_validity(json::Fields& fields, Policy& out) {
  if (const auto enabled = fields.boolean(policy_field::kEnabled)) out.enabled = *enabled;
  out.valid_from = read_instant(fields, policy_field::kValidFrom, policy_field::kValidFromUnix);
  out.valid_to = read_instant(fields, policy_field::kValidTo, policy_field::kValidToUnix);
  if (out.valid_from && out.valid_to && *out.valid_from >= *out.valid_to) {
    fields.fault("valid_to", "valid_to must be after valid_from, else the policy is never valid");
  }
  if (const auto percent = fields.number(policy_field::kRolloutPercent)) {
    out.rollout_percent = *percent;
    if (const auto doubt = note_on_share(*percent)) fields.note(policy_field::kRolloutPercent.name, *doubt);
  }
}

// With an id from the content, applying a shorthand policy twice does not create two policies. `required`: the
// require_key_by that the author wrote, or false; so the id does not depend on that field's default.
std::string made_id(Policy policy, bool required) {
  policy.enforcement.required = required ? RequiredDimensions::subject : RequiredDimensions::none;
  json::Writer content;
  write_policy(content, policy);
  const Sha256Digest digest = sha256(content.take());
  return "rule-" + to_hex(ByteView(digest).first(kMadeIdBytes));
}

}  // namespace

bool read_plan(json::Fields& fields, const TenantIndex& tenants, Author author, Plan& out) {
  out.tenant_id = tenants.read_tenant_id(fields);
  out.id = read_id(fields, "plan");
  if (const auto name = fields.text(object_field::kName)) out.name = *name;
  const std::size_t faults_before = fields.faults().count();
  read_enforcement(fields, author, out.enforcement);
  const LimitsForm form = read_limits(fields, out.limits);
  if (form == LimitsForm::none && !is_misspelt(fields, "limits")) fields.require("limits", "a plan has 1 to 16 limits");
  if (fields.faults().count() == faults_before) check_enforcement(fields, out.enforcement, out.limits, true);
  const bool sound = fields.faults().count() == faults_before && !out.limits.empty();
  fields.reject_unknown();
  return sound;
}

bool read_policy(json::Fields& fields, const TenantIndex& tenants, Author author, Policy& out) {
  const std::size_t faults_before = fields.faults().count();
  fields.accept_alias(policy_field::kPolicyId.name, object_field::kId.name);
  out.tenant_id = tenants.read_tenant_id(fields);
  if (const auto name = fields.text(object_field::kName)) out.name = *name;
  const auto expression = fields.text(policy_field::kMatchExpr);
  if (expression) out.match_expr = *expression;
  const auto metadata_expression = read_metadata(fields, author, out.metadata);
  if (metadata_expression) take_metadata_expression(fields, *metadata_expression, out.match_expr);
  const std::size_t faults_before_limits = fields.faults().count();
  read_enforcement(fields, author, out.enforcement);
  const LimitsForm form = read_plan_or_limits(fields, out);
  if (fields.faults().count() == faults_before_limits) check_enforcement(fields, out.enforcement, out.limits, true);
  const bool has_limits = !out.plan_id.empty() || !out.limits.empty();
  const bool sound = fields.faults().count() == faults_before_limits && has_limits;
  out.report_subjects =
      fields.choice(policy_field::kReportSubjects, &report_subjects_from).value_or(ReportSubjects::hashed);
  read_validity(fields, out);
  out.priority = fields.integer(policy_field::kPriority).value_or(0);
  out.version = fields.integer(policy_field::kVersion).value_or(1);
  const bool makes_id = form == LimitsForm::flat && !fields.present("id");
  if (!makes_id) out.id = read_id(fields, "policy");
  read_scope(fields, {out.tenant_id, tenants.organization_of(out.tenant_id), author == Author::person}, out.scope);
  if (form == LimitsForm::none && !is_misspelt(fields, policy_field::kPlanId.name)) {
    fields.require("plan_id", "a policy names a plan, or brings its own limits");
  }
  fields.reject_unknown();
  if (makes_id && fields.faults().count() == faults_before) {
    const bool written = fields.present(enforcement_field::kRequireKeyBy.name);
    out.id = made_id(out, written && out.enforcement.required != RequiredDimensions::none);
  }
  return sound;
}

void write_plan(json::Writer& out, const Plan& plan, Form form) {
  out.begin_object();
  out.field("tenant_id", plan.tenant_id);
  out.field("id", plan.id);
  out.optional_field("name", plan.name);
  out.key("limits");
  out.begin_list();
  for (const Limit& limit : plan.limits) write_limit(out, limit);
  out.end_list();
  write_max_override(out, plan.limits);
  write_enforcement(out, plan.enforcement, form);
  out.end_object();
}

void write_policy(json::Writer& out, const Policy& policy, Form form) {
  out.begin_object();
  out.field("tenant_id", policy.tenant_id);
  out.optional_field("id", policy.id);  // "" if made_id() is the caller
  out.optional_field("name", policy.name);
  if (!policy.metadata.empty()) {
    out.key("metadata");
    out.begin_object();
    for (const auto& [name, value] : policy.metadata) out.field(name, value);
    out.end_object();
  }
  write_scope(out, policy.scope);
  out.optional_field("match_expr", policy.match_expr);
  out.optional_field("plan_id", policy.plan_id);
  if (!policy.limits.empty()) {
    out.key("limits");
    out.begin_list();
    for (const Limit& limit : policy.limits) write_limit(out, limit);
    out.end_list();
    write_max_override(out, policy.limits);
  }
  write_enforcement(out, policy.enforcement, form);
  if (policy.report_subjects != ReportSubjects::hashed) {
    out.field("report_subjects", to_string(policy.report_subjects));
  }
  if (policy.rollout_percent != 100) out.field("rollout_percent", policy.rollout_percent);
  if (policy.valid_from) out.field("valid_from", format_timestamp(*policy.valid_from));
  if (policy.valid_to) out.field("valid_to", format_timestamp(*policy.valid_to));
  if (!policy.enabled) out.field("enabled", false);
  if (policy.priority != 0) out.field("priority", policy.priority);
  if (policy.version != 1) out.field("version", policy.version);
  out.end_object();
}

}  // namespace sluice
