#include "server/postgres/statement_summary.hpp"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <vector>

namespace sluice::server::postgres {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_of_word(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.'; }

// Equal but for the case of ASCII letters. REQUIRES: `keyword` is in upper case.
bool is(std::string_view word, std::string_view keyword) {
  return std::ranges::equal(
      word, keyword, [](char a, char b) { return (a >= 'a' && a <= 'z' ? static_cast<char>(a - 'a' + 'A') : a) == b; });
}

bool is_any(std::string_view word, std::initializer_list<std::string_view> keywords) {
  return std::ranges::any_of(keywords, [word](std::string_view keyword) { return is(word, keyword); });
}

// Words and single punctuation marks. Skips literals, quoted names, numbers, parameters and comments.
class Tokens {
 public:
  explicit Tokens(std::string_view sql) : rest_(sql) {}

  // "": the text has ended.
  std::string_view next() {
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (is_letter(c)) return take(length([](char each) { return is_of_word(each); }));
      if (c == '\'' || c == '"') {
        skip_quoted(c);
      } else if (c == '$') {
        skip_dollar();
      } else if (rest_.starts_with("--")) {
        take(std::min(rest_.find('\n'), rest_.size()));
      } else if (rest_.starts_with("/*")) {
        const std::size_t end = rest_.find("*/");
        take(end == std::string_view::npos ? rest_.size() : end + 2);
      } else if (c >= '0' && c <= '9') {
        take(length([](char each) { return is_of_word(each); }));
      } else if (std::string_view("(),;").contains(c)) {
        return take(1);
      } else {
        take(1);
      }
    }
    return {};
  }

 private:
  template <class Belongs>
  std::size_t length(Belongs belongs) const {
    const auto end = std::ranges::find_if_not(rest_, belongs);
    return static_cast<std::size_t>(end - rest_.begin());
  }

  std::string_view take(std::size_t bytes) {
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(taken.size());
    return taken;
  }

  // A doubled quote is a quote within the text; here it ends one text and begins the next, which is skipped too. A
  // backslash escapes nothing in a standard text, and in E'…' it may escape the quote: then the rest is skipped.
  void skip_quoted(char quote) {
    const std::size_t end = rest_.find(quote, 1);
    const bool escaped = end != std::string_view::npos && rest_[end - 1] == '\\';
    take(end == std::string_view::npos || escaped ? rest_.size() : end + 1);
  }

  // $1, or a text as $$…$$ and $tag$…$tag$.
  void skip_dollar() {
    std::size_t end = 1;
    while (end < rest_.size() && is_of_word(rest_[end])) ++end;
    const bool is_text = end < rest_.size() && rest_[end] == '$';
    const std::string_view mark = take(is_text ? end + 1 : end);
    if (!is_text) return;
    const std::size_t close = rest_.find(mark);
    take(close == std::string_view::npos ? rest_.size() : close + mark.size());
  }

  std::string_view rest_;
};

class Summary {
 public:
  explicit Summary(std::string_view sql) : tokens_(sql) {}

  std::string take() {
    for (std::string_view token = tokens_.next(); !token.empty(); token = tokens_.next()) {
      if (token == ";") break;  // the first statement stands for all
      note(token);
    }
    settle();
    if (!writes_.empty()) return joined(writes_, "");
    if (first_.empty()) return {};
    if (is_any(first_, {"SELECT", "WITH"})) return joined(reads_, "SELECT");
    return joined({}, first_);
  }

 private:
  void note(std::string_view token) {
    if (token == "(") {
      if (is(before_, "AS")) names_.push_back(named_);
      reading_ = false;
      read_.reset();  // a function, not a table
      selects_.push_back(false);
    } else if (token == ")") {
      settle();
      if (selects_.size() > 1) selects_.pop_back();
    } else if (token == ",") {
      settle();
    } else {
      note_word(token);
    }
    if (token != "(" && !is(token, "AS")) named_ = token;
    before_ = token;
  }

  void note_word(std::string_view word) {
    if (first_.empty()) first_ = word;
    if (target_ && !is(word, "ONLY")) {
      add(writes_, *target_, word);
      target_.reset();
    }
    if (is(word, "SELECT")) selects_.back() = true;
    if (is(word, "INTO") && is(before_, "INSERT")) target_ = "INSERT";
    if (is(word, "UPDATE") && !is_any(before_, {"FOR", "DO", "ON", "KEY"})) target_ = "UPDATE";
    if (is(word, "FROM") && is(before_, "DELETE")) {
      target_ = "DELETE";
    } else if (is_any(word, {"FROM", "JOIN"}) && selects_.back() && !is(before_, "DISTINCT")) {
      settle();
      reading_ = true;
    } else if (reading_ && !is_any(word, {"ONLY", "LATERAL"})) {
      read_ = word;
      reading_ = false;
    } else {
      settle();
    }
  }

  // The table that was read has no parenthesis behind it.
  void settle() {
    reading_ = false;
    if (!read_) return;
    add(reads_, "", *read_);
    read_.reset();
  }

  static void add(std::vector<std::string>& list, std::string_view operation, std::string_view table) {
    std::string entry(operation);
    if (!entry.empty()) entry += ' ';
    entry += table;
    if (std::ranges::find(list, entry) == list.end()) list.push_back(std::move(entry));
  }

  std::string joined(const std::vector<std::string>& list, std::string_view begin) {
    std::string text(begin.substr(0, kMaxSummaryBytes));
    std::ranges::transform(text, text.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    for (const std::string& entry : list) {
      if (std::ranges::find(names_, entry) != names_.end()) continue;  // a name that WITH gives to a subquery
      if (text.size() + 1 + entry.size() > kMaxSummaryBytes) break;
      if (!text.empty()) text += ' ';
      text += entry;
    }
    return text;
  }

  Tokens tokens_;
  std::string_view first_;   // the statement's first word
  std::string_view before_;  // the token before
  std::string_view named_;   // the word before AS
  std::vector<std::string_view> names_;
  std::vector<bool> selects_{false};        // for each open parenthesis: whether a SELECT began in it
  std::optional<std::string_view> target_;  // what is done to the table whose name comes next
  bool reading_ = false;                    // the next word names a table that is read
  std::optional<std::string_view> read_;    // that word
  std::vector<std::string> writes_;
  std::vector<std::string> reads_;
};

}  // namespace

std::string summary_of(std::string_view sql) {
  Summary summary(sql);
  return summary.take();
}

std::string_view operation_of(std::string_view summary) { return summary.substr(0, summary.find(' ')); }

}  // namespace sluice::server::postgres
