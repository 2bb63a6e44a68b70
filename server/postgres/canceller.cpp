#include "server/postgres/canceller.hpp"

#include <exception>
#include <utility>

namespace sluice::server::postgres {

Canceller::Canceller() {
  thread_.start([this] { run(); });
}

Canceller::~Canceller() {
  request_stop();
  thread_.join();
}

void Canceller::cancel(std::shared_ptr<pqxx::connection> connection) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || waiting_.size() >= kMaxWaiting) return;
    waiting_.push_back(std::move(connection));
  }
  changed_.notify_one();
}

bool Canceller::stop_within(std::chrono::milliseconds timeout) {
  request_stop();
  return thread_.finished_within(timeout);
}

void Canceller::request_stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    waiting_.clear();
  }
  changed_.notify_one();
}

void Canceller::run() {
  for (;;) {
    std::shared_ptr<pqxx::connection> connection;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      connection = std::move(waiting_.front());
      waiting_.pop_front();
    }
    try {
      connection->cancel_query();
    } catch (const std::exception&) {
      // The statement then ends at its time limit, and its transaction is still not committed.
    }
  }
}

}  // namespace sluice::server::postgres
