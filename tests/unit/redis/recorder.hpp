// Commands that note what they are told.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/redis/command.hpp"
#include "tests/unit/redis/failure_text.hpp"

namespace sluice::redis::test {

inline std::string to_text(const Reply& reply) {
  switch (reply.type) {
    case Reply::Type::nil:
      return "nil";
    case Reply::Type::integer:
      return ":" + std::to_string(reply.integer);
    case Reply::Type::string:
      return "$" + std::string(reply.text);
    case Reply::Type::status:
      return "+" + std::string(reply.text);
    case Reply::Type::error:
      return "-" + std::string(reply.text);
    case Reply::Type::array: {
      std::string text = "[";
      for (const Reply& element : reply.elements) text += (text.size() == 1 ? "" : " ") + to_text(element);
      return text + "]";
    }
  }
  return "?";
}

// Writes one word, with a mark if it is not by hash, and notes each thing it is told; `then` runs inside the callback,
// after the note.
class Recorder final : public Command {
 public:
  explicit Recorder(std::string text = "X") : word(std::move(text)) {}

  void write(CommandWriter& out, CallBy by) override {
    out.array(1).bulk(word + (by == CallBy::text ? "!" : by == CallBy::function ? "()" : ""));
  }
  void on_reply(const Reply& reply) override { note(to_text(reply)); }
  void on_failure(Failure failure) override { note(to_text(failure)); }

  std::string word;
  std::vector<std::string> told;
  std::function<void()> then;

 private:
  void note(std::string text) {
    told.push_back(std::move(text));
    if (then) then();
  }
};

using Told = std::vector<std::string>;

}  // namespace sluice::redis::test
