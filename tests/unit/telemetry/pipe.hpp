// A pipe whose other end a test holds: what a slow, a stuck and a closed reader look like to a writer.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

namespace sluice::telemetry {

class Pipe {
 public:
  Pipe() {
    if (::pipe(ends_.data()) != 0) std::abort();
  }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int writer() const { return ends_[1]; }
  void close_reader() { close(0); }
  void close_writer() { close(1); }

  // Whether something arrives within 10 s.
  bool has_text() {
    pollfd readable{.fd = ends_[0], .events = POLLIN, .revents = 0};
    return ::poll(&readable, 1, 10'000) == 1;
  }
  // Everything there is, up to the end of the pipe: close_writer() first.
  std::string read_all() {
    std::string text;
    std::array<char, 4096> part;
    for (ssize_t size; (size = ::read(ends_[0], part.data(), part.size())) > 0;) {
      text.append(part.data(), static_cast<std::size_t>(size));
    }
    return text;
  }
  std::vector<std::string> read_lines() {
    std::vector<std::string> lines;
    const std::string text = read_all();
    for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      lines.push_back(text.substr(begin, end - begin));
    }
    return lines;
  }

 private:
  void close(std::size_t end) {
    if (ends_[end] >= 0) ::close(ends_[end]);
    ends_[end] = -1;
  }
  std::array<int, 2> ends_{};
};

}  // namespace sluice::telemetry
