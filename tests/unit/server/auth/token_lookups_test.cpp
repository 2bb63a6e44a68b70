// How often PostgreSQL is read for tokens that are not in memory, and whom a read serves. The test plays the read.
#include "server/auth/token_lookups.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>

namespace sluice::server {
namespace {

using std::chrono::steady_clock;

struct LookupRig {
  void request(const std::string& who) {
    lookups.request([this, who](bool succeeded) { served += who + (succeeded ? "+" : "-"); });
  }
  // Runs the loop until a read has begun.
  void await_read() {
    while (!pending) {
      loop.restart();
      loop.run_one_for(std::chrono::seconds(5));
    }
  }
  void finish_read(bool succeeded) { std::exchange(pending, nullptr)(succeeded); }

  boost::asio::io_context loop;
  auth::TokenLookups::Done pending;  // of the read under way
  int reads = 0;
  std::string served;
  auth::TokenLookups lookups{loop, [this](auth::TokenLookups::Done done) {
                               ++reads;
                               pending = std::move(done);
                             }};
};

TEST_CASE("one look-up serves all requests that came before it began") {
  LookupRig rig;
  for (const char* who : {"a", "b", "c"}) rig.request(who);
  CHECK(rig.reads == 0);
  rig.await_read();
  CHECK(rig.reads == 1);
  CHECK(rig.served.empty());
  rig.finish_read(true);
  CHECK(rig.served == "a+b+c+");
  CHECK(rig.lookups.statistics().succeeded == 1);
}

TEST_CASE("a request that comes while a look-up runs waits for the next one, which keeps its distance") {
  LookupRig rig;
  rig.request("a");
  rig.await_read();
  const auto begin = steady_clock::now();
  rig.request("b");
  rig.finish_read(true);
  CHECK(rig.served == "a+");
  CHECK_FALSE(rig.pending);
  rig.await_read();
  CHECK(steady_clock::now() - begin > auth::TokenLookups::kPace / 2);
  CHECK(rig.reads == 2);
  rig.finish_read(false);
  CHECK(rig.served == "a+b-");
  CHECK(rig.lookups.statistics().failed == 1);
}

TEST_CASE("after a quiet time a look-up begins at once") {
  LookupRig rig;
  rig.request("a");
  rig.await_read();
  rig.finish_read(true);
  rig.loop.restart();
  CHECK(rig.loop.run() == 0);  // nothing waits
  rig.request("b");
  rig.await_read();
  rig.finish_read(true);
  CHECK(rig.served == "a+b+");
}

TEST_CASE("with too many requests waiting, further ones are refused") {
  LookupRig rig;
  for (std::size_t i = 0; i < auth::TokenLookups::kMaxWaiting; ++i) rig.lookups.request([](bool) {});
  rig.request("late");
  CHECK(rig.served.empty());
  rig.await_read();
  rig.loop.restart();
  rig.loop.poll();
  CHECK(rig.served == "late-");
}

}  // namespace
}  // namespace sluice::server
