#include "server/auth/token_lookups.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <boost/asio/post.hpp>

namespace sluice::server::auth {

using std::chrono::steady_clock;

void TokenLookups::request(Done done) {
  if (waiting_.size() >= kMaxWaiting) {
    boost::asio::post(loop_, [done = std::move(done)] { done(false); });
    return;
  }
  waiting_.push_back(std::move(done));
  if (!std::exchange(scheduled_, true)) begin_when_due();
}

void TokenLookups::begin_when_due() {
  timer_.expires_at(std::max(not_before_, steady_clock::now()));
  timer_.async_wait([this](const boost::system::error_code& stopped) {
    if (!stopped) begin();
  });
}

void TokenLookups::begin() {
  not_before_ = steady_clock::now() + kPace;
  read_([this, served = std::make_shared<std::vector<Done>>(std::exchange(waiting_, {}))](bool succeeded) {
    ++(succeeded ? statistics_.succeeded : statistics_.failed);
    scheduled_ = !waiting_.empty();
    if (scheduled_) begin_when_due();
    for (const Done& done : *served) done(succeeded);
  });
}

}  // namespace sluice::server::auth
