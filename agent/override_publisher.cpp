#include "agent/override_publisher.hpp"

#include <utility>

namespace sluice::agent {

// One pass over a snapshot's overrides: each write's answer sends the next. Alive as long as writes are open.
class OverridePublisher::Run final : public limiter::OverrideListener, public std::enable_shared_from_this<Run> {
 public:
  Run(OverridePublisher& publisher, std::shared_ptr<const policy::Snapshot> snapshot)
      : publisher_(publisher), snapshot_(std::move(snapshot)) {}

  void start() {
    constexpr std::size_t kAtOnce = 16;  // beside decisions, not before them
    self_ = shared_from_this();
    sending_ = true;
    for (std::size_t i = 0; i < kAtOnce; ++i) send();
    sending_ = false;
    finish_when_done();
  }
  void abandon() { next_ = snapshot_->overrides.size(); }

  void stored(const limiter::StoreResult<void>& result) override {
    --open_;
    publisher_.metrics_.count_overrides_published(result.has_value());
    if (!result) ++failed_;
    if (sending_) return;  // a store that answers at once
    send();
    finish_when_done();
  }

 private:
  void send() {
    while (next_ < snapshot_->overrides.size()) {
      const policy::KeyOverrides& overrides = snapshot_->overrides[next_++];
      ++open_;
      std::size_t before = open_;
      publisher_.store_.put_overrides(overrides.state_key, overrides.entries, *this);
      if (open_ == before) return;  // it waits; what answers at once does not take the place of one that waits
    }
  }
  void finish_when_done() {
    if (open_ > 0 || !self_) return;
    if (failed_ > 0) {
      publisher_.log_.warn("overrides_not_published", "Some overrides could not be written; they follow a reconnect.",
                           {{"failed", failed_}, {"total", snapshot_->overrides.size()}});
    }
    auto last = std::move(self_);
  }

  OverridePublisher& publisher_;
  std::shared_ptr<const policy::Snapshot> snapshot_;
  std::shared_ptr<Run> self_;
  std::size_t next_ = 0;
  std::size_t open_ = 0;
  std::size_t failed_ = 0;
  bool sending_ = false;
};

void OverridePublisher::publish(std::shared_ptr<const policy::Snapshot> snapshot) {
  if (auto running = current_.lock()) running->abandon();
  if (!snapshot || snapshot->overrides.empty()) return;
  auto run = std::make_shared<Run>(*this, std::move(snapshot));
  current_ = run;
  run->start();
}

}  // namespace sluice::agent
