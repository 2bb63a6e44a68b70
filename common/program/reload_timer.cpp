#include "common/program/reload_timer.hpp"

#include <utility>

namespace sluice::program {

void ReloadTimer::start(std::function<Result<bool>()> reload) {
  reload_ = std::move(reload);
  wait();
}

void ReloadTimer::wait() {
  timer_.expires_after(every_);
  timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (stopped) return;
    const Result<bool> renewed = reload_();
    if (!renewed) {
      log_.warn(events_.refused, renewed.error().text, {{"code", renewed.error().code}});
    } else if (*renewed) {
      log_.info(events_.renewed, events_.renewed_text);
    }
    wait();
  });
}

}  // namespace sluice::program
