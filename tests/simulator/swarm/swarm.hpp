// Many agents in one process, on a few event loops of a thread each, and the commands that a scenario gives them.
//
// Thread safety: none; one thread gives commands. They are carried out on the agents' own loops.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "tests/simulator/command/command_loop.hpp"
#include "tests/simulator/swarm/event_log.hpp"
#include "tests/simulator/swarm/swarm_agent.hpp"

namespace sluice::sync_test {

class Swarm {
 public:
  Swarm(const http_client::Url& server, std::vector<AgentPlan> plans, std::size_t threads, EventLog& log);
  ~Swarm();  // the agents end without a word
  Swarm(const Swarm&) = delete;

  void start_all();
  // The answer to a command: README.md lists them.
  std::string answer(const Words& words);

 private:
  struct Loop {
    boost::asio::io_context context{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{context.get_executor()};
    std::vector<std::size_t> agents;
    std::thread thread;
  };

  // On each loop in turn, with its agents; waits.
  void on_all(const std::function<void(SwarmAgent&)>& visit);
  bool on_one(const std::string& number, const std::function<void(SwarmAgent&)>& visit);
  std::string summary(std::int64_t revision);

  std::vector<std::unique_ptr<Loop>> loops_;
  std::vector<std::unique_ptr<SwarmAgent>> agents_;
  EventLog& log_;
};

}  // namespace sluice::sync_test
