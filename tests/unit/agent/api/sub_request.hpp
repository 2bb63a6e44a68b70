// The sub-request of a proxy, as tests write it.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "common/http/message.hpp"

namespace sluice::agent::api {

// `fields`: the headers by their names in lower case. The views must outlive it.
struct SubRequest final : http::Request {
  SubRequest(std::string_view its_method, std::string_view its_target, std::map<std::string, std::string> its_fields)
      : fields(std::move(its_fields)) {
    method = its_method;
    target = its_target;
    path = target.substr(0, target.find('?'));
    query = target.substr(std::min(path.size() + 1, target.size()));
    peer = "127.0.0.1";
  }
  std::string_view header(std::string_view name) const override {
    const auto found = fields.find(std::string(name));
    return found == fields.end() ? std::string_view() : found->second;
  }
  std::map<std::string, std::string> fields;
};

}  // namespace sluice::agent::api
