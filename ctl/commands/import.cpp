#include <utility>

#include <fmt/core.h>

#include "ctl/commands/commands.hpp"
#include "ctl/core/text_file.hpp"

namespace sluice::ctl {
namespace {

struct ImportOptions {
  std::string from;
  std::string file;
  bool dry_run = false;
};

Exit run_import(Invocation& invocation, const ImportOptions& options) {
  auto text = read_text(options.file);
  if (!text) return fail(text.error());
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  const auto answer = (*api)->call({.method = "POST",
                                    .path = path_to({"import"}),
                                    .query = {{"from", options.from},
                                              {"tenant_id", invocation.tenant()},
                                              {"dry_run", options.dry_run ? "true" : ""}},
                                    .body = std::move(*text),
                                    .content_type = "text/plain"});
  if (!answer) return fail(answer.error());
  const json::Value imported = answer->document.root();
  for (const json::Value& note : imported.items_of("notes")) {
    const std::string_view instead = note.text_of("instead");
    fmt::print(stderr, "{}:{}: {}: {}{}{}\n", options.file, cell(note.get("line")), cell(note.get("what")),
               cell(note.get("why")), instead.empty() ? "" : "; ", printable(instead));
  }
  if (invocation.for_programs()) {
    print_document(imported, invocation.format());
    return Exit::done;
  }
  const std::string_view mark = options.dry_run ? " (dry run)" : "";
  for (const json::Value& change : imported.items_of("changes")) {
    fmt::print("{}/{} {}d{}\n", cell(change.get("kind")), cell(change.get("id")), cell(change.get("action")), mark);
  }
  fmt::print("{} changed, {} unchanged{}\n", imported.items_of("changes").size(), cell(imported.get("unchanged")),
             mark);
  return Exit::done;
}

}  // namespace

void add_import(CLI::App& app, Invocation& invocation) {
  const auto [command, options] = add_command(
      app, "import", "Make policies of the configuration of another limiter, and list what has no counterpart.",
      invocation, run_import);
  command->add_option("from", options->from, "envoy-ratelimit, limitador, kong, gubernator, nginx or traefik")
      ->required();
  command->add_option("file", options->file, "The configuration, or - for stdin.")->required();
  command->add_flag("--dry-run", options->dry_run, "Store nothing.");
}

}  // namespace sluice::ctl
