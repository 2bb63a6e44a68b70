#include "common/redis/credential_watch.hpp"

#include <utility>

namespace sluice::redis {

CredentialWatch::CredentialWatch(boost::asio::io_context& context, std::vector<std::string> paths,
                                 std::function<void()> changed)
    : paths_(std::move(paths)), changed_(std::move(changed)), timer_(context) {
  std::erase(paths_, "");
}

void CredentialWatch::start() {
  if (paths_.empty() || std::exchange(started_, true)) return;
  seen_ = look();
  wait();
}

void CredentialWatch::stop() {
  started_ = false;
  timer_.cancel();
}

std::vector<FileIdentity> CredentialWatch::look() const {
  std::vector<FileIdentity> found;
  for (const std::string& path : paths_) found.push_back(current_identity(path));
  return found;
}

// A certificate may change before its key. A connection that is made in between fails, and is tried again.
void CredentialWatch::wait() {
  timer_.expires_after(kEvery);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (error || !self || !self->started_) return;
    self->wait();
    std::vector<FileIdentity> found = self->look();
    if (std::exchange(self->seen_, found) != found) self->changed_();
  });
}

}  // namespace sluice::redis
