// sluice_swarm: many agents' sync clients in one process, with commands on standard input (README.md lists them).
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>

#include "tests/simulator/command/command_loop.hpp"
#include "tests/simulator/swarm/event_log.hpp"
#include "tests/simulator/swarm/swarm.hpp"

namespace {

using namespace sluice::sync_test;

struct Options {
  std::string server;
  std::string agents;
  std::string events;
  std::uint64_t seed = 1;
  std::size_t threads = 1;
  std::size_t compile = 0;
  int report_ms = 5'000;
};

// One agent a line: its id, a space, its token.
std::vector<AgentPlan> read_agents(const Options& options) {
  std::ifstream file(options.agents);
  if (!file) throw std::runtime_error("cannot read " + options.agents);
  std::vector<AgentPlan> plans;
  for (std::string id, token; file >> id >> token;) {
    AgentPlan plan;
    plan.number = plans.size();
    plan.id = id;
    plan.token = token;
    // Far apart, and never 0, which would be a random one.
    plan.seed = options.seed * 1'000'003 + plans.size() * 1'009 + 1;
    plan.compiles = plans.size() < options.compile;
    plan.report_interval = std::chrono::milliseconds(options.report_ms);
    plans.push_back(std::move(plan));
  }
  if (plans.empty()) throw std::runtime_error("no agent in " + options.agents);
  return plans;
}

int run(const Options& options) {
  const auto server = sluice::http_client::parse_url(options.server);
  if (!server) throw std::runtime_error(server.error().text);
  EventLog log(options.events);
  Swarm swarm(*server, read_agents(options), options.threads, log);
  boost::asio::io_context context;
  CommandLoop commands(context, [&](const Words& words) { return swarm.answer(words); }, [&] { context.stop(); });
  commands.start();
  swarm.start_all();
  CommandLoop::say(fmt::format(R"({{"descriptors":{}}})", raise_descriptor_limit()));
  context.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Many agents' sync clients in one process", "sluice_swarm");
  app.add_option("--server", options.server, "where they find their server: http://127.0.0.1:PORT")->required();
  app.add_option("--agents", options.agents, "a file of one agent a line: its id and its token")->required();
  app.add_option("--events", options.events, "the file that everything is written to")->required();
  app.add_option("--seed", options.seed, "of all jitter");
  app.add_option("--threads", options.threads, "event loops, of a thread each")->check(CLI::Range(1, 8));
  app.add_option("--compile", options.compile, "how many of them compile what they get");
  app.add_option("--report-ms", options.report_ms, "between two reports of an agent")->check(CLI::Range(50, 3'600'000));
  CLI11_PARSE(app, argc, argv);
  raise_descriptor_limit();
  try {
    return run(options);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "sluice_swarm: {}\n", failure.what());
    return 1;
  }
}
