// What the tests of the client share: a loop that runs until something is so, handlers that note, a server that lies.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "common/redis/client.hpp"
#include "common/redis/reply_reader.hpp"
#include "tests/integration/support/redis_server.hpp"
#include "tests/unit/redis/failure_text.hpp"

namespace sluice::redis::test {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Runs the loop until `done`; false when `limit` passes first.
template <class Condition>
[[nodiscard]] bool run_until(boost::asio::io_context& context, Condition done, Clock::duration limit = 10s) {
  const auto end = Clock::now() + limit;
  while (!done()) {
    if (Clock::now() >= end) return false;
    context.restart();
    context.run_one_for(10ms);
  }
  return true;
}

// Writes its words, and notes what it is told, as text: the reply's, "-ERR …", or the kind of failure.
class Recorder final : public Command {
 public:
  void write(CommandWriter& out, CallBy) override {
    out.array(words.size());
    for (const std::string& word : words) out.bulk(std::string_view(word));
  }
  void on_reply(const Reply& reply) override {
    note(reply.type == Reply::Type::integer ? std::to_string(reply.integer)
         : reply.is_error()                 ? "-" + std::string(reply.text)
         : reply.type == Reply::Type::nil   ? "nil"
                                            : std::string(reply.text));
  }
  void on_failure(Failure failure) override { note("failed: " + to_text(failure)); }
  bool done() const { return told > 0; }

  std::vector<std::string> words;
  int told = 0;
  std::string text;
  std::function<void()> then;

 private:
  void note(std::string what) {
    ++told;
    text = std::move(what);
    if (then) then();
  }
};

// A client, and what its observer saw.
struct Rig {
  explicit Rig(Options options) : client(context, std::move(options), observer()) {}

  Observer observer() {
    Observer made;
    made.connected = [this](const ServerInfo& info) {
      infos.push_back(info);
      if (on_connected) on_connected();
    };
    made.connect_failed = [this](const Error& error) { failures.push_back(error); };
    made.disconnected = [this](const Error& error) {
      losses.push_back(error);
      if (on_disconnected) on_disconnected();
    };
    made.rotated = [this](const ServerInfo& info) { rotations.push_back(info); };
    made.rotation_failed = [this](const Error& error) { failed_rotations.push_back(error); };
    made.breaker_changed = [this](const std::string&, Breaker::State state) { breaker.push_back(state); };
    return made;
  }
  bool connect(Clock::duration limit = 10s) {
    client.start();
    return run_until(context, [this] { return client.ready(); }, limit);
  }
  void begin(Recorder& command, std::vector<std::string> words) { submit(client, command, std::move(words)); }
  static void submit(Client& to, Recorder& command, std::vector<std::string> words, const Terms& terms = {}) {
    command.words = std::move(words);
    to.submit(command, "", terms);
  }
  // One command to its end.
  std::string ask(const std::vector<std::string>& words) {
    Recorder handler;
    begin(handler, words);
    return run_until(context, [&] { return handler.done(); }) ? handler.text : "no answer within the limit";
  }

  boost::asio::io_context context;
  std::vector<ServerInfo> infos;
  std::vector<Error> failures;
  std::vector<Error> losses;
  std::vector<ServerInfo> rotations;
  std::vector<Error> failed_rotations;
  std::vector<Breaker::State> breaker;  // its states, one after the other
  std::function<void()> on_connected;
  std::function<void()> on_disconnected;
  Client client;
};

// The sanitizers and a busy machine slow us down: ordinary commands get a deadline that only a dead server misses.
inline Options options_for(const std::string& url, std::chrono::milliseconds deadline = 2000ms) {
  Options options;
  options.target = *parse_target(url);
  options.deadline = options.queue_wait = options.batch_queue_wait = deadline;
  return options;
}

// Listens on a port of the loopback, and answers each command with what `answer` says: bytes, or "" to close.
class FakeServer {
 public:
  using Command = std::vector<std::string>;
  using Answer = std::function<std::string(const Command&)>;

  FakeServer(boost::asio::io_context& context, Answer answer, std::uint16_t port = 0)
      : acceptor_(context, {boost::asio::ip::address_v4::loopback(), port}), answer_(std::move(answer)) {
    accept();
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port()); }
  int connections() const { return connections_; }

  static std::string bulk(std::string_view text) {
    std::string out;
    CommandWriter(out).bulk(text);
    return out;
  }
  // The greeting of a sound Redis of this version, and `otherwise` for all else.
  static Answer sound(std::string version, Answer otherwise) {
    return [version, otherwise](const Command& command) -> std::string {
      if (command[0] == "CLIENT") return "+OK\r\n";
      if (command[0] == "PING") return "+PONG\r\n";
      if (command[0] == "INFO") return bulk("redis_version:" + version + "\r\nrole:master\r\n");
      return otherwise(command);
    };
  }

 private:
  struct Session {
    explicit Session(boost::asio::ip::tcp::socket accepted) : socket(std::move(accepted)) {}
    boost::asio::ip::tcp::socket socket;
    ReplyReader reader;  // a command is an array of strings, as a reply may be
    char in[4096];
    std::string out;
  };

  void accept() {
    acceptor_.async_accept([this](const boost::system::error_code& error, boost::asio::ip::tcp::socket socket) {
      if (error) return;
      ++connections_;
      serve(std::make_shared<Session>(std::move(socket)));
      accept();
    });
  }
  void serve(const std::shared_ptr<Session>& session) {
    session->socket.async_read_some(boost::asio::buffer(session->in),
                                    [this, session](const boost::system::error_code& error, std::size_t size) {
                                      if (error) return;
                                      session->reader.feed({session->in, size});
                                      reply(session);
                                    });
  }
  void reply(const std::shared_ptr<Session>& session) {
    session->out.clear();
    bool close = false;
    for (auto next = session->reader.next(); !close && next && *next != nullptr; next = session->reader.next()) {
      Command command;
      for (const Reply& word : (*next)->elements) command.emplace_back(word.text);
      const std::string bytes = answer_(command);
      close = bytes.empty();
      session->out += bytes;
    }
    boost::asio::async_write(session->socket, boost::asio::buffer(session->out),
                             [this, session, close](const boost::system::error_code& error, std::size_t) {
                               if (!error && !close) serve(session);
                             });
  }

  boost::asio::ip::tcp::acceptor acceptor_;
  Answer answer_;
  int connections_ = 0;
};

}  // namespace sluice::redis::test
