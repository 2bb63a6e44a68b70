// Large bodies: read only once the handler agreed.
#include "tests/unit/http/connection_bench.hpp"

namespace sluice::http {
namespace {

constexpr std::size_t kLarge = 4 * Handler::kUnaskedBody + 1;

struct LargeBench : Bench {
  explicit LargeBench(ServerOptions options = {}) : Bench(options) {
    handler.limit = 2 * kLarge;
    wire.accepts = 4 * kLarge;
  }

  void begin(const std::string& headers) { receive("POST /a HTTP/1.1\r\nHost: h\r\n" + headers + "\r\n"); }
  void begin_large() { begin("Content-Length: " + std::to_string(kLarge) + "\r\n"); }
  Admission admission() {
    REQUIRE(handler.admissions.size() == 1);
    Admission taken = std::move(handler.admissions.front());
    handler.admissions.pop_front();
    return taken;
  }
};

TEST_CASE("a large body is not read before the handler agreed, and then is") {
  LargeBench bench;
  bench.handler.later = true;
  bench.begin_large();
  CHECK(bench.handler.asked == Texts{"/a"});
  CHECK_FALSE(bench.wire.reading);
  CHECK(bench.wire.sent.empty());
  bench.admission().read_body();
  CHECK_FALSE(bench.wire.reading);
  bench.host->resume_dirty();
  bench.handler.later = false;
  bench.receive(std::string(kLarge, 'x') + get("/b"));
  CHECK(bench.replies() == Texts{"/a" + std::string(kLarge, 'x'), "/b"});
  CHECK(bench.handler.asked.size() == 1);
}

TEST_CASE("a handler that agrees at once keeps nothing waiting") {
  LargeBench bench;
  bench.begin_large();
  bench.receive(std::string(kLarge, 'x'));
  CHECK(bench.replies() == Texts{"/a" + std::string(kLarge, 'x')});
}

TEST_CASE("a refusal is sent before the body comes, and closes the connection") {
  LargeBench bench;
  bench.handler.later = true;
  bench.begin_large();
  bench.admission().refuse({.status = 401, .body = "who?"});
  bench.host->resume_dirty();
  CHECK(bench.replies() == Texts{"close 401 who?"});
  CHECK(bench.wire.shut);  // and what comes is thrown away for a while, so that the client can read this
  CHECK_FALSE(bench.wire.closed);
  bench.receive(std::string(1000, 'x'));
  CHECK(bench.handler.paths.empty());
  bench.end_read(IoResult::end);
  CHECK(bench.wire.closed);
}

TEST_CASE("nobody who says anything is a 500") {
  LargeBench bench;
  bench.handler.later = true;
  bench.begin_large();
  bench.handler.admissions.clear();
  bench.host->resume_dirty();
  CHECK(bench.refusal() == "close 500");
}

TEST_CASE("replies to requests before it leave first") {
  LargeBench bench;
  bench.handler.later = true;
  bench.receive(get("/first"));
  bench.begin_large();
  bench.admission().refuse({.status = 401});
  bench.host->resume_dirty();
  CHECK(bench.wire.sent.empty());
  bench.handler.reply(0, "1");
  bench.host->resume_dirty();
  CHECK(bench.replies() == Texts{"1", "close 401"});
}

TEST_CASE("a client that waits for 100 Continue gets it once the handler agreed") {
  LargeBench bench;
  bench.handler.later = true;
  bench.begin("Expect: 100-continue\r\nContent-Length: " + std::to_string(kLarge) + "\r\n");
  CHECK(bench.wire.sent.empty());
  bench.admission().read_body();
  bench.host->resume_dirty();
  CHECK(bench.wire.sent == "HTTP/1.1 100 Continue\r\n\r\n");
}

TEST_CASE("a body that does not tell its length is asked about; small ones and too large ones are not") {
  LargeBench bench;
  bench.begin("Transfer-Encoding: chunked\r\n");
  CHECK(bench.handler.asked.size() == 1);
  bench.receive("3\r\nabc\r\n0\r\n\r\n" + post("/small", "b"));
  CHECK(bench.handler.asked.size() == 1);
  bench.begin("Content-Length: " + std::to_string(2 * kLarge + 1) + "\r\n");
  CHECK(bench.handler.asked.size() == 1);
  CHECK(bench.replies().size() == 3);
  CHECK(bench.refusal() == "close 413");
}

TEST_CASE("a path that takes no large body is never asked") {
  Bench bench;
  bench.handler.limit = Handler::kUnaskedBody;
  bench.receive("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n");
  CHECK(bench.handler.asked.empty());
  CHECK(bench.replies() == Texts{"/ax"});
}

TEST_CASE("the client is not late while the handler decides") {
  LargeBench bench(ServerOptions{.body_timeout = milliseconds(1'000), .idle_timeout = milliseconds(1'000)});
  bench.handler.later = true;
  bench.begin_large();
  bench.host->sweep_for(milliseconds(60'000));
  CHECK_FALSE(bench.wire.closed);
  bench.admission().read_body();
  bench.host->resume_dirty();
  bench.host->sweep_for(milliseconds(2'000));
  bench.host->resume_dirty();
  CHECK(bench.refusal() == "close 408");
}

TEST_CASE("what a handler holds for a body comes with the request, and ends with it") {
  LargeBench bench;
  bench.handler.later = true;
  bench.begin_large();
  auto held = std::make_shared<int>(7);
  const std::weak_ptr<int> watched = held;
  bench.admission().read_body(std::move(held));
  bench.host->resume_dirty();
  CHECK_FALSE(watched.expired());
  bench.handler.later = false;
  bench.receive(std::string(kLarge, 'x'));
  CHECK(bench.handler.held == std::vector<bool>{true});
  CHECK(watched.expired());
  bench.receive(post("/small", "b"));
  CHECK(bench.handler.held == std::vector<bool>{true, false});
}

TEST_CASE("what a handler holds for a body ends with the connection, and with a refusal") {
  for (const bool closes : {true, false}) {
    LargeBench bench(ServerOptions{.body_timeout = milliseconds(1'000)});
    bench.handler.later = true;
    bench.begin_large();
    auto held = std::make_shared<int>(7);
    const std::weak_ptr<int> watched = held;
    bench.admission().read_body(std::move(held));
    bench.host->resume_dirty();
    bench.receive("x");
    if (closes) {
      bench.host->close_all();
    } else {
      bench.host->sweep_for(milliseconds(2'000));
    }
    CHECK(watched.expired());
  }
}

TEST_CASE("a handler may agree to less than its limit") {
  LargeBench bench;
  bench.handler.later = true;
  bench.begin("Transfer-Encoding: chunked\r\n");
  bench.admission().read_body({}, 4);
  bench.host->resume_dirty();
  bench.receive("5\r\nabcde\r\n0\r\n\r\n");
  CHECK(bench.refusal().contains("413"));
}

TEST_CASE("an admission that comes after the connection is gone is harmless") {
  LargeBench bench;
  bench.handler.later = true;
  bench.begin_large();
  bench.host->close_all();
  bench.admission().read_body();
  bench.host->resume_dirty();
  CHECK(bench.wire.destroyed);
}

}  // namespace
}  // namespace sluice::http
