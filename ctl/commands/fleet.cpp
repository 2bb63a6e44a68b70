#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "ctl/commands/commands.hpp"
#include "ctl/core/enforcement.hpp"
#include "ctl/core/time_option.hpp"

namespace sluice::ctl {
namespace {

struct FleetOptions {
  std::string status;
};

struct WaitOptions {
  std::optional<std::uint64_t> revision;
  std::string up_to = "30s";
};

Exit run_fleet(Invocation& invocation, const FleetOptions& options) {
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  Table table({"AGENT", "POD", "STATUS", "REVISION", "LAG", "VERSION", "DEGRADED", "REFUSAL", "LAST REPORT"});
  Items items;
  const auto listed =
      (*api)->list({.path = path_to({"agents"}),
                    .query = {{"tenant_id", invocation.tenant()}, {"status", options.status}, {"limit", "1000"}}},
                   [&](const json::Value& agent) {
                     items.add(agent);
                     const json::Value refusal = agent.get("refusal");
                     table.add({cell(agent.get("id")), cell(agent.get("pod")), cell(agent.get("status")),
                                cell(agent.get("revision")), cell(agent.get("lag")), cell(agent.get("version")),
                                cell(agent.get("degraded")), cell(refusal), cell(agent.get("last_report"))});
                     return true;
                   });
  if (!listed) return fail(listed.error());
  if (invocation.for_programs()) {
    items.print(invocation.format());
    return Exit::done;
  }
  if (table.empty()) {
    fmt::print(stderr, "No agents.\n");
  } else {
    fmt::print("{}", table.text());
  }
  return Exit::done;
}

Exit run_wait(Invocation& invocation, const WaitOptions& options) {
  const auto up_to = duration_of("--for", options.up_to, std::chrono::milliseconds(0));
  if (!up_to) return fail(up_to.error());
  if (options.revision) return await_enforcement(invocation, std::to_string(*options.revision), *up_to);
  const auto api = invocation.server();
  if (!api) return fail(api.error());
  const auto newest = (*api)->call({.path = path_to({"revision"})});
  if (!newest) return fail(newest.error());
  return await_enforcement(invocation, cell(newest->document.root().get("revision")), *up_to);
}

}  // namespace

void add_fleet(CLI::App& app, Invocation& invocation) {
  const auto [fleet, options] =
      add_command(app, "fleet", "List the agents, and which revision each enforces.", invocation, run_fleet);
  fleet->add_option("--status", options->status, "live or missing")->check(CLI::IsMember({"live", "missing"}));

  const auto [wait, wait_options] =
      add_command(app, "wait", "Wait until all agents enforce a revision. The exit code is 1 if they do not in time.",
                  invocation, run_wait);
  wait->add_option("revision", wait_options->revision, "The revision; without it the newest.");
  wait->add_option("--for", wait_options->up_to, "How long to wait.")->type_name("DURATION")->capture_default_str();
}

}  // namespace sluice::ctl
