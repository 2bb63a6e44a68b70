#include "server/imports/nginx_syntax.hpp"

#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "common/base/text.hpp"

namespace sluice::server::imports {
namespace {

constexpr std::size_t kMaxDepth = 32;       // of blocks
constexpr std::size_t kMaxBytes = 4 << 20;  // as for YAML
constexpr std::size_t kMaxWords = 500'000;  // each takes far more memory than its text

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::expected<std::vector<NginxDirective>, NginxFault> parse() {
    if (text_.size() > kMaxBytes) fail(fmt::format("the text has more than {} MiB: divide it", kMaxBytes >> 20));
    for (std::size_t tokens = 0; !fault_ && skip_to_token(); ++tokens) {
      if (tokens == kMaxWords) fail(fmt::format("the text has more than {} words: divide it", kMaxWords));
      if (!fault_) read_token();
    }
    if (fault_) return std::unexpected(*std::move(fault_));
    if (!words_.empty()) {
      return std::unexpected(
          NginxFault{word_line_, fmt::format("{} does not end: write ; behind it", quoted(words_.front()))});
    }
    if (!open_.empty()) {
      const NginxDirective& block = enclosing_list().back();
      return std::unexpected(NginxFault{
          block.line, fmt::format("the block of {} does not end: write }} behind it", quoted(block.name()))});
    }
    return std::move(root_);
  }

 private:
  // A block's list does not grow while a block in it is open, so the pointers stay valid.
  std::vector<NginxDirective>& list() { return open_.empty() ? root_ : *open_.back(); }
  // The list that has the innermost open block. REQUIRES: a block is open.
  std::vector<NginxDirective>& enclosing_list() { return open_.size() == 1 ? root_ : *open_[open_.size() - 2]; }

  void fail(std::string text) { fault_ = NginxFault{line_, std::move(text)}; }

  char take() {
    const char c = text_[at_++];
    if (c == '\n') ++line_;
    return c;
  }

  // False at the end of the text.
  bool skip_to_token() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (is_space(text_[at_])) {
        take();
      } else {
        return true;
      }
    }
    return false;
  }

  void read_token() {
    switch (text_[at_]) {
      case ';':
        take();
        return end_directive();
      case '{':
        take();
        return open_block();
      case '}':
        take();
        return close_block();
      default:
        return read_word();
    }
  }

  void end_directive() {
    if (words_.empty()) return fail("there is a ; without a directive: remove it");
    add_directive();
  }

  void open_block() {
    if (words_.empty()) return fail("there is a { without a directive: write the directive's name before it");
    if (words_.front().ends_with("_by_lua_block")) {
      add_directive();
      return skip_code();
    }
    if (open_.size() == kMaxDepth) return fail(fmt::format("blocks are nested more than {} deep", kMaxDepth));
    add_directive();
    open_.push_back(&list().back().block);
  }

  void close_block() {
    if (!words_.empty()) return fail(fmt::format("{} does not end: write ; behind it", quoted(words_.front())));
    if (open_.empty()) return fail("there is a } without a block: remove it");
    open_.pop_back();
  }

  void add_directive() {
    list().push_back({std::move(words_), word_line_, {}});
    words_.clear();
  }

  void skip_code() {
    const std::uint32_t from = line_;
    std::size_t depth = 1;
    while (at_ < text_.size() && depth > 0) {
      const char c = take();
      if (c == '{') ++depth;
      if (c == '}') --depth;
    }
    if (depth > 0) fault_ = NginxFault{from, "the block of code does not end: write } behind it"};
  }

  void read_word() {
    if (words_.empty()) word_line_ = line_;
    const char first = text_[at_];
    if (first == '"' || first == '\'') return read_quoted(first);
    std::string word;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool of_variable = c == '{' && !word.empty() && word.back() == '$';
      if (is_space(c) || c == ';' || (c == '{' && !of_variable)) break;
      append(word, take());
    }
    words_.push_back(std::move(word));
  }

  void read_quoted(char quote) {
    const std::uint32_t from = line_;
    take();
    std::string word;
    while (at_ < text_.size() && text_[at_] != quote) append(word, take());
    if (at_ == text_.size()) {
      fault_ = NginxFault{from, fmt::format("the text in quotes does not end: write {} behind it", quote)};
      return;
    }
    take();
    words_.push_back(std::move(word));
    const bool ends =
        at_ == text_.size() || is_space(text_[at_]) || text_[at_] == ';' || text_[at_] == '{' || text_[at_] == ')';
    if (!ends) fail("a text in quotes goes on without a space: write a space or ; behind the quote");
  }

  // Resolves an escape. A backslash before any other character stays.
  void append(std::string& word, char c) {
    if (c != '\\' || at_ == text_.size()) {
      word += c;
      return;
    }
    constexpr std::string_view kEscapes = "\"'\\trn";
    constexpr std::string_view kMeanings = "\"'\\\t\r\n";
    const char escaped = take();
    const std::size_t known = kEscapes.find(escaped);
    if (known == std::string_view::npos) word += c;
    word += known == std::string_view::npos ? escaped : kMeanings[known];
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::vector<std::string> words_;  // of the directive that is being read
  std::uint32_t word_line_ = 1;
  std::vector<NginxDirective> root_;
  std::vector<std::vector<NginxDirective>*> open_;
  std::optional<NginxFault> fault_;
};

}  // namespace

std::expected<std::vector<NginxDirective>, NginxFault> parse_nginx(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace sluice::server::imports
