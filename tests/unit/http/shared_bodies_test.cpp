// Bodies that many replies share: sent from where they are.
#include "tests/unit/http/connection_bench.hpp"

namespace sluice::http {
namespace {

TEST_CASE("a shared body leaves whole and in order, from where it is") {
  Bench bench;
  const auto body = std::make_shared<const std::string>(std::string(600'000, 's'));
  bench.handler.later = true;
  bench.receive(get("/a") + get("/b") + get("/c"));
  const auto share = [&](std::size_t index) { std::move(bench.handler.waiting[index]).send({.shared_body = body}); };
  share(1);  // before its turn
  CHECK(body.use_count() == 2);
  share(0);
  bench.handler.reply(2, "C");
  bench.wire.accepts = 50'000;
  bench.host->resume_dirty();
  REQUIRE(bench.wire.writing);
  CHECK(body.use_count() == 3);
  bench.wire.accepts = 10'000'000;
  bench.end_write(1'000);  // the socket takes a little
  bench.end_writes();
  CHECK(bench.replies() == Texts{*body, *body, "C"});
  CHECK(body.use_count() == 1);
  bench.receive(get("/d"));
  CHECK(bench.handler.paths.size() == 4);
}

TEST_CASE("a shared body has its length without its bytes for HEAD, and none with 304") {
  Bench bench;
  const auto body = std::make_shared<const std::string>(std::string(20'000, 's'));
  unsigned status = 200;
  bench.handler.answer = [&](Reply reply) { reply.send({.status = status, .shared_body = body}); };
  bench.receive("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(bench.wire.sent.find("Content-Length: 20000\r\n") != std::string::npos);
  CHECK(bench.wire.sent.ends_with("\r\n\r\n"));
  bench.wire.sent.clear();
  status = 304;
  bench.receive(get("/"));
  CHECK(bench.replies() == Texts{"304"});
  CHECK(body.use_count() == 1);
}

TEST_CASE("a connection that closes lets its shared bodies go") {
  Bench bench;
  const auto body = std::make_shared<const std::string>(std::string(600'000, 's'));
  bench.handler.answer = [&](Reply reply) { reply.send({.shared_body = body}); };
  bench.wire.accepts = 10'000;
  bench.receive(get("/a"));
  bench.host->sweep_for(milliseconds(11'000));
  CHECK(bench.wire.closed);
  bench.end_io();
  CHECK(body.use_count() == 1);
}

}  // namespace
}  // namespace sluice::http
