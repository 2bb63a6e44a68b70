#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "common/json/merge_patch.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/core/changes.hpp"
#include "ctl/core/time_option.hpp"

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
  std::string since;
  std::string until;
  for (const auto& [option, text, time] :
       {std::tuple{"--since", &options.since, &since}, std::tuple{"--until", &options.until, &until}}) {
    if (text->empty()) continue;
    auto read = time_of(option, *text);
    if (!read) return fail(read.error());
    *time = std::move(*read);
  }
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  Table table({"AT", "ACTOR", "ACTION", "KIND", "TENANT", "OBJECT", "VERSION", "FROM"});
  Items items;
  std::size_t shown = 0;
  const auto listed =
      (*api)->list({.path = path_to({"audit"}),
                    .query = {{"organization_id", options.organization},
                              {"tenant_id", invocation.tenant()},
                              {"kind", options.kind},
                              {"object_id", options.object},
                              {"actor_id", options.actor},
                              {"since", since},
                              {"until", until},
                              {"limit", fmt::format("{}", std::min<std::size_t>(options.limit, 1000))}}},
                   [&](const json::Value& entry) {
                     if (invocation.for_programs()) {
                       items.add(entry);
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
    items.print(invocation.format());
  } else if (shown == 0) {
    fmt::print(stderr, "There are no entries.\n");
  } else if (!options.changes) {
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
  audit
      ->add_option("--since", options->since,
                   "From this time on: a duration such as 1h, or a time such as 2027-03-31T09:00:00Z.")
      ->type_name("TIME");
  audit->add_option("--until", options->until, "Before this time: a duration or a time.")->type_name("TIME");
  audit->add_option("--limit", options->limit, "How many entries.")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  audit->add_flag("--changes", options->changes, "Show the changed members of each entry.");
}

}  // namespace sluice::ctl
