#include <fmt/core.h>

#include "common/json/edit.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/core/document.hpp"

namespace sluice::ctl {
namespace {

struct GetOptions {
  std::string kind;
  std::vector<std::string> ids;
  std::vector<std::string> where;
};

Result<Query> conditions(const std::vector<std::string>& where) {
  Query query;
  for (const std::string& pair : where) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      return failure("where", fmt::format("--where must be NAME=VALUE, such as mode=shadow; got '{}'", pair));
    }
    query.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return query;
}

Query query_for(const ObjectName& name, const std::string& tenant, Query query) {
  if (name.kind->in_tenant) query.emplace_back("tenant_id", name.tenant.empty() ? tenant : name.tenant);
  return query;
}

// The objects point into `documents`. `names`: none for the list of the kind.
Result<std::vector<json::Value>> fetch(Api& api, const Kind& kind, const std::vector<ObjectName>& names, Query query,
                                       const std::string& tenant, std::vector<Document>& documents) {
  std::vector<json::Value> objects;
  if (names.empty()) {
    // The tenants' own list has no tenant to choose; a key or an override has.
    if (kind.in_tenant || kind.name == "key") query.emplace_back("tenant_id", tenant);
    query.emplace_back("limit", "1000");
    std::string text = "[";
    const auto listed = api.list({.path = path_to({kind.plural}), .query = query}, [&](const json::Value& item) {
      if (text.size() > 1) text.push_back(',');
      json::append(text, item);
      return true;
    });
    if (!listed) return std::unexpected(listed.error());
    documents.push_back(*Document::parse(text + "]"));
    const auto items = documents.back().root().items();
    objects.assign(items.begin(), items.end());
    return objects;
  }
  for (const ObjectName& name : names) {
    auto answer = api.call({.path = path_to({kind.plural, name.id}), .query = query_for(name, tenant, query)});
    if (!answer) return std::unexpected(answer.error());
    documents.push_back(std::move(answer->document));
    objects.push_back(documents.back().root());
  }
  return objects;
}

Exit run_get(Invocation& invocation, const GetOptions& options) {
  const auto names = find_objects(options.kind, options.ids);
  if (!names) return fail(names.error());
  const Kind& kind = names->empty() ? **find_kind(options.kind) : *names->front().kind;
  for (const ObjectName& name : *names) {
    if (name.kind != &kind) {
      return fail(fmt::format("one command shows one kind: get {} and {} one by one", kind.plural, name.kind->plural));
    }
  }
  auto query = conditions(options.where);
  if (!query) return fail(query.error());
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  std::vector<Document> documents;
  const auto objects = fetch(**api, kind, *names, std::move(*query), invocation.tenant(), documents);
  if (!objects) return fail(objects.error());
  if (invocation.for_programs() && names->size() == 1) {
    print_document(objects->front(), invocation.format());
  } else {
    print_objects(*objects, kind, invocation.format());
  }
  return Exit::done;
}

struct ExportOptions {
  std::string organization;
  bool overrides = false;
};

Exit run_export(Invocation& invocation, const ExportOptions& options) {
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  const bool as_json = invocation.format() == Format::json;
  const auto answer = (*api)->call({.path = path_to({"export"}),
                                    .query = {{"organization_id", options.organization},
                                              {"tenant_id", invocation.tenant()},
                                              {"include", options.overrides ? "overrides" : ""},
                                              {"format", as_json ? "json" : "yaml"}}});
  if (!answer) return fail(answer.error());
  fmt::print("{}{}", answer->text, answer->text.ends_with('\n') ? "" : "\n");
  return Exit::done;
}

}  // namespace

void add_get(CLI::App& app, Invocation& invocation) {
  const auto [get, options] =
      add_command(app, "get", "Show objects of a kind, or those with the given ids.", invocation, run_get);
  get->add_option("kind", options->kind,
                  "organizations, tenants, plans, policies, overrides, keys, webhooks, tokens, …; or names, such as "
                  "policy/orders.")
      ->required();
  get->add_option("id", options->ids, "Ids of objects.");
  get->add_option("-w,--where", options->where, "A filter of the list, such as mode=shadow. May be repeated.")
      ->type_name("NAME=VALUE")
      ->take_all()
      ->allow_extra_args(false);

  const auto [dump, dump_options] =
      add_command(app, "export", "Print a bundle of everything in scope, as YAML or JSON.", invocation, run_export);
  dump->add_option("--organization", dump_options->organization, "Only this organization.")->type_name("ID");
  dump->add_flag("--overrides", dump_options->overrides, "Overrides too.");
}

}  // namespace sluice::ctl
