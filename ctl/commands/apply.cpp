// apply and diff: both send the bundle of all files in one call, so that a change is made whole or not at all.
#include <chrono>

#include <fmt/core.h>

#include "common/base/text.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/core/bundle_files.hpp"
#include "ctl/core/changes.hpp"
#include "ctl/core/enforcement.hpp"
#include "ctl/core/time_option.hpp"

namespace sluice::ctl {
namespace {

struct ApplyOptions {
  std::vector<std::string> files;
  std::string organization;
  std::string wait;
  bool dry_run = false;
  bool prune = false;
  bool recursive = false;
};

constexpr unsigned kUnprocessable = 422;
constexpr unsigned kBadRequest = 400;

// Names the file, the line and the column of each fault.
Exit refused(const Answer& answer, const BundleFiles& files) {
  const bool about_body = answer.status == kUnprocessable || answer.status == kBadRequest;
  const auto faults = answer.document.root().items_of("errors");
  if (!about_body || faults.empty()) return fail(error_of(answer));
  std::string text = "the server refuses the bundle, and nothing is changed:";
  for (const json::Value& fault : faults) {
    const std::string_view pointer = fault.text_of("pointer");
    if (pointer.starts_with('?')) return fail(error_of(answer));
    text.append("\n").append(files.describe(pointer, fault.text_of("detail")));
  }
  return fail(text);
}

struct Sent {
  Answer answer;
  BundleFiles files;
};

// The exit code if it failed: what went wrong is printed then.
std::expected<Sent, Exit> send(Invocation& invocation, const ApplyOptions& options, bool dry_run) {
  auto files = BundleFiles::read(options.files, options.recursive);
  if (!files) return std::unexpected(fail(files.error()));
  auto bundle = files->joined();
  if (!bundle) return std::unexpected(fail(bundle.error()));
  const auto api = invocation.server();
  if (!api) return std::unexpected(fail(api.error()));
  auto answer = (*api)->send({.method = "POST",
                              .path = path_to({"apply"}),
                              .query = {{"dry_run", dry_run ? "true" : ""},
                                        {"prune", options.prune ? "true" : ""},
                                        {"organization_id", options.organization}},
                              .body = std::move(*bundle)});
  if (!answer) return std::unexpected(fail(answer.error()));
  if (!answer->ok()) return std::unexpected(refused(*answer, *files));
  for (const json::Value& warning : answer->document.root().items_of("warnings")) {
    fmt::print(stderr, "warning: {}\n", files->describe(warning.text_of("pointer"), warning.text_of("detail")));
  }
  return Sent{std::move(*answer), std::move(*files)};
}

std::string name_of(const json::Value& change) {
  const std::string_view tenant = change.text_of("tenant_id");
  return fmt::format("{}/{}{}{}", change.text_of("kind"), tenant, tenant.empty() ? "" : "/", change.text_of("id"));
}

Exit run_apply(Invocation& invocation, const ApplyOptions& options) {
  const auto up_to = duration_of("--wait", options.wait.empty() ? "0s" : options.wait, std::chrono::milliseconds(0));
  if (!up_to) return fail(up_to.error());
  const auto sent = send(invocation, options, options.dry_run);
  if (!sent) return sent.error();
  const json::Value applied = sent->answer.document.root();
  if (invocation.for_programs()) {
    print_document(applied, invocation.format());
  } else {
    const std::string_view note = options.dry_run ? " (dry run)" : "";
    for (const json::Value& change : applied.items_of("changes")) {
      const std::string_view action = change.text_of("action");
      fmt::print("{} {}d{}\n", printable(name_of(change)), action, note);
    }
    fmt::print("{} changed, {} unchanged{}\n", applied.items_of("changes").size(), cell(applied.get("unchanged")),
               note);
  }
  const json::Value revision = applied.get("revision");
  if (options.wait.empty() || options.dry_run || revision.type() != json::Type::number) return Exit::done;
  return await_enforcement(invocation, std::string(revision.text()), *up_to);
}

// The object as the server has it now; null if it cannot be read.
Document stored(Api& api, const json::Value& change) {
  const Kind* const kind = kind_named(change.text_of("kind"));
  if (kind == nullptr) return {};
  auto answer = api.send({.path = path_to({kind->plural, change.text_of("id")}),
                          .query = {{"tenant_id", kind->in_tenant ? std::string(change.text_of("tenant_id")) : ""}}});
  return answer && answer->ok() ? std::move(answer->document) : Document();
}

void print_change(Api& api, const BundleFiles& files, const json::Value& change) {
  const std::string_view action = change.text_of("action");
  fmt::print("{} {}\n", action, printable(name_of(change)));
  const Kind* const kind = kind_named(change.text_of("kind"));
  if (action == "create") {
    const json::Value* const object =
        kind == nullptr ? nullptr : files.find(kind->plural, change.text_of("tenant_id"), change.text_of("id"));
    if (object != nullptr) fmt::print("{}", describe_object(*object, '+'));
    return;
  }
  const Document before = stored(api, change);
  if (action == "update") {
    fmt::print("{}", describe_patch(before.root(), change.get("diff")));
  } else if (before.root().type() == json::Type::object) {
    fmt::print("{}", describe_object(before.root(), '-'));
  }
}

Exit run_diff(Invocation& invocation, const ApplyOptions& options) {
  const auto sent = send(invocation, options, true);
  if (!sent) return sent.error();
  const json::Value applied = sent->answer.document.root();
  const auto changes = applied.items_of("changes");
  if (invocation.for_programs()) {
    print_document(applied, invocation.format());
  } else {
    const auto api = invocation.server();
    for (const json::Value& change : changes) print_change(**api, sent->files, change);
  }
  return changes.empty() ? Exit::done : Exit::no;
}

void add_files(CLI::App& command, ApplyOptions& options) {
  command.add_option("-f,--filename", options.files, "A file, a folder of files, or - for stdin. May be repeated.")
      ->type_name("PATH")
      ->required()
      ->take_all()
      ->allow_extra_args(false);
  command.add_flag("-R,--recursive", options.recursive, "Also the files in folders of folders.");
  command.add_flag("--prune", options.prune,
                   "Also delete what the files do not name: in the tenants of the files, of the kinds that the files "
                   "list. Organizations stay.");
  command
      .add_option("--organization", options.organization,
                  "The organization of all tenants of the files. With --prune its other tenants are deleted.")
      ->type_name("ID");
}

}  // namespace

void add_apply(CLI::App& app, Invocation& invocation) {
  const auto [apply, options] =
      add_command(app, "apply", "Create and change objects so that they are as in files. All files are one change.",
                  invocation, run_apply);
  add_files(*apply, *options);
  apply->add_flag("--dry-run", options->dry_run, "Have the server validate, and print what it would change.");
  apply->add_option("--wait", options->wait, "Wait until all agents enforce the change: at most this long.")
      ->type_name("DURATION");

  const auto [diff, diff_options] = add_command(
      app, "diff", "Show what apply would change. The exit code is 0 without differences, else 1; 2 is an error.",
      invocation, run_diff);
  add_files(*diff, *diff_options);
}

}  // namespace sluice::ctl
