// Commands on standard input, one a line, words apart by spaces; each is answered by one line of JSON on standard
// output. The program's event loop reads them; the end of the input, or `stop`, ends it.
//
// Thread: the io_context's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/streambuf.hpp>

namespace sluice::sync_test {

using Words = std::vector<std::string>;

class CommandLoop {
 public:
  // `answer`: from the words of a command, its answer without a line feed. `ended`: no command comes any more.
  CommandLoop(boost::asio::io_context& context, std::function<std::string(const Words&)> answer,
              std::function<void()> ended);
  CommandLoop(const CommandLoop&) = delete;

  void start() { read(); }

  // One line to standard output, at once: also of what was not asked for, such as the port at the start.
  static void say(const std::string& line);

 private:
  void read();
  void take(const std::string& line);

  boost::asio::posix::stream_descriptor input_;
  boost::asio::streambuf buffer_;
  std::function<std::string(const Words&)> answer_;
  std::function<void()> ended_;
};

// What an answer says where a command was not understood.
std::string command_error(const std::string& text);

// Lets this process have as many descriptors as it may; how many that is.
std::size_t raise_descriptor_limit();

}  // namespace sluice::sync_test
