// override: other numbers for one identity; counters: what is left for it, and a fresh start.
#include <fmt/core.h>

#include "common/json/edit.hpp"
#include "common/json/text.hpp"
#include "ctl/commands/commands.hpp"

namespace sluice::ctl {
namespace {

struct OverrideOptions {
  std::string policy;
  std::string plan;
  std::string limit;
  std::string id;
  std::string ttl;
  std::vector<std::string> identity;
  std::vector<std::string> set;
};

struct CounterOptions {
  std::string policy;
  std::string plan;
  std::vector<std::string> identity;
};

void append_text(std::string& body, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  if (body.size() > 1) body.push_back(',');
  body.append(json::string_literal(name)).append(":").append(json::string_literal(value));
}

void append_raw(std::string& body, std::string_view name, const std::string& json) {
  if (body.size() > 1) body.push_back(',');
  body.append(json::string_literal(name)).append(":").append(json);
}

Exit run_override(Invocation& invocation, const OverrideOptions& options) {
  const auto identity = object_of_pairs(options.identity, false);
  if (!identity) return fail(identity.error());
  const auto numbers = object_of_pairs(options.set, true);
  if (!numbers) return fail(numbers.error());
  std::string body = "{";
  append_text(body, "policy_id", options.policy);
  append_text(body, "plan_id", options.plan);
  append_text(body, "limit_name", options.limit);
  append_text(body, "ttl", options.ttl);
  append_raw(body, "identity", *identity);
  append_raw(body, "set", *numbers);
  body.push_back('}');
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  // With an id the call can be repeated: the second one changes nothing.
  const auto answer =
      (*api)->call({.method = options.id.empty() ? "POST" : "PUT",
                    .path = options.id.empty() ? path_to({"overrides"}) : path_to({"overrides", options.id}),
                    .query = {{"tenant_id", invocation.tenant()}},
                    .body = body});
  if (!answer) return fail(answer.error());
  const json::Value made = answer->document.root();
  if (invocation.for_programs()) {
    print_document(made, invocation.format());
  } else {
    fmt::print("override/{} set: {}, {}\n", cell(made.get("id")), cell(made.get("set")),
               made.find("expires_at") == nullptr ? "never expires" : "expires " + cell(made.get("expires_at")));
  }
  return Exit::done;
}

struct ClearOptions {
  std::string policy;
  std::string plan;
};

Exit run_clear(Invocation& invocation, const ClearOptions& options) {
  std::string body = "{";
  append_text(body, "tenant_id", invocation.tenant());
  append_text(body, "policy_id", options.policy);
  append_text(body, "plan_id", options.plan);
  body.push_back('}');
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  const auto answer = (*api)->call({.method = "POST", .path = path_to({"overrides", "clear"}), .body = body});
  if (!answer) return fail(answer.error());
  print_document(answer->document.root(), invocation.format() == Format::json ? Format::json : Format::yaml);
  return Exit::done;
}

Result<std::string> counters_body(const Invocation& invocation, const CounterOptions& options) {
  const auto identity = object_of_pairs(options.identity, false);
  if (!identity) return std::unexpected(identity.error());
  std::string body = "{";
  append_text(body, "tenant_id", invocation.tenant());
  append_text(body, "policy_id", options.policy);
  append_text(body, "plan_id", options.plan);
  append_raw(body, "identity", *identity);
  return body + "}";
}

std::string in_seconds(const json::Value& micros) {
  if (micros.type() != json::Type::number) return "-";
  return fmt::format("{:.3f} s", std::stod(std::string(micros.text())) / 1e6);
}

Exit run_read(Invocation& invocation, const CounterOptions& options) {
  const auto body = counters_body(invocation, options);
  if (!body) return fail(body.error());
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  const auto answer = (*api)->call({.method = "POST", .path = path_to({"counters", "read"}), .body = *body});
  if (!answer) return fail(answer.error());
  if (invocation.for_programs()) {
    print_document(answer->document.root(), invocation.format());
    return Exit::done;
  }
  Table table({"LIMIT", "ALGORITHM", "UNIT", "OF", "REMAINING", "WHOLE AGAIN IN"});
  for (const json::Value& limit : answer->document.root().items_of("limits")) {
    table.add({cell(limit.get("name")), cell(limit.get("algorithm")), cell(limit.get("unit")), cell(limit.get("limit")),
               cell(limit.get("remaining")), in_seconds(limit.get("reset_after_us"))});
  }
  fmt::print("{}", table.text());
  return Exit::done;
}

Exit run_reset(Invocation& invocation, const CounterOptions& options) {
  const auto body = counters_body(invocation, options);
  if (!body) return fail(body.error());
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  const auto answer = (*api)->call({.method = "POST", .path = path_to({"counters", "reset"}), .body = *body});
  if (!answer) return fail(answer.error());
  if (invocation.for_programs()) {
    print_document(answer->document.root(), invocation.format());
  } else {
    fmt::print("counters of {} reset\n", cell(answer->document.root().get("identity")));
  }
  return Exit::done;
}

template <class Options>
void add_target(CLI::App& command, Options& options) {
  auto* const policy = command.add_option("--policy", options.policy, "Of this policy.")->type_name("ID");
  command.add_option("--plan", options.plan, "Of checks that name this plan.")->type_name("ID")->excludes(policy);
}

void add_identity(CLI::App& command, std::vector<std::string>& identity) {
  command
      .add_option("-i,--identity", identity, "A dimension of the counter, such as subject=user:42. May be repeated.")
      ->type_name("NAME=VALUE")
      ->required()
      ->take_all()
      ->allow_extra_args(false);
}

}  // namespace

void add_counters(CLI::App& app, Invocation& invocation) {
  CLI::App* const group = app.add_subcommand("override", "Other numbers for one subject: set, or clear all.");
  group->require_subcommand(1)->fallthrough();
  const auto [set, options] =
      add_command(*group, "set", "Replace numbers of a limit for one identity.", invocation, run_override);
  add_target(*set, *options);
  add_identity(*set, options->identity);
  set->add_option("--limit", options->limit, "The name of the limit.")->type_name("NAME")->required();
  set->add_option("--set", options->set, "A number of the limit, such as capacity=500. May be repeated.")
      ->type_name("NAME=VALUE")
      ->required()
      ->take_all()
      ->allow_extra_args(false);
  set->add_option("--ttl", options->ttl, "When it expires, such as 1h. Without it, never.")->type_name("DURATION");
  set->add_option("--id", options->id, "The override's id; else the server makes one.")->type_name("ID");
  const auto [clear, cleared] = add_command(
      *group, "clear", "Delete all overrides of the tenant, of one policy or of one plan.", invocation, run_clear);
  add_target(*clear, *cleared);

  CLI::App* const counters = app.add_subcommand("counters", "What is left for one identity: read, or reset.");
  counters->require_subcommand(1)->fallthrough();
  const auto [read, read_options] =
      add_command(*counters, "read", "Show every limit of one identity.", invocation, run_read);
  add_target(*read, *read_options);
  add_identity(*read, read_options->identity);
  const auto [reset, reset_options] =
      add_command(*counters, "reset", "Give one identity all of its limits back.", invocation, run_reset);
  add_target(*reset, *reset_options);
  add_identity(*reset, reset_options->identity);
}

}  // namespace sluice::ctl
