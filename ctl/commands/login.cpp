// login, logout, context and whoami.
#include <cstdio>
#include <filesystem>

#include <fmt/core.h>
#include <termios.h>
#include <unistd.h>

#include "common/base/text.hpp"
#include "common/json/writer.hpp"
#include "ctl/commands/commands.hpp"
#include "ctl/core/text_file.hpp"

namespace sluice::ctl {
namespace {

struct LoginOptions {
  std::string name;
};

struct NameOptions {
  std::string name;
};

struct NoOptions {};

// Keeps what is typed off the screen, and brings the terminal back.
class NoEcho {
 public:
  NoEcho() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    changed_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) == 0;
  }
  ~NoEcho() {
    if (changed_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  NoEcho(const NoEcho&) = delete;

 private:
  termios before_{};
  bool changed_ = false;
};

Result<std::string> ask_for_token(const Invocation& invocation) {
  if (!invocation.globals.token_file.empty()) return read_secret(invocation.globals.token_file);
  if (::isatty(STDIN_FILENO) == 0) return read_secret("-");
  fmt::print(stderr, "Admin token (sla_…): ");
  auto token = [] {
    const NoEcho quiet;
    return read_secret("-");
  }();
  fmt::print(stderr, "\n");
  return token;
}

Exit run_login(Invocation& invocation, const LoginOptions& options) {
  const Globals& globals = invocation.globals;
  if (globals.config.empty()) return fail("there is no home folder: set SLUICECTL_CONFIG to the file of contexts");
  if (globals.server.empty()) return fail("--server is missing: name the server, such as https://sluice.example:8080");
  const auto url = safe_url(globals.server, globals.insecure);
  if (!url) return fail(url.error());
  auto contexts = Contexts::load(globals.config);
  if (!contexts) return fail(contexts.error());
  const auto timeout = invocation.timeout();
  if (!timeout) return fail(timeout.error());
  auto token = ask_for_token(invocation);
  if (!token) return fail(token.error());
  Api api({.url = *url, .ca = globals.ca, .token = *token, .timeout = *timeout});
  const auto answer = api.call({.path = path_to({"whoami"})});
  if (!answer) return fail(answer.error());
  const std::string name = options.name.empty() ? url->host : options.name;
  contexts->put({.name = name,
                 .server = globals.server,
                 .token = std::move(*token),
                 .ca = globals.ca.empty() ? "" : std::filesystem::absolute(globals.ca).lexically_normal().string(),
                 .tenant = globals.tenant,
                 .insecure = globals.insecure});
  contexts->use(name);
  if (Result<> saved = contexts->save(); !saved) return fail(saved.error());
  const json::Value caller = answer->document.root();
  fmt::print("Signed in to {} as {} ({}). The context is {}, in {}.\n", globals.server, cell(caller.get("id")),
             cell(caller.get("role")), name, globals.config);
  return Exit::done;
}

// Loads the contexts, changes them, and saves them.
template <class Change>
Exit change_contexts(Invocation& invocation, const Change& change) {
  auto contexts = Contexts::load(invocation.globals.config);
  if (!contexts) return fail(contexts.error());
  if (Exit exit = change(*contexts); exit != Exit::done) return exit;
  if (Result<> saved = contexts->save(); !saved) return fail(saved.error());
  return Exit::done;
}

Exit unknown_context(const std::string& name) {
  return fail(fmt::format("there is no context {}: `sluicectl context list` shows all", sluice::quoted(name)));
}

Exit run_logout(Invocation& invocation, const NameOptions& options) {
  return change_contexts(invocation, [&](Contexts& contexts) {
    const std::string name = options.name.empty() ? contexts.current() : options.name;
    if (name.empty()) return fail("there is no current context: name the one to remove");
    if (!contexts.remove(name)) return unknown_context(name);
    fmt::print("The context {} and its token are removed. The token itself stays valid until it is revoked.\n", name);
    return Exit::done;
  });
}

Exit run_use(Invocation& invocation, const NameOptions& options) {
  return change_contexts(invocation, [&](Contexts& contexts) {
    if (!contexts.use(options.name)) return unknown_context(options.name);
    fmt::print("The context is {}.\n", options.name);
    return Exit::done;
  });
}

// Without the tokens.
std::string json_of(const Contexts& contexts) {
  json::Writer out;
  out.begin_object();
  out.field("current", contexts.current());
  out.key("items");
  out.begin_list();
  for (const Context& context : contexts.all()) {
    out.begin_object();
    out.field("name", context.name);
    out.field("server", context.server);
    out.optional_field("tenant", context.tenant);
    out.end_object();
  }
  out.end_list();
  out.end_object();
  return out.take();
}

Exit run_contexts(Invocation& invocation, const NoOptions& /*options*/) {
  const auto contexts = Contexts::load(invocation.globals.config);
  if (!contexts) return fail(contexts.error());
  if (invocation.for_programs()) {
    print_document(Document::parse(json_of(*contexts))->root(), invocation.format());
    return Exit::done;
  }
  if (invocation.format() == Format::name) {
    for (const Context& context : contexts->all()) fmt::print("{}\n", printable(context.name));
    return Exit::done;
  }
  Table table({"CURRENT", "NAME", "SERVER", "TENANT"});
  for (const Context& context : contexts->all()) {
    table.add({context.name == contexts->current() ? "*" : "", printable(context.name), printable(context.server),
               context.tenant.empty() ? "-" : printable(context.tenant)});
  }
  if (table.empty()) {
    fmt::print(stderr, "There are no contexts: `sluicectl login --server URL` makes one.\n");
  } else {
    fmt::print("{}", table.text());
  }
  return Exit::done;
}

Exit run_whoami(Invocation& invocation, const NoOptions& /*options*/) {
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  const auto answer = (*api)->call({.path = path_to({"whoami"})});
  if (!answer) return fail(answer.error());
  const json::Value caller = answer->document.root();
  if (invocation.for_programs()) {
    print_document(caller, invocation.format());
  } else {
    fmt::print("{} at {}: {}, organization {}, tenants {}; may {}\n", cell(caller.get("id")),
               http_client::to_string((*api)->endpoint().url), cell(caller.get("role")),
               cell(caller.get("organization_id")), cell(caller.get("tenant_ids")), cell(caller.get("permissions")));
  }
  return Exit::done;
}

}  // namespace

void add_login(CLI::App& app, Invocation& invocation) {
  const auto [login, options] = add_command(
      app, "login",
      "Store a server and a token as a context. The token is asked for, or comes from --token-file or stdin.",
      invocation, run_login);
  login->add_option("name", options->name, "The context's name; else the name of the server's host.");

  const auto [logout, left] = add_command(app, "logout", "Remove a context with its token.", invocation, run_logout);
  logout->add_option("name", left->name, "The context; without it the current one.");

  CLI::App* const context = app.add_subcommand("context", "List the contexts, or use another one.");
  context->require_subcommand(1)->fallthrough();
  add_command(*context, "list", "List all contexts.", invocation, run_contexts);
  const auto [use, used] = add_command(*context, "use", "Make a context the current one.", invocation, run_use);
  use->add_option("name", used->name, "Its name.")->required();

  add_command(app, "whoami", "Show what the token may do.", invocation, run_whoami);
}

}  // namespace sluice::ctl
