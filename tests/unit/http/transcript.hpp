// Feeds bytes to a RequestParser as a connection would and writes down what came of them. For tests and the fuzzer.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/http/request_parser.hpp"

namespace sluice::http {

class Transcript {
 public:
  explicit Transcript(std::size_t body_limit = 64, std::size_t max_head_bytes = 8192)
      : parser_(max_head_bytes), body_limit_(body_limit) {}

  // Each call has the unconsumed bytes in fresh memory of exactly their size: nothing may rely on where they were.
  void feed(std::string_view piece) {
    pending_ += piece;
    while (!ended_ && !pending_.empty()) {
      const auto bytes = std::make_unique_for_overwrite<char[]>(pending_.size());
      std::ranges::copy(pending_, bytes.get());
      const RequestParser::Step step = parser_.feed(bytes.get(), pending_.size());
      write_down(step);
      std::copy_n(bytes.get(), pending_.size(), pending_.begin());  // the parser writes names in lower case
      pending_.erase(0, parser_.consumed());
      if (step == RequestParser::Step::need_more) return;
    }
  }

  const std::vector<std::string>& lines() const { return lines_; }
  bool ended() const { return ended_; }
  RequestParser& parser() { return parser_; }
  std::size_t pending() const { return pending_.size(); }

 private:
  void write_down(RequestParser::Step step) {
    using Step = RequestParser::Step;
    if (step == Step::head) {
      parser_.set_body_limit(body_limit_);
    } else if (step == Step::complete) {
      const Request& request = parser_.request();
      std::string line(request.method);
      line.append(" ").append(request.path).append("?").append(request.query).append(" ");
      line.append(request.body.data(), request.body.size());
      line.append(" host=").append(request.header("host")).append(" x=").append(request.header("x"));
      lines_.push_back(line + (parser_.keep_alive() ? "" : " close"));
      std::ranges::fill(request.body, '#');  // handlers may write there
    } else if (step == Step::refused) {
      const Refusal& refusal = parser_.refusal();
      lines_.push_back("refused " + std::to_string(refusal.status) + (refusal.close ? " close: " : ": ") +
                       std::string(refusal.detail));
      ended_ = refusal.close;
    } else if (step == Step::close_after_refusal) {
      lines_.emplace_back("hang up");
      ended_ = true;
    }
  }

  RequestParser parser_;
  std::size_t body_limit_;
  std::string pending_;
  std::vector<std::string> lines_;
  bool ended_ = false;
};

inline std::vector<std::string> transcript_of(std::string_view bytes, std::size_t body_limit = 64) {
  Transcript transcript(body_limit);
  transcript.feed(bytes);
  return transcript.lines();
}

}  // namespace sluice::http
