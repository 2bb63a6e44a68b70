// A check whose allocations fail, one after the other: it gets 503, the agent goes on, and the next check is right.
#include "tests/unit/agent/memory/failing_memory.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <string>

#include "common/http/connection.hpp"
#include "common/http/connection_host.hpp"
#include "tests/unit/agent/api/api_rig.hpp"

namespace sluice::agent::api {
namespace {

using test::FailingMemory;

constexpr const char* kPolicies = R"("policies":[
  {"tenant_id":"shop","id":"counted","scope":{"resource":"counted"},"key_by":["subject"],"limits":[
    {"name":"window","algorithm":"fixed_window","limit":1000000,"window":"1d"},
    {"name":"log","algorithm":"sliding_window_log","limit":9000,"window":"1d"},
    {"name":"leases","algorithm":"concurrency","limit":9000,"lease_ttl":"1h"}]}])";

// A connection whose socket keeps what is sent in a buffer of its own, so that only the agent's allocations fail.
struct FixedWire {
  std::array<char, 65536> sent{};
  std::size_t size = 0;
  std::span<char> space;
  bool reading = false;
  bool closed = false;

  std::string_view text() const { return {sent.data(), size}; }
};

class FixedConnection final : public http::Connection {
 public:
  FixedConnection(std::shared_ptr<http::ConnectionHost> host, FixedWire& wire)
      : Connection(std::move(host)), wire_(wire) {}

 private:
  void start_read(std::span<char> space) override {
    wire_.reading = true;
    wire_.space = space;
  }
  void start_write(std::string_view) override {}
  http::IoResult write_now(std::string_view text, std::size_t& sent) override {
    sent = text.size();
    if (wire_.size + sent > wire_.sent.size()) return http::IoResult::failed;
    std::memcpy(wire_.sent.data() + wire_.size, text.data(), sent);
    wire_.size += sent;
    return http::IoResult::ok;
  }
  void cancel_read() override {}
  bool input_waiting() override { return false; }
  void shut_output() override {}
  void close_stream() override { wire_.closed = true; }
  void destroy_stream() override {}
  void unreferenced() noexcept override { delete this; }

  FixedWire& wire_;
};

struct QuietHost final : http::ConnectionHost {
  using ConnectionHost::ConnectionHost;
  void wake() override {}
  void first_opened() override {}
  void last_closed() override {}
  std::time_t now() override { return 784111777; }
};

// One connection to the API of a rig.
class Caller {
 public:
  explicit Caller(ApiRig& rig)
      : key_(rig.shop_key),
        host_(std::make_shared<QuietHost>(http::ServerOptions{}, rig.api)),
        connection_(new FixedConnection(host_, wire_)) {
    host_->add(*connection_);
  }
  ~Caller() {
    host_->close_all();
    if (wire_.reading) connection_->on_read(http::IoResult::cancelled, 0);
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  std::string request(const std::string& path, const std::string& body) const {
    return "POST " + path + " HTTP/1.1\r\nHost: h\r\nx-api-key: " + key_ +
           "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  // The first status of the answer; 0 if there is none.
  int ask(std::string_view request) {
    wire_.size = 0;
    REQUIRE(wire_.reading);
    REQUIRE(request.size() <= wire_.space.size());
    std::memcpy(wire_.space.data(), request.data(), request.size());
    wire_.reading = false;
    connection_->on_read(http::IoResult::ok, request.size());
    return wire_.size < 12 ? 0 : std::atoi(wire_.sent.data() + 9);
  }
  std::string_view answer() const { return wire_.text(); }
  bool is_closed() const { return wire_.closed; }

 private:
  std::string key_;
  FixedWire wire_;
  std::shared_ptr<QuietHost> host_;
  boost::intrusive_ptr<http::Connection> connection_;
};

struct Seen {
  int without_memory = 0;
  int closed = 0;
};

// Sends the request with the first allocation failing (and the `more` after it), then the second, and so on until none
// fails.
Seen fail_each(const std::string& path, const std::string& body, std::size_t more) {
  Seen seen;
  for (std::size_t n = 0;; ++n) {
    REQUIRE(n < 5'000);
    ApiRig rig(kPolicies);  // nothing is warm, so everything allocates
    {
      Caller caller(rig);
      const std::string request = caller.request(path, body);
      bool failed = false;
      int status = 0;
      {
        const FailingMemory memory(n, more);
        status = caller.ask(request);
        failed = memory.failed();
      }
      CAPTURE(n);
      if (!failed) {
        CHECK(status == 200);
        return seen;
      }
      const bool says_so = status == 503 || caller.answer().find("\"reason\":\"overload\"") != std::string_view::npos;
      CHECK((says_so || status == 200 || caller.is_closed()));  // 200: what failed was not needed for the answer
      seen.without_memory += says_so ? 1 : 0;
      seen.closed += caller.is_closed() ? 1 : 0;
      CHECK(rig.in_flight.count() == 0);
    }
    Caller next(rig);
    CHECK(next.ask(next.request("/v1/check", R"({"resource":"counted","subject":"next"})")) == 200);
    CHECK(next.answer().find(R"("reason":"within_limit")") != std::string_view::npos);
    rig.clock.now += 3 * 86'400'000'000;
    rig.counters.forget_expired();
    CHECK(rig.counters.bytes() == 0);  // the sums are right
  }
}

}  // namespace

TEST_CASE("a check for which one allocation fails is answered with 503, and the connection stays open") {
  const Seen seen =
      fail_each("/v1/check", R"({"resource":"counted","subject":"u","tags":{"a":"b"},"explain":true})", 0);
  CHECK(seen.without_memory > 20);
  CHECK(seen.closed == 0);
}

TEST_CASE("a batch for which one allocation fails is answered") {
  const Seen seen = fail_each(
      "/v1/check/batch",
      R"({"checks":[{"resource":"counted","subject":"u"},{"resource":"counted","subject":"v"},{"nonsense":1}]})", 0);
  CHECK(seen.without_memory > 20);
  CHECK(seen.closed == 0);
}

TEST_CASE("without any memory left the connection closes at worst, and the agent goes on") {
  const Seen seen = fail_each("/v1/check", R"({"resource":"counted","subject":"u"})", 1'000'000);
  CHECK(seen.without_memory > 0);
}

TEST_CASE("a release for which one allocation fails is answered with 503") {
  for (std::size_t n = 0;; ++n) {
    REQUIRE(n < 1'000);
    ApiRig rig(kPolicies);
    const Answer taken = rig.check(R"({"resource":"counted","subject":"u"})");
    const std::size_t at = taken.body.find("\"lease_id\":\"") + 12;
    const std::string lease = taken.body.substr(at, taken.body.find('"', at) - at);
    Caller caller(rig);
    const std::string request = caller.request("/v1/release", R"({"lease_id":")" + lease + "\"}");
    bool failed = false;
    int status = 0;
    {
      const FailingMemory memory(n);
      status = caller.ask(request);
      failed = memory.failed();
    }
    CHECK((status == 200 || (failed && status == 503)));
    if (!failed) break;
    CHECK(caller.ask(request) == 200);
  }
}

TEST_CASE("the prepared answers are those that the agent would write") {
  Decision decision;
  decision.allowed = false;
  decision.action = Action::deny;
  decision.reason = Reason::overload;
  std::string body, headers, problem;
  write_decision(decision, body);
  write_decision_headers(decision, {}, headers);
  CHECK(kOverloadResponse.body == body);
  CHECK(kOverloadResponse.headers == headers);
  CHECK(kOverloadResponse.status == status_of(decision));
  http::write_problem(
      {.status = 503, .type = "/problems/out-of-memory", .detail = "There was no memory left for this request."},
      problem);
  CHECK(http::kNoMemoryResponse.body == problem);
}

}  // namespace sluice::agent::api
