#include "common/objects/enforcement_json.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "common/base/duration.hpp"
#include "common/base/text.hpp"
#include "common/domain/enum_text.hpp"
#include "common/domain/limit_numbers.hpp"
#include "common/objects/field_tables.hpp"
#include "common/objects/limit_json.hpp"

namespace sluice {
namespace {

// An absent `require_key_by` is true in what a person writes. Stored documents and older servers leave it out for
// false.
void read_required(json::Fields& fields, Author author, Enforcement& out) {
  const bool required = fields.boolean(enforcement_field::kRequireKeyBy).value_or(author == Author::person);
  if (!required) return;
  out.required =
      fields.present(enforcement_field::kKeyBy.name) ? RequiredDimensions::key_by : RequiredDimensions::subject;
}

// `owner`: the action or failure mode that the parameter `name` belongs to, for the text of the fault.
void check_parameter(json::Fields& fields, std::string_view name, bool needed, std::string_view owner) {
  if (fields.present(name) == needed) return;
  fields.fault(name, needed ? fmt::format("{} is missing: {} needs it", name, owner)
                            : fmt::format("{} only goes with {}: remove it", name, owner));
}

void read_failure_mode(json::Fields& fields, Enforcement& out) {
  const auto mode = fields.choice(enforcement_field::kFailureMode, &failure_mode_from);
  const auto open = fields.boolean(enforcement_field::kFailOpen);  // only in the shorthand form of a policy
  if (fields.present("failure_mode") && fields.present("fail_open")) {
    fields.fault("fail_open", "failure_mode and fail_open say the same: keep failure_mode");
  }
  if (mode) out.failure_mode = *mode;
  if (open) out.failure_mode = *open ? FailureMode::fail_open : FailureMode::fail_closed;
  out.failure_mode_when_open = fields.choice(enforcement_field::kFailureModeWhenOpen, &failure_mode_from);

  out.degrade_share = fields.number(enforcement_field::kDegradeShare);
  if (const auto action = fields.choice(enforcement_field::kDegradeAction, &degrade_action_from)) {
    out.degrade_action = *action;
  }
  const bool degrades =
      out.failure_mode == FailureMode::fail_degrade || out.failure_mode_when_open == FailureMode::fail_degrade;
  for (const std::string_view name : {"degrade_share", "degrade_action"}) {
    if (!degrades) check_parameter(fields, name, false, "failure_mode fail_degrade");
  }
}

void read_action(json::Fields& fields, Enforcement& out) {
  if (const auto action = fields.choice(enforcement_field::kAction, &action_from)) {
    out.action = *action;
  } else if (fields.present("action")) {
    // The action is invalid, so only the values of its parameters can be checked.
    fields.number(enforcement_field::kSampleRate);
    fields.duration(enforcement_field::kMaxDelay);
    fields.text(enforcement_field::kDowngradeTo);
    return;
  }
  check_parameter(fields, "sample_rate", out.action == Action::sample, "action sample");
  check_parameter(fields, "max_delay", out.action == Action::delay, "action delay");
  check_parameter(fields, "downgrade_to",
                  out.action == Action::downgrade || out.degrade_action == DegradeAction::downgrade,
                  "action downgrade or degrade_action downgrade");
  out.sample_rate = fields.number(enforcement_field::kSampleRate).value_or(0);
  out.max_delay = fields.duration(enforcement_field::kMaxDelay).value_or(Micros(0));
  if (const auto target = fields.text(enforcement_field::kDowngradeTo)) {
    out.downgrade_to = *target;
    if (target->empty()) fields.fault("downgrade_to", "downgrade_to is empty: say what the caller falls back to");
  }
}

}  // namespace

void read_enforcement(json::Fields& fields, Author author, Enforcement& out) {
  fields.accept_alias(enforcement_field::kEnforcementMode.name, enforcement_field::kMode.name);
  read_key_by(fields, out.key_by);
  if (const auto prefix = fields.integer(enforcement_field::kIpv6Prefix)) {
    out.ipv6_prefix = static_cast<std::uint8_t>(*prefix);
  }
  read_required(fields, author, out);
  if (const auto expose = fields.choice(enforcement_field::kExpose, &expose_from)) out.expose = *expose;
  if (const auto mode = fields.choice(enforcement_field::kMode, &mode_from)) out.mode = *mode;
  read_failure_mode(fields, out);
  read_action(fields, out);
}

void check_enforcement(json::Fields& fields, const Enforcement& enforcement, const std::vector<Limit>& limits,
                       bool own) {
  for (std::size_t i = 0; i < limits.size(); ++i) {
    for (const DimensionRef& dimension : limits[i].key_by) {
      if (!std::ranges::binary_search(enforcement.key_by, dimension)) continue;
      const std::string text = fmt::format(
          "the key_by of limit {} repeats {}, which is in the key_by of the policy or plan: a limit's key_by can only "
          "add dimensions; remove it from one of the two lists (the default key_by is [\"resource\", \"subject\"])",
          quoted(limits[i].name), to_string(dimension));
      const json::Place list = fields.at().member("limits");
      if (own) {
        fields.faults().add(list.item(i), "key_by", text);
      } else {
        fields.fault("key_by", text);
      }
    }
    if (enforcement.action != Action::delay) continue;
    if (auto fault = debt_fault(limits[i], enforcement.max_delay)) fields.fault("max_delay", std::move(*fault));
  }
}

void write_enforcement(json::Writer& out, const Enforcement& enforcement, Form form) {
  const Enforcement defaults;
  // A default key_by that a person wrote requires more than an absent one.
  if (enforcement.key_by != defaults.key_by || enforcement.required == RequiredDimensions::key_by) {
    write_key_by(out, enforcement.key_by);
  }
  if (enforcement.ipv6_prefix != defaults.ipv6_prefix) {
    out.field("ipv6_prefix", std::int64_t{enforcement.ipv6_prefix});
  }
  const bool required = enforcement.required != RequiredDimensions::none;
  if (required || form == Form::shown) out.field("require_key_by", required);
  if (enforcement.expose != defaults.expose) out.field("expose", to_string(enforcement.expose));
  if (enforcement.action != defaults.action) out.field("action", to_string(enforcement.action));
  if (enforcement.action == Action::sample) out.field("sample_rate", enforcement.sample_rate);
  if (enforcement.action == Action::delay) out.field("max_delay", format_duration(enforcement.max_delay));
  out.optional_field("downgrade_to", enforcement.downgrade_to);
  if (enforcement.mode != defaults.mode) out.field("mode", to_string(enforcement.mode));
  if (enforcement.failure_mode != defaults.failure_mode) {
    out.field("failure_mode", to_string(enforcement.failure_mode));
  }
  if (enforcement.failure_mode_when_open) {
    out.field("failure_mode_when_open", to_string(*enforcement.failure_mode_when_open));
  }
  if (enforcement.degrade_share) out.field("degrade_share", *enforcement.degrade_share);
  if (enforcement.degrade_action != defaults.degrade_action) {
    out.field("degrade_action", to_string(enforcement.degrade_action));
  }
}

}  // namespace sluice
