// What is asked of Kubernetes, and how often. It is played by the test.
#include "server/identity/reviewer.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <utility>

#include <unistd.h>

#include "common/telemetry/line_writer.hpp"
#include "tests/unit/server/identity/tokens.hpp"

namespace sluice::server {
namespace {

using namespace std::chrono_literals;
using Outcome = identity::Review::Outcome;

class FakeApi final : public kubernetes::Api {
 public:
  void send(std::string, std::string, std::string body, std::chrono::milliseconds, Done done, std::string,
            std::string) override {
    bodies.push_back(std::move(body));
    waiting_.push_back(std::move(done));
  }
  void answer(Result<kubernetes::ApiResponse> answer) {
    const Done done = std::move(waiting_.front());
    waiting_.pop_front();
    done(std::move(answer));
  }
  void accept() {
    answer(kubernetes::ApiResponse{
        .status = 201,
        .body =
            R"({"status":{"authenticated":true,"audiences":["sluice"],"user":{"username":"system:serviceaccount:a:b"}}})"});
  }
  void refuse() { answer(kubernetes::ApiResponse{.status = 201, .body = R"({"status":{"error":"no"}})"}); }
  void fail() { answer(failure("refused", "no connection")); }

  std::vector<std::string> bodies;

 private:
  std::deque<Done> waiting_;
};

struct Rig {
  void ask(const std::string& token) {
    reviewer->request(token, [this](const identity::CachedReviewPtr& known) { told.push_back(known->review.outcome); });
  }
  Outcome known(const std::string& token) const {
    const auto found = reviewer->cached(token);
    return found ? found->review.outcome : Outcome::failed;
  }

  FakeApi api;
  SystemClock clock;
  telemetry::LineWriter lines{STDERR_FILENO};
  telemetry::Log log{lines, telemetry::LogLevel::error};
  std::vector<Outcome> told;
  std::optional<identity::Reviewer> reviewer{std::in_place, api, clock, log, identity::ReviewOptions{}};
};

std::string lasting(std::string_view name, std::int64_t seconds) {
  return test::token_of(fmt::format(R"({{"sub":"{}","exp":{}}})", name, SystemClock().now_us() / 1'000'000 + seconds));
}

}  // namespace

TEST_CASE("what Kubernetes has said of a token is known without asking again") {
  Rig rig;
  const std::string token = lasting("a", 3600);
  CHECK(rig.reviewer->cached(token) == nullptr);
  rig.ask(token);
  rig.api.accept();
  CHECK(rig.told == std::vector{Outcome::accepted});
  CHECK(rig.known(token) == Outcome::accepted);
  CHECK(rig.reviewer->cached(token)->until > std::chrono::steady_clock::now() + 40s);
  CHECK(rig.reviewer->cached(lasting("b", 3600)) == nullptr);
  CHECK(rig.api.bodies.size() == 1);
}

TEST_CASE("equal questions share one request, and different ones do not") {
  Rig rig;
  const std::string token = lasting("a", 3600);
  for (int i = 0; i < 5; ++i) rig.ask(token);
  rig.ask(lasting("b", 3600));
  CHECK(rig.api.bodies.size() == 2);
  rig.api.accept();
  CHECK(rig.told.size() == 5);
  rig.api.refuse();
  CHECK(rig.told.size() == 6);
  CHECK(rig.told.back() == Outcome::refused);
}

TEST_CASE("a yes never holds beyond the token's end, and a no only shortly") {
  Rig rig;
  const std::string ending = lasting("a", 20);
  rig.ask(ending);
  rig.api.accept();
  const auto now = std::chrono::steady_clock::now();
  CHECK(rig.reviewer->cached(ending)->until <= now + 20s);
  const std::string ended = lasting("b", -30);  // Kubernetes allows clocks to differ
  rig.ask(ended);
  rig.api.accept();
  CHECK(rig.told.back() == Outcome::accepted);
  CHECK(rig.reviewer->cached(ended) == nullptr);
  const std::string bad = lasting("c", 3600);
  rig.ask(bad);
  rig.api.refuse();
  CHECK(rig.known(bad) == Outcome::refused);
  CHECK(rig.reviewer->cached(bad)->until <= std::chrono::steady_clock::now() + 5s);
}

TEST_CASE("where Kubernetes is away a yes from before goes on, and what is wrong is said until it is back") {
  Rig rig;
  const std::string token = lasting("a", 3600);
  rig.ask(token);
  rig.api.accept();
  rig.ask(token);
  rig.api.fail();
  CHECK(rig.told.back() == Outcome::failed);
  CHECK(rig.known(token) == Outcome::accepted);
  CHECK_FALSE(rig.reviewer->degraded().empty());
  const std::string other = lasting("b", 3600);
  rig.ask(other);
  rig.api.fail();
  CHECK(rig.reviewer->cached(other)->review.outcome == Outcome::failed);
  CHECK(rig.reviewer->statistics().failed.load() == 2);
  rig.ask(other);
  rig.api.accept();
  CHECK(rig.reviewer->degraded().empty());
}

TEST_CASE("nobody is told after its end") {
  Rig rig;
  rig.ask(lasting("a", 3600));
  rig.reviewer.reset();
  rig.api.accept();
  CHECK(rig.told.empty());
}

TEST_CASE("what is remembered is bounded: what is over goes first") {
  identity::ReviewCache cache(2);
  const auto now = std::chrono::steady_clock::now();
  const auto put = [&](std::string_view name, std::chrono::seconds until) {
    cache.put(
        sha256(name),
        std::make_shared<const identity::CachedReview>(identity::CachedReview{.review = {}, .until = now + until}),
        now);
  };
  put("over", -1s);
  put("good", 10s);
  put("next", 10s);
  CHECK(cache.size() == 2);
  CHECK(cache.find(sha256("good"), now));
  CHECK(cache.find(sha256("next"), now));
  CHECK_FALSE(cache.find(sha256("good"), now + 11s));
  put("one more", 10s);
  CHECK(cache.size() == 2);
  CHECK(cache.find(sha256("one more"), now));
}

}  // namespace sluice::server
