// Whose a request is: agents' routes are policy sync's, all others the admin API's.
//
// Thread: the event loop's.
#pragma once

#include <string_view>
#include <utility>

#include "common/http/server.hpp"
#include "server/admin/service.hpp"
#include "server/sync/service.hpp"

namespace sluice::server {

class Dispatch final : public http::Handler {
 public:
  Dispatch(SyncService& sync, AdminService& admin) : sync_(sync), admin_(admin) {}

  std::size_t body_limit(std::string_view method, std::string_view path) const override {
    return of(path).body_limit(method, path);
  }
  void admit(http::Request& head, http::Admission admission) override {
    of(head.path).admit(head, std::move(admission));
  }
  void handle(http::Request& request, http::Reply reply) override {
    of(request.path).handle(request, std::move(reply));
  }

 private:
  http::Handler& of(std::string_view path) const {
    if (path.starts_with(SyncService::kPrefix)) return sync_;
    return admin_;
  }

  SyncService& sync_;
  AdminService& admin_;
};

}  // namespace sluice::server
