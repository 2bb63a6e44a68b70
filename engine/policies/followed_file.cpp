#include "engine/policies/followed_file.hpp"

#include <chrono>
#include <utility>

namespace sluice::policies {

using std::chrono::steady_clock;

FollowedFile::FollowedFile(boost::asio::io_context& context, std::string path, Hooks hooks)
    : path_(std::move(path)),
      hooks_(std::move(hooks)),
      watch_(context, path_, [this](FileWatch::Event event) { on_event(event); }),
      poll_timer_(context) {}

void FollowedFile::follow(const FileIdentity& read) {
  schedule_.emplace(read, steady_clock::now());
  schedule_poll();
}

void FollowedFile::read_now() {
  if (!schedule_) return;
  read();
  schedule_poll();
}

void FollowedFile::on_event(FileWatch::Event event) {
  if (!schedule_) return;
  const auto now = steady_clock::now();
  switch (event) {
    case FileWatch::Event::replaced:
      schedule_->replaced(now);
      break;
    case FileWatch::Event::modified:
      schedule_->modified(now);
      break;
    case FileWatch::Event::moved_nearby:
      schedule_->moved_nearby(now);
      break;
  }
  schedule_poll();
}

void FollowedFile::schedule_poll() {
  poll_timer_.expires_at(schedule_->next_poll());
  poll_timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) poll();
  });
}

void FollowedFile::poll() {
  watch_.refresh();
  const FileIdentity found = current_identity(path_);
  if (schedule_->poll(found, steady_clock::now())) {
    read();
  } else if (found != schedule_->last_read() && hooks_.changing) {
    hooks_.changing();
  }
  schedule_poll();
}

void FollowedFile::read() {
  auto file = read_whole(path_, true);
  if (!file) {
    schedule_->read(current_identity(path_));
    if (hooks_.unreadable) hooks_.unreadable(file.error());
    return;
  }
  if (!*file) return;  // another process is writing the file
  const FileIdentity identity = (*file)->identity;
  hooks_.read(*std::move(*file));
  schedule_->read(identity);  // not if the hook has thrown: then the next poll finds the file changed
}

}  // namespace sluice::policies
