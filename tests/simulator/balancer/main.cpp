// sluice_balancer: a TCP balancer with commands on standard input (README.md lists them).
#include <cstdlib>
#include <string>

#include <fmt/core.h>
#include <boost/asio/io_context.hpp>

#include "tests/simulator/balancer/balancer.hpp"
#include "tests/simulator/command/command_loop.hpp"

namespace {

using sluice::sync_test::Balancer;
using sluice::sync_test::command_error;
using sluice::sync_test::CommandLoop;
using sluice::sync_test::Words;

std::string cut(Balancer& balancer, const Words& words) {
  std::size_t count = 0;
  if (words[1] == "share") {
    count = balancer.cut_share(std::strtod(words[2].c_str(), nullptr));
  } else if (words[1] == "backend") {
    count = balancer.cut_backend(words[2]);
  } else if (words[1] == "agent") {
    count = balancer.cut_agent(words[2]);
  } else {
    return command_error("cut share|backend|agent WHAT, not cut " + words[1]);
  }
  return fmt::format(R"({{"cut":{}}})", count);
}

std::string answer(Balancer& balancer, const Words& words) {
  const std::string& verb = words[0];
  if (verb == "stats") return balancer.stats();
  if (verb == "backend" && words.size() == 3) {
    balancer.set_backend(words[1], static_cast<std::uint16_t>(std::strtoul(words[2].c_str(), nullptr, 10)));
  } else if (verb == "remove" && words.size() == 2) {
    if (!balancer.remove_backend(words[1])) return command_error("there is no backend " + words[1]);
  } else if (verb == "cut" && words.size() == 3) {
    return cut(balancer, words);
  } else if ((verb == "hold" || verb == "release") && words.size() == 3 && words[1] == "backend") {
    balancer.hold_backend(words[2], verb == "hold");
  } else if ((verb == "hold" || verb == "release") && words.size() == 3 && words[1] == "agent") {
    balancer.hold_agent(words[2], verb == "hold");
  } else {
    return command_error("unknown command " + verb);
  }
  return "{}";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: sluice_balancer SEED\n");
    return 2;
  }
  sluice::sync_test::raise_descriptor_limit();
  boost::asio::io_context context;
  Balancer balancer(context, 0, std::strtoull(argv[1], nullptr, 10));
  CommandLoop commands(
      context, [&](const Words& words) { return answer(balancer, words); },
      [&] {
        balancer.close();
        context.stop();
      });
  commands.start();
  CommandLoop::say(fmt::format(R"({{"port":{}}})", balancer.port()));
  context.run();
}
