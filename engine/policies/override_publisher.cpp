#include "engine/policies/override_publisher.hpp"

#include <algorithm>
#include <new>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <boost/asio/post.hpp>

namespace sluice::policies {

void RemovedOverrides::change(const policy::Snapshot& before, const policy::Snapshot& now) {
  std::unordered_set<std::string_view> present;
  present.reserve(now.overrides.size());
  for (const policy::KeyOverrides& key : now.overrides) present.insert(key.counter_key);
  std::erase_if(keys_, [&](const std::string& key) { return present.contains(key); });
  if (keys_.size() > kMaxKeys) keys_.erase(keys_.begin(), keys_.end() - kMaxKeys);
  for (const policy::KeyOverrides& key : before.overrides) {
    if (!present.contains(key.counter_key)) keys_.push_back(key.counter_key);
  }
}

// One pass over all removals and overrides. It lives until the store has answered all writes, or as long as the
// publisher: an answer is lost if an allocation fails where it is read.
class OverridePublisher::Run final : public limiter::OverrideListener, public std::enable_shared_from_this<Run> {
 public:
  Run(OverridePublisher& publisher, Publication publication)
      : publisher_(publisher), publication_(std::move(publication)), end_(removal_count() + override_count()) {}

  void start() {
    self_ = shared_from_this();
    send_some();
  }
  void stop_sending() { end_ = next_; }
  void free() { self_.reset(); }

  void stored(const limiter::StoreResult<void>& result) override {
    --unanswered_;
    publisher_.metrics_.count_override_publication(result.has_value());
    if (!result) ++failed_;
    if (!sending_) send_some();
  }

 private:
  std::size_t removal_count() const { return publication_.removed ? publication_.removed->size() : 0; }
  std::size_t override_count() const { return publication_.snapshot->overrides.size(); }

  void send_some() {
    auto alive = self_;
    sending_ = true;
    for (std::size_t sent = 0; next_ < end_ && unanswered_ < kAtOnce && !yielding_; ++sent) {
      if (sent == kPerTurn) {
        yield();
      } else {
        send(next_++);
      }
    }
    sending_ = false;
    if (unanswered_ > 0 || yielding_ || !self_) return;
    self_.reset();
    publisher_.ended(failed_, removal_count() + override_count());
  }

  // Lets other work on this loop run first.
  void yield() {
    yielding_ = true;
    try {
      boost::asio::post(publisher_.context_, [self = self_] {
        self->yielding_ = false;
        self->send_some();
      });
    } catch (const std::bad_alloc&) {
      yielding_ = false;
    }
  }

  // A write for which there is no memory counts as failed, so it is tried again.
  void send(std::size_t index) {
    ++unanswered_;
    try {
      put(index);
    } catch (const std::bad_alloc&) {
      --unanswered_;
      ++failed_;
    }
  }

  void put(std::size_t index) {
    if (index < removal_count()) return publisher_.store_.put_overrides((*publication_.removed)[index], {}, *this);
    const policy::KeyOverrides& overrides = publication_.snapshot->overrides[index - removal_count()];
    publisher_.store_.put_overrides(overrides.counter_key, overrides.entries, *this);
  }

  OverridePublisher& publisher_;
  Publication publication_;
  std::shared_ptr<Run> self_;  // set until the run has ended
  std::size_t end_;            // the number of writes; removals come first, then overrides
  std::size_t next_ = 0;
  std::size_t unanswered_ = 0;
  std::size_t failed_ = 0;
  bool sending_ = false;   // send_some() is running; the store may answer within send()
  bool yielding_ = false;  // a call of send_some() is posted to the loop
};

OverridePublisher::~OverridePublisher() {
  if (auto running = current_.lock()) running->free();
}

void OverridePublisher::publish(Publication publication) {
  next_publication_ = std::move(publication);
  retry_timer_.cancel();
  begin();
}

void OverridePublisher::begin() {
  if (auto running = current_.lock()) {
    restart_ = true;
    return running->stop_sending();
  }
  if (!next_publication_.snapshot) return;
  auto run = std::make_shared<Run>(*this, std::exchange(next_publication_, {}));
  current_ = run;
  run->start();
}

void OverridePublisher::ended(std::size_t failed, std::size_t total) {
  current_.reset();
  if (std::exchange(restart_, false)) return begin();
  if (failed == 0) return retry_delay_.reset();
  auto delay = retry_delay_.next(1);
  log_.warn("overrides_not_published", "Some overrides could not be written; the agent writes them again.",
            {{"failed", failed}, {"total", total}, {"again_in_s", std::chrono::duration<double>(delay).count()}});
  retry_timer_.expires_after(delay);
  retry_timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) retry_();
  });
}

}  // namespace sluice::policies
