// Raw EVALSHA, as redis-benchmark does it: N connections over the Unix socket, each with one command at a time under
// way, one thread. redis-benchmark itself cannot send the script's packed arguments: they hold NUL bytes, which no
// command line can. (scripts/bench runs both with an empty script beside each other, so that this client is seen to be
// as good.)
//
//   bench_raw SOCKET CONNECTIONS SECONDS SUBJECTS [SHA]     prints JSON
//
// Calls the production script for a token bucket that always admits; or with SHA that script, without arguments.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "common/redis/reply_reader.hpp"
#include "tests/bench/plans.hpp"
#include "tests/integration/equivalence/redis_link.hpp"

namespace sluice::bench {
namespace {

using std::chrono::steady_clock;

struct Client {
  int fd = -1;
  redis::ReplyReader reader;
  std::string command;
  steady_clock::time_point sent_at;
};

class Load {
 public:
  Load(const std::string& socket, std::size_t connections, std::size_t subjects, const char* sha)
      : subjects_(subjects), sha_(sha != nullptr ? sha : ""), poll_(::epoll_create1(EPOLL_CLOEXEC)) {
    test::RedisLink link(socket);
    std::string load;
    redis::CommandWriter out(load);
    out.array(3).bulk("SCRIPT").bulk("LOAD").bulk(limiter::script_text(limiter::Script::check));
    link.send(load);
    link.receive(1, [](std::size_t, const redis::Reply&) {});
    for (std::size_t i = 0; i < connections; ++i) connect(socket);
  }

  void run(std::chrono::milliseconds time) {
    const auto end = steady_clock::now() + time;
    for (auto& client : clients_) send(*client);
    std::array<epoll_event, 128> events;
    while (steady_clock::now() < end) {
      const int count = ::epoll_wait(poll_, events.data(), static_cast<int>(events.size()), 1000);
      for (int i = 0; i < count; ++i) receive(*static_cast<Client*>(events[static_cast<std::size_t>(i)].data.ptr));
    }
  }

  void print(double seconds) {
    std::ranges::sort(took_us_);
    const auto at = [&](double share) {
      return took_us_[static_cast<std::size_t>(share * static_cast<double>(took_us_.size() - 1))];
    };
    fmt::print(R"({{"requests":{},"rps":{:.0f},"p50_us":{:.1f},"p99_us":{:.1f}}})", took_us_.size(),
               static_cast<double>(took_us_.size()) / seconds, at(0.5), at(0.99));
    fmt::print("\n");
  }

 private:
  void connect(const std::string& path) {
    auto client = std::make_unique<Client>();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    client->fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    epoll_event event{.events = EPOLLIN, .data = {.ptr = client.get()}};
    if (::connect(client->fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::epoll_ctl(poll_, EPOLL_CTL_ADD, client->fd, &event) != 0) {
      throw std::runtime_error("cannot connect to " + path);
    }
    clients_.push_back(std::move(client));
  }

  void send(Client& client) {
    client.command.clear();
    redis::CommandWriter out(client.command);
    if (sha_.empty()) {
      calls_.write(out, next_++ % subjects_);
    } else {
      out.array(3).bulk("EVALSHA").bulk(sha_).bulk("0");
    }
    client.sent_at = steady_clock::now();
    const auto size = static_cast<ssize_t>(client.command.size());
    if (::send(client.fd, client.command.data(), client.command.size(), MSG_NOSIGNAL) != size) {
      throw std::runtime_error("the server took no command");
    }
  }

  void receive(Client& client) {
    const ssize_t size = ::recv(client.fd, buffer_.data(), buffer_.size(), 0);
    if (size <= 0) throw std::runtime_error("the server gave no reply");
    client.reader.feed({buffer_.data(), static_cast<std::size_t>(size)});
    const auto reply = client.reader.next();
    if (!reply) throw std::runtime_error(reply.error().text);
    if (*reply == nullptr) return;
    if ((*reply)->is_error()) throw std::runtime_error(std::string((*reply)->text));
    took_us_.push_back(std::chrono::duration<float, std::micro>(steady_clock::now() - client.sent_at).count());
    send(client);
  }

  std::size_t subjects_;
  std::string sha_;
  int poll_;
  Calls calls_{limits_of(Algorithm::token_bucket, 1, bench::Load::admitted)};
  std::size_t next_ = 0;
  std::vector<std::unique_ptr<Client>> clients_;
  std::array<char, 16384> buffer_;
  std::vector<float> took_us_;
};

int run(int count, char** words) {
  const auto number = [&](int at) { return at < count ? std::strtod(words[at], nullptr) : 0; };
  const double connections = number(2), seconds = number(3), subjects = number(4);
  if (count < 5 || count > 6 || connections < 1 || seconds <= 0 || subjects < 1) {
    return std::fputs("bench_raw SOCKET CONNECTIONS SECONDS SUBJECTS [SHA]\n", stderr), 2;
  }
  Load load(words[1], static_cast<std::size_t>(connections), static_cast<std::size_t>(subjects),
            count == 6 ? words[5] : nullptr);
  load.run(std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)));
  load.print(seconds);
  return 0;
}

}  // namespace
}  // namespace sluice::bench

int main(int count, char** words) {
  try {
    return sluice::bench::run(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_raw: %s\n", error.what());
    return 1;
  }
}
