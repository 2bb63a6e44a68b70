#include <algorithm>

#include <fmt/core.h>

#include "common/json/edit.hpp"
#include "common/json/merge_patch.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/core/changes.hpp"

namespace sluice::ctl {
namespace {

struct AuditOptions {
  std::string organization;
  std::string kind;
  std::string object;
  std::string actor;
  std::string since;
  std::string until;
  std::size_t limit = 50;
  bool changes = false;
};

void print_changes(json::Value before, json::Value after) {
  const bool was = before.type() == json::Type::object;
  const bool is = after.type() == json::Type::object;
  if (was && is) {
    const auto patch = Document::parse(json::merge_patch(before, after));
    if (patch) fmt::print("{}", describe_patch(before, patch->root()));
  } else if (was || is) {
    fmt::print("{}", describe_object(is ? after : before, is ? '+' : '-'));
  }
}

Exit run_audit(Invocation& invocation, const AuditOptions& options) {
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  Table table({"AT", "ACTOR", "ACTION", "KIND", "TENANT", "OBJECT", "VERSION", "FROM"});
  std::string items;
  std::size_t shown = 0;
  const auto listed =
      (*api)->list({.path = path_to({"audit"}),
                    .query = {{"organization_id", options.organization},
                              {"tenant_id", invocation.tenant()},
                              {"kind", options.kind},
                              {"object_id", options.object},
                              {"actor_id", options.actor},
                              {"since", options.since},
                              {"until", options.until},
                              {"limit", fmt::format("{}", std::min<std::size_t>(options.limit, 1000))}}},
                   [&](const json::Value& entry) {
                     if (invocation.for_programs()) {
                       if (!items.empty()) items.push_back(',');
                       json::append(items, entry);
                     } else if (options.changes) {
                       fmt::print("{} {} {} {}/{}\n", cell(entry.get("at")), cell(entry.get("actor_id")),
                                  cell(entry.get("action")), cell(entry.get("kind")), cell(entry.get("object_id")));
                       print_changes(entry.get("before"), entry.get("after"));
                     } else {
                       table.add({cell(entry.get("at")), cell(entry.get("actor_id")), cell(entry.get("action")),
                                  cell(entry.get("kind")), cell(entry.get("tenant_id")), cell(entry.get("object_id")),
                                  cell(entry.get("version")), cell(entry.get("source"))});
                     }
                     return ++shown < options.limit;
                   });
  if (!listed) return fail(listed.error());
  if (invocation.for_programs()) {
    print_document(Document::parse(R"({"items":[)" + items + "]}")->root(), invocation.format());
  } else if (!table.empty()) {
    fmt::print("{}", table.text());
  }
  return Exit::done;
}

}  // namespace

void add_audit(CLI::App& app, Invocation& invocation) {
  const auto [audit, options] =
      add_command(app, "audit", "Show who changed what, the newest first.", invocation, run_audit);
  audit->add_option("--organization", options->organization, "Of this organization.")->type_name("ID");
  audit->add_option("--kind", options->kind, "Of objects of this kind, such as policy.");
  audit->add_option("--object", options->object, "Of the object with this id.")->type_name("ID");
  audit->add_option("--actor", options->actor, "By this token.")->type_name("ID");
  audit->add_option("--since", options->since, "From this time on, such as 2027-03-31T09:00:00Z.")->type_name("TIME");
  audit->add_option("--until", options->until, "Before this time.")->type_name("TIME");
  audit->add_option("--limit", options->limit, "How many entries.")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  audit->add_flag("--changes", options->changes, "Show the changed members of each entry.");
}

}  // namespace sluice::ctl
