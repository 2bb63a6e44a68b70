#include "ctl/core/completion.hpp"

#include <fmt/core.h>

#include "ctl/commands/commands.hpp"
#include "ctl/core/reference.hpp"

namespace sluice::ctl {
namespace {

struct ShellOptions {
  std::string shell;
};

struct WordOptions {
  std::vector<std::string> words;
};

constexpr std::string_view kTimeout = "2s";  // nobody waits longer for a list of ids

Exit run_completion(Invocation& /*invocation*/, const ShellOptions& options) {
  fmt::print("{}", completion_script(options.shell));
  return Exit::done;
}

std::vector<std::string> context_names(const Invocation& invocation) {
  std::vector<std::string> names;
  const auto contexts = Contexts::load(invocation.globals.config);
  if (!contexts) return names;
  for (const Context& context : contexts->all()) names.push_back(context.name);
  return names;
}

std::vector<std::string> ids_of(Invocation& invocation, std::string_view plural) {
  if (plural == "contexts") return context_names(invocation);
  std::vector<std::string> ids;
  invocation.globals.timeout = kTimeout;
  const auto kind = find_kind(plural);
  const auto api = invocation.server();
  if (!kind || !api) return ids;
  const auto answer =
      (*api)->send({.path = path_to({plural}),
                    .query = {{"tenant_id", (*kind)->in_tenant ? invocation.tenant() : ""}, {"limit", "1000"}}});
  if (!answer) return ids;
  for (const json::Value& item : answer->document.root().items_of("items")) ids.emplace_back(item.text_of("id"));
  return ids;
}

}  // namespace

void add_completion(CLI::App& app, Invocation& invocation) {
  const auto [completion, options] = add_command(
      app, "completion", "Print the script that completes commands in a shell.", invocation, run_completion);
  completion->add_option("shell", options->shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));

  // What the script calls. Everything behind -- is a word, also what looks like an option.
  auto words = std::make_shared<WordOptions>();
  CLI::App* const hidden = app.add_subcommand("__complete", "")->group("");
  hidden->add_option("word", words->words);
  hidden->callback([&app, &invocation, words] {
    const auto found = complete(app, words->words, [&](std::string_view kind) { return ids_of(invocation, kind); });
    for (const std::string& word : found) fmt::print("{}\n", printable(word));
  });

  // What scripts/docs calls.
  app.add_subcommand("__reference", "")->group("")->callback([&app] { fmt::print("{}", reference(app)); });
}

}  // namespace sluice::ctl
