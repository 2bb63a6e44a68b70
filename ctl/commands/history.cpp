// versions, rollback, rollout and mode of policies and plans.
#include <cstdint>
#include <limits>
#include <string>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "common/json/text.hpp"
#include "ctl/commands/commands.hpp"

namespace sluice::ctl {
namespace {

const CLI::Range kVersions(std::int64_t{1}, std::numeric_limits<std::int64_t>::max());

struct VersionOptions {
  std::string kind;
  std::string id;
  std::int64_t version = 0;
};

struct RolloutOptions {
  std::string policy;
  double percent = 0;
};

struct ModeOptions {
  std::string kind;
  std::string id;
  std::string mode;
};

Result<const Kind*> versioned(const std::string& name) {
  auto kind = find_kind(name);
  if (kind && !(*kind)->has_versions)
    return failure("kind", fmt::format("{} have no versions: only policies and plans have", (*kind)->plural));
  return kind;
}

Exit run_versions(Invocation& invocation, const VersionOptions& options) {
  const auto kind = versioned(options.kind);
  if (!kind) return fail(kind.error());
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  const std::string tenant = invocation.tenant();
  if (options.version != 0) {
    const auto answer =
        (*api)->call({.path = path_to({(*kind)->plural, options.id, "versions", std::to_string(options.version)}),
                      .query = {{"tenant_id", tenant}}});
    if (!answer) return fail(answer.error());
    print_document(answer->document.root(), invocation.format() == Format::json ? Format::json : Format::yaml);
    return Exit::done;
  }
  Table table({"VERSION", "AT", "BY", "REVISION", "REMOVED"});
  Items items;
  const auto listed =
      (*api)->list({.path = path_to({(*kind)->plural, options.id, "versions"}), .query = {{"tenant_id", tenant}}},
                   [&](const json::Value& item) {
                     table.add({cell(item.get("version")), cell(item.get("at")), cell(item.get("actor_id")),
                                cell(item.get("revision")), cell(item.get("removed"))});
                     items.add(item);
                     return true;
                   });
  if (!listed) return fail(listed.error());
  if (invocation.for_programs()) {
    items.print(invocation.format());
  } else {
    fmt::print("{}", table.text());
  }
  return Exit::done;
}

// Sends a change of one object, and says which version it made.
Exit change(Invocation& invocation, const Call& call, const std::string& what) {
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  const auto answer = (*api)->call(call);
  if (!answer) return fail(answer.error());
  if (invocation.for_programs()) {
    print_document(answer->document.root(), invocation.format());
  } else {
    fmt::print("{}, version {}\n", what, cell(answer->document.root().get("version")));
  }
  return Exit::done;
}

Exit run_rollback(Invocation& invocation, const VersionOptions& options) {
  const auto kind = versioned(options.kind);
  if (!kind) return fail(kind.error());
  return change(invocation,
                {.method = "POST",
                 .path = path_to({(*kind)->plural, options.id, "rollback"}),
                 .query = {{"tenant_id", invocation.tenant()}},
                 .body = fmt::format(R"({{"version":{}}})", options.version)},
                fmt::format("{}/{} is as in version {}", (*kind)->name, options.id, options.version));
}

Exit run_rollout(Invocation& invocation, const RolloutOptions& options) {
  if (!(options.percent >= 0 && options.percent <= 100)) {  // NaN is not within any bounds
    return fail(fmt::format("percent must be a number from 0 to 100; got {}", options.percent));
  }
  return change(invocation,
                {.method = "POST",
                 .path = path_to({"policies", options.policy, "rollout"}),
                 .query = {{"tenant_id", invocation.tenant()}},
                 .body = fmt::format(R"({{"percent":{}}})", options.percent)},
                fmt::format("policy/{} applies to {} % of its subjects", options.policy, options.percent));
}

Exit run_mode(Invocation& invocation, const ModeOptions& options) {
  const std::string body = fmt::format(R"({{"mode":{}}})", json::string_literal(options.mode));
  if (options.kind == "global") {
    return change(invocation, {.method = "PUT", .path = path_to({"modes", "global"}), .body = body},
                  fmt::format("the global mode is {}", options.mode));
  }
  if (options.id.empty()) return fail(fmt::format("mode {} needs an id", options.kind));
  if (options.kind == "tenant") {
    return change(invocation, {.method = "PUT", .path = path_to({"modes", "tenants", options.id}), .body = body},
                  fmt::format("tenant/{} has the mode {}", options.id, options.mode));
  }
  const auto kind = versioned(options.kind);
  if (!kind) return fail(kind.error());
  return change(invocation,
                {.method = "PATCH",
                 .path = path_to({(*kind)->plural, options.id}),
                 .query = {{"tenant_id", invocation.tenant()}},
                 .body = body,
                 .content_type = "application/merge-patch+json"},
                fmt::format("{}/{} has the mode {}", (*kind)->name, options.id, options.mode));
}

}  // namespace

void add_history(CLI::App& app, Invocation& invocation) {
  const auto [versions, shown] =
      add_command(app, "versions", "List the versions of a policy or plan, or show one.", invocation, run_versions);
  versions->add_option("kind", shown->kind, "policy or plan")->required();
  versions->add_option("id", shown->id, "Its id.")->required();
  versions->add_option("version", shown->version, "The version to show.")->check(kVersions);

  const auto [rollback, target] =
      add_command(app, "rollback", "Make an earlier version of a policy or plan its newest.", invocation, run_rollback);
  rollback->add_option("kind", target->kind, "policy or plan")->required();
  rollback->add_option("id", target->id, "Its id.")->required();
  rollback->add_option("version", target->version, "The version to go back to.")->required()->check(kVersions);

  const auto [rollout, share] =
      add_command(app, "rollout", "Set the share of subjects that a policy applies to.", invocation, run_rollout);
  rollout->add_option("policy", share->policy, "The policy's id.")->required();
  rollout->add_option("percent", share->percent, "0 to 100, with up to 2 decimals.")->required();

  const auto [mode, options] =
      add_command(app, "mode", "Set the mode: enforce, shadow (judge and report only) or off.", invocation, run_mode);
  mode->add_option("mode", options->mode, "enforce, shadow or off")
      ->required()
      ->check(CLI::IsMember({"enforce", "shadow", "off"}));
  mode->add_option("kind", options->kind, "policy, plan, tenant or global")->required();
  mode->add_option("id", options->id, "Its id; none for global.");
}

}  // namespace sluice::ctl
