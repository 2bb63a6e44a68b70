#include "common/telemetry/line_sink.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace sluice::telemetry {
namespace {

// The next part of `text` to write, cut after a whole line if one fits. A pipe that poll() reports as ready has room
// for PIPE_BUF bytes, so writing this part does not block.
std::string_view next_write(std::string_view text) {
  if (text.size() <= PIPE_BUF) return text;
  text = text.substr(0, PIPE_BUF);
  const std::size_t end = text.rfind('\n');
  return end == std::string_view::npos ? text : text.substr(0, end + 1);
}

bool try_again(int error) { return error == EINTR || error == EAGAIN; }

}  // namespace

// A line that was written in part counts as lost.
LineSink::Written DescriptorSink::write(std::string_view text) {
  const Written all_lost{.bytes = text.size(), .lost = static_cast<std::uint64_t>(std::ranges::count(text, '\n'))};
  pollfd entry{.fd = fd_, .events = POLLOUT, .revents = 0};
  const int ready = ::poll(&entry, 1, static_cast<int>(kWait.count()));
  if (ready < 0 && errno != EINTR) return all_lost;
  if (ready <= 0) return {};
  const std::string_view part = next_write(text);
  const ssize_t written = ::write(fd_, part.data(), part.size());  // says more about an error than poll()
  if (written >= 0) return {.bytes = static_cast<std::size_t>(written)};
  return try_again(errno) ? Written{} : all_lost;
}

}  // namespace sluice::telemetry
