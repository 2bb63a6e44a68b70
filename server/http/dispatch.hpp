// Hands each request to the handler for its path: agent routes to policy sync, views to the console, the rest to the
// admin API.
//
// Thread: the event loop's.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "common/http/server.hpp"

namespace sluice::server::http {

class Dispatch final : public sluice::http::Handler {
 public:
  struct Part {
    std::function<bool(std::string_view path)> has;
    sluice::http::Handler& handler;
  };
  // `others` handles all other paths. REQUIRES: all handlers outlive this object.
  Dispatch(std::initializer_list<Part> parts, sluice::http::Handler& others) : parts_(parts), others_(others) {}

  std::size_t body_limit(std::string_view method, std::string_view path) const override {
    return of(path).body_limit(method, path);
  }
  bool answers(std::string_view method, std::string_view path) const override { return of(path).answers(method, path); }
  void admit(sluice::http::Request& head, sluice::http::Admission admission) override {
    of(head.path).admit(head, std::move(admission));
  }
  void handle(sluice::http::Request& request, sluice::http::Reply reply) override {
    of(request.path).handle(request, std::move(reply));
  }

 private:
  sluice::http::Handler& of(std::string_view path) const {
    const auto found = std::ranges::find_if(parts_, [path](const Part& part) { return part.has(path); });
    return found == parts_.end() ? others_ : found->handler;
  }

  const std::vector<Part> parts_;
  sluice::http::Handler& others_;
};

}  // namespace sluice::server::http
