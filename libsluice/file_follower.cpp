#include "libsluice/file_follower.hpp"

#include <chrono>
#include <utility>

namespace sluice::lib {

FileFollower::FileFollower(std::string path, telemetry::Log& log, std::function<void(const std::string& text)> take)
    : path_(std::move(path)),
      log_(log),
      file_(context_, path_,
            {.read = [take = std::move(take)](const policies::FileText& file) { take(file.text); },
             .unreadable = [this](const Fault& fault) { policies::log_faults(log_, path_, {fault}, 1); },
             .changing = {}}) {
  if (const auto watching = file_.watch(); !watching) {
    log_.warn("bundle_not_watched", "The bundle cannot be watched: the engine checks it for changes every 2 s.",
              {{"file", path_}, {"reason", watching.error().text}});
  }
}

FileFollower::~FileFollower() {
  if (!thread_.joinable()) return;
  context_.stop();
  thread_.join();
}

void FileFollower::start(const FileIdentity& read) {
  if (!read.regular) {
    return log_.warn("bundle_not_watched", "The bundle is not a regular file, so its changes are not noticed.",
                     {{"file", path_}});
  }
  file_.follow(read);
  thread_ = std::thread([this] { run(); });
}

// What an event throws, for want of memory or from Options::clock_us, ends the event. The next poll is due all the
// same.
void FileFollower::run() {
  for (bool again = false;;) {
    try {
      if (std::exchange(again, false)) file_.poll_again();
      return static_cast<void>(context_.run());
    } catch (...) {
      again = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // poll_again() may find no memory for a while
    }
  }
}

}  // namespace sluice::lib
