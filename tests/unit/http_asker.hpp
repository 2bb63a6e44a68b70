// Asks an HTTP handler without sockets and keeps its answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "common/http/reply_sink.hpp"
#include "common/http/server.hpp"

namespace sluice::http {

struct Answer {
  unsigned status = 0;
  std::string type;
  std::string headers;
  std::string body;
  std::string request_id = {};
  bool has(std::string_view text) const { return body.find(text) != std::string::npos; }
};

class Asker {
 public:
  using Headers = std::map<std::string, std::string, std::less<>>;

  explicit Asker(Handler& handler) : handler_(handler) {}

  // The answer is in `answers` under the number returned: at once, unless the handler answers later.
  std::uint64_t send(const std::string& method, const std::string& target, std::string body = "",
                     Headers headers = {}) {
    TestRequest request;
    request.method = method;
    request.target = target;
    request.path = request.target.substr(0, request.target.find('?'));
    request.query = request.target.substr(std::min(request.path.size() + 1, request.target.size()));
    request.body = body;
    request.fields = std::move(headers);
    request.content_type = request.header("content-type");
    request.content_encoding = request.header("content-encoding");
    request.peer = peer;
    const std::uint64_t slot = next_slot_++;
    handler_.handle(request, Reply(&sink_, slot));
    return slot;
  }
  Answer ask(const std::string& method, const std::string& path) { return answers[send(method, path)]; }

  // The client of a request leaves; the handler is told if it watches.
  void leave(std::uint64_t slot) {
    const auto watcher = watchers_.find(slot);
    if (watcher != watchers_.end()) std::exchange(watcher->second, nullptr)->on_peer_left();
  }

  std::map<std::uint64_t, Answer> answers;
  std::string peer;       // where the next requests come from; "": a Unix socket
  bool all_left = false;  // every client leaves before a handler can watch it

 private:
  struct TestRequest final : Request {
    Headers fields;
    std::string_view header(std::string_view name) const override {
      const auto found = fields.find(name);
      return found == fields.end() ? std::string_view() : found->second;
    }
  };
  struct Sink final : ReplySink {
    explicit Sink(Asker& its_asker) : asker(its_asker) { retain(); }
    void answer(std::uint64_t slot, const Response& response) override {
      asker.answers[slot] = {response.status, std::string(response.content_type), std::string(response.headers),
                             std::string(response.content()), std::string(response.request_id)};
    }
    bool watch_peer(std::uint64_t slot, PeerWatcher& watcher) override {
      asker.watchers_[slot] = &watcher;
      return !asker.all_left;
    }
    void unreferenced() noexcept override {}
    Asker& asker;
  };

  Handler& handler_;
  Sink sink_{*this};
  std::map<std::uint64_t, PeerWatcher*> watchers_;
  std::uint64_t next_slot_ = 0;
};

}  // namespace sluice::http
