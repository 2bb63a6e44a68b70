// delete: objects by their ids, or those of files.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "ctl/commands/commands.hpp"
#include "ctl/core/bundle_files.hpp"

namespace sluice::ctl {
namespace {

struct DeleteOptions {
  std::string kind;
  std::vector<std::string> ids;
  std::vector<std::string> files;
  bool recursive = false;
  bool dry_run = false;
  bool ignore_missing = false;
};

constexpr unsigned kNotFound = 404;

// The kinds of a bundle. Nothing that comes later needs what comes earlier.
constexpr auto kOrder =
    std::to_array<std::string_view>({"override", "key", "policy", "plan", "tenant", "organization"});

Result<std::vector<ObjectName>> objects_of_files(const DeleteOptions& options) {
  const auto files = BundleFiles::read(options.files, options.recursive);
  if (!files) return std::unexpected(files.error());
  std::vector<ObjectName> objects;
  for (const std::string_view name : kOrder) {
    const Kind* const kind = kind_named(name);
    for (const json::Value& object : files->objects(kind->plural)) {
      const std::string_view id = object.text_of("id");
      if (id.empty()) {
        return failure("bundle", fmt::format("a file has an object of {} without an `id`: name it", kind->plural));
      }
      objects.push_back({kind, std::string(object.text_of("tenant_id")), std::string(id)});
    }
  }
  return objects;
}

Exit run_delete(Invocation& invocation, const DeleteOptions& options) {
  if (options.kind.empty() == options.files.empty()) {
    return fail("name a kind and ids, such as policy orders, or files with -f");
  }
  const auto objects = options.files.empty() ? find_objects(options.kind, options.ids) : objects_of_files(options);
  if (!objects) return fail(objects.error());
  if (objects->empty() && options.files.empty()) return fail("name the ids of the objects, such as policy orders");
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  for (const auto& [kind, tenant, id] : *objects) {
    const std::string name = fmt::format("{}/{}", kind->name, printable(id));
    const auto answer = (*api)->send({.method = options.dry_run ? "GET" : "DELETE",
                                      .path = path_to({kind->plural, id}),
                                      .query = {{"tenant_id", !kind->in_tenant ? ""
                                                              : tenant.empty() ? invocation.tenant()
                                                                               : tenant}}});
    if (!answer) return fail(fmt::format("{}: {}", name, answer.error().text));
    if (answer->status == kNotFound && options.ignore_missing) continue;
    if (!answer->ok()) return fail(fmt::format("{}: {}", name, error_of(*answer).text));
    fmt::print("{} deleted{}\n", name, options.dry_run ? " (dry run)" : "");
  }
  return Exit::done;
}

}  // namespace

void add_delete(CLI::App& app, Invocation& invocation) {
  const auto [command, options] =
      add_command(app, "delete", "Delete objects by their ids, or those that files have.", invocation, run_delete);
  command->add_option("kind", options->kind, "The kind, such as policy; or names, such as policy/orders.");
  command->add_option("id", options->ids, "Ids of objects.");
  command->add_option("-f,--filename", options->files, "Delete what this file or folder has. May be repeated.")
      ->type_name("PATH")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("-R,--recursive", options->recursive, "Also the files in folders of folders.");
  command->add_flag("--dry-run", options->dry_run, "Only check that the objects are there.");
  command->add_flag("--ignore-not-found", options->ignore_missing, "An object that is not there is no failure.");
}

}  // namespace sluice::ctl
