#include "tests/simulator/swarm/swarm.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <limits>
#include <utility>

#include <fmt/core.h>
#include <boost/asio/post.hpp>

namespace sluice::sync_test {
namespace {

void run_on(boost::asio::io_context& context, const std::function<void()>& work) {
  std::promise<void> done;
  boost::asio::post(context, [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace

Swarm::Swarm(const http_client::Url& server, std::vector<AgentPlan> plans, std::size_t threads, EventLog& log)
    : log_(log) {
  for (std::size_t i = 0; i < threads; ++i) loops_.push_back(std::make_unique<Loop>());
  for (AgentPlan& plan : plans) {
    Loop& loop = *loops_[agents_.size() % threads];
    loop.agents.push_back(agents_.size());
    agents_.push_back(std::make_unique<SwarmAgent>(loop.context, server, std::move(plan), log));
  }
  for (const auto& loop : loops_) loop->thread = std::thread([&context = loop->context] { context.run(); });
}

Swarm::~Swarm() {
  on_all([](SwarmAgent& agent) { agent.kill(); });
  for (const auto& loop : loops_) {
    loop->context.stop();
    loop->thread.join();
  }
  agents_.clear();
}

void Swarm::on_all(const std::function<void(SwarmAgent&)>& visit) {
  for (const auto& loop : loops_) {
    run_on(loop->context, [&] {
      for (const std::size_t number : loop->agents) visit(*agents_[number]);
    });
  }
}

bool Swarm::on_one(const std::string& number, const std::function<void(SwarmAgent&)>& visit) {
  const std::size_t chosen = std::strtoull(number.c_str(), nullptr, 10);
  if (chosen >= agents_.size()) return false;
  run_on(loops_[chosen % loops_.size()]->context, [&] { visit(*agents_[chosen]); });
  return true;
}

void Swarm::start_all() {
  on_all([](SwarmAgent& agent) { agent.start(false); });
}

std::string Swarm::summary(std::int64_t revision) {
  std::size_t alive = 0;
  std::size_t connected = 0;
  std::size_t at = 0;
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  std::int64_t highest = -1;
  on_all([&](SwarmAgent& agent) {
    if (!agent.alive()) return;
    ++alive;
    connected += agent.connected() ? 1 : 0;
    const auto position = agent.position();
    const std::int64_t mine = position ? position->revision : -1;
    at += mine >= revision ? 1 : 0;
    lowest = std::min(lowest, mine);
    highest = std::max(highest, mine);
  });
  if (alive == 0) lowest = -1;
  return fmt::format(R"({{"agents":{},"alive":{},"connected":{},"at":{},"lowest":{},"highest":{}}})", agents_.size(),
                     alive, connected, at, lowest, highest);
}

std::string Swarm::answer(const Words& words) {
  const std::string& verb = words[0];
  if (verb == "summary" && words.size() == 2) return summary(std::strtoll(words[1].c_str(), nullptr, 10));
  if (verb == "state") {
    std::string out;
    on_all([&](SwarmAgent& agent) {
      out += out.empty() ? "{\"agents\":[" : ",";
      out += agent.describe();
    });
    log_.flush();
    return out + "]}";
  }
  const int amount = words.size() > 2 ? std::atoi(words[2].c_str()) : 0;
  std::function<void(SwarmAgent&)> act;
  if (verb == "kill") act = [](SwarmAgent& agent) { agent.kill(); };
  if (verb == "leave") act = [](SwarmAgent& agent) { agent.leave(); };
  if (verb == "start") act = [](SwarmAgent& agent) { agent.start(false); };
  if (verb == "restart") act = [](SwarmAgent& agent) { agent.start(true); };
  if (verb == "refuse") act = [amount](SwarmAgent& agent) { agent.refuse_next(amount); };
  if (verb == "late") act = [amount](SwarmAgent& agent) { agent.take_late(std::chrono::milliseconds(amount)); };
  if (!act || words.size() < 2) return command_error("unknown command " + verb);
  if (words[1] == "all") {
    on_all(act);
    return "{}";
  }
  return on_one(words[1], act) ? "{}" : command_error("there is no agent " + words[1]);
}

}  // namespace sluice::sync_test
