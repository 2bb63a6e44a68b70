#include "tests/simulator/command/command_loop.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <istream>
#include <sstream>
#include <utility>

#include <boost/asio/read_until.hpp>

#include "common/json/text.hpp"

namespace sluice::sync_test {

CommandLoop::CommandLoop(boost::asio::io_context& context, std::function<std::string(const Words&)> answer,
                         std::function<void()> ended)
    : input_(context, dup(STDIN_FILENO)), answer_(std::move(answer)), ended_(std::move(ended)) {}

void CommandLoop::say(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

void CommandLoop::read() {
  boost::asio::async_read_until(input_, buffer_, '\n', [this](boost::system::error_code error, std::size_t) {
    if (error) return ended_();
    std::istream stream(&buffer_);
    std::string line;
    std::getline(stream, line);
    take(line);
  });
}

void CommandLoop::take(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(std::move(word));
  if (words.empty()) return read();
  if (words.front() == "stop") {
    say("{}");
    return ended_();
  }
  say(answer_(words));
  read();
}

std::string command_error(const std::string& text) {
  std::string out = "{\"error\":";
  json::append_string(out, text);
  return out + '}';
}

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace sluice::sync_test
