// Reads a program's request into the request of the decision core, by the rules of `POST /v1/check`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/domain/check_request.hpp"
#include "sluice/engine.hpp"

namespace sluice::lib {

// Thread: one at a time. Keeps its memory: in the steady state it allocates nothing.
class RequestReader {
 public:
  // Fills `out` with views into `from` and into this object, valid until the next call. Returns false if a value breaks
  // a rule; `status` then says which one. REQUIRES: `out` is the same object in each call, and has no other writer but
  // the decision core.
  bool read(const v1::Request& from, CheckRequest& out, v1::Status& status);

 private:
  bool take_dimensions(const v1::Request& from, CheckRequest& out, v1::Status& status);
  template <std::size_t... i>
  bool take_members(const v1::Request& from, CheckRequest& out, v1::Status& status, std::uint32_t& filled,
                    std::index_sequence<i...>);
  std::uint32_t take_dimension(Dimension dimension, std::string_view text, CheckRequest& out, v1::Status& status);
  bool take_resource(std::string_view resource, std::string_view& out, v1::Status& status);

  std::uint32_t filled_ = 0;  // has a bit for each dimension that the last request has set
  std::string resource_;      // as the last request with a resource has written it,
  std::string canonical_;     // and its canonical spelling
};

}  // namespace sluice::lib
