#include "libsluice/file_follower.hpp"

#include <new>
#include <utility>

namespace sluice::lib {

using std::chrono::steady_clock;

FileFollower::FileFollower(std::string path, telemetry::Log& log, std::function<void(const std::string& text)> take)
    : path_(std::move(path)),
      log_(log),
      take_(std::move(take)),
      watch_(context_, path_, [this](policies::FileWatch::Event event) { on_event(event); }),
      poll_timer_(context_) {
  if (const auto watching = watch_.start(); !watching) {
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
  schedule_.emplace(read, steady_clock::now());
  schedule_poll();
  thread_ = std::thread([this] { run(); });
}

void FileFollower::run() {
  for (bool stopped = false; !stopped;) {
    try {
      context_.run();
      stopped = true;
    } catch (const std::bad_alloc&) {  // ends one event; the next poll is due all the same
      schedule_poll();
    }
  }
}

void FileFollower::on_event(policies::FileWatch::Event event) {
  if (!schedule_) return;
  const auto now = steady_clock::now();
  switch (event) {
    case policies::FileWatch::Event::replaced:
      schedule_->replaced(now);
      break;
    case policies::FileWatch::Event::modified:
      schedule_->modified(now);
      break;
    case policies::FileWatch::Event::moved_nearby:
      schedule_->moved_nearby(now);
      break;
  }
  schedule_poll();
}

void FileFollower::schedule_poll() {
  poll_timer_.expires_at(schedule_->next_poll());
  poll_timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) poll();
  });
}

void FileFollower::poll() {
  watch_.refresh();
  if (schedule_->poll(current_identity(path_), steady_clock::now())) read();
  schedule_poll();
}

void FileFollower::read() {
  const auto file = policies::read_whole(path_, true);
  if (!file) {
    schedule_->read(current_identity(path_));
    return policies::log_faults(log_, path_, {file.error()}, 1);
  }
  if (!*file) return;  // another process is writing the file
  schedule_->read((*file)->identity);
  take_((*file)->text);
}

}  // namespace sluice::lib
