// Serves the console: its page at the path of every view, and the script and style sheet that the page loads.
//
// The page is asked for again at each visit, and answered 304 while it is the same. The files never change, so browsers
// keep them. A file of another release is 404. So during an upgrade, with two releases behind one address, a page of
// the one may ask the other for files that it does not have.
//
// Thread: the event loop's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/http/server.hpp"
#include "server/console/bundle.hpp"

namespace sluice::server::console {

class Console final : public sluice::http::Handler {
 public:
  // REQUIRES: what `bundle` refers to outlives this object, and its files are gzip.
  explicit Console(const Bundle& bundle);

  // Whether the path is a view's or a file's. Other paths must not come here.
  bool has(std::string_view path) const;

  // Whether the path is a view's.
  bool has_view(std::string_view path) const;

  std::size_t body_limit(std::string_view method, std::string_view path) const override;
  bool answers(std::string_view method, std::string_view path) const override;
  void handle(sluice::http::Request& request, sluice::http::Reply reply) override;

 private:
  struct Served {
    const File* file;
    sluice::http::SharedBody plain;  // for clients that take no compressed content
  };
  const Served* find(std::string_view path) const;
  void send_page(const sluice::http::Request& request, std::string_view request_id, sluice::http::Reply& reply) const;

  const Bundle bundle_;
  const std::string page_tag_;  // the ETag, with its quotes
  const std::string page_headers_;
  std::vector<Served> files_;
};

// Whether `path` is one of a view. `pattern`: the paths of the view, such as "/policies/:id".
bool is_view(std::string_view pattern, std::string_view path);

}  // namespace sluice::server::console
