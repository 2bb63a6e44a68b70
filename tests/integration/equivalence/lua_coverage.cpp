#include "tests/integration/equivalence/lua_coverage.hpp"

#include <cctype>
#include <stdexcept>

namespace sluice::test {
namespace {

bool starts_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_word(char c) { return starts_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Copies the script token by token and puts counters behind the words that open a branch. Counting inside a value
// ("and", "or") is by a function that gives true or false, so that the value stays what it is.
class Instrumenter {
 public:
  explicit Instrumenter(std::string_view text) : rest_(text) {}

  InstrumentedScript run(std::string_view hits) {
    std::size_t first_line_end = rest_.find('\n');
    if (!rest_.starts_with("#!lua") || first_line_end == std::string_view::npos) fail("does not start with #!lua");
    std::string head(rest_.substr(0, first_line_end + 1));
    take(first_line_end + 1);
    out_.clear();
    while (!rest_.empty()) step();
    if (!blocks_.empty()) fail("a block does not end");
    head +=
        "local hit = {}\n"
        "local function yes(n) hit[n] = true return true end\n"
        "local function no(n) hit[n] = true return false end\n"
        "local function production()\n";
    head += out_;
    head +=
        "\nend\nlocal result = production()\n"
        "for n in pairs(hit) do redis.call('HINCRBY', '" +
        std::string(hits) +
        "', n, 1) end\n"
        "return result\n";
    return {std::move(head), std::move(branches_)};
  }

 private:
  struct Block {
    enum class Kind { other, conditional } kind = Kind::other;
    std::size_t line = 0;
    bool has_else = false;
  };

  [[noreturn]] void fail(const std::string& why) const {
    throw std::runtime_error("line " + std::to_string(line_) + ": " + why);
  }

  void take(std::size_t size) {
    for (char c : rest_.substr(0, size)) line_ += c == '\n';
    out_ += rest_.substr(0, size);
    rest_.remove_prefix(size);
  }

  std::string branch(std::string what, std::size_t line) {
    branches_.push_back({line, std::move(what)});
    return std::to_string(branches_.size() - 1);
  }
  void count(const std::string& what) { out_ += " yes(" + branch(what, line_) + ") "; }

  void step() {
    if (rest_.starts_with("--")) {
      if (rest_.starts_with("--[[")) fail("long comments are not understood");
      take(std::min(rest_.find('\n'), rest_.size()));
    } else if (rest_[0] == '\'' || rest_[0] == '"') {
      const std::size_t end = rest_.find(rest_[0], 1);
      if (end == std::string_view::npos || rest_.substr(0, end).find('\\') != std::string_view::npos) fail("a string");
      take(end + 1);
    } else if (rest_.starts_with("[[")) {
      fail("long strings are not understood");
    } else if (starts_word(rest_[0])) {
      std::size_t size = 1;
      while (size < rest_.size() && in_word(rest_[size])) ++size;
      word(rest_.substr(0, size));
    } else if (std::isdigit(static_cast<unsigned char>(rest_[0])) != 0) {
      std::size_t size = 1;
      while (size < rest_.size() && (in_word(rest_[size]) || rest_[size] == '.')) ++size;
      take(size);
    } else {
      take(1);
    }
  }

  void word(std::string_view word) {
    const std::string name(word);
    if (name == "goto" || name == "repeat") fail(name + " is not understood");
    if (name == "end") return close();
    if (name == "else") blocks_.back().has_else = true;
    take(word.size());
    if (name == "if") {
      blocks_.push_back({Block::Kind::conditional, line_, false});
    } else if (name == "then" || name == "else") {
      count(name);
    } else if (name == "do") {
      blocks_.push_back({});
      count(name);
    } else if (name == "function") {
      blocks_.push_back({});
      take(rest_.find(')') + 1);  // the parameters
      count(name);
    } else if (name == "and") {
      out_ += " yes(" + branch(name, line_) + ") and ";
    } else if (name == "or") {
      out_ += " no(" + branch(name, line_) + ") or ";
    }
  }

  void close() {
    if (blocks_.empty()) fail("an end too many");
    const Block block = blocks_.back();
    blocks_.pop_back();
    // A statement may not follow `return`, but `else` may.
    if (block.kind == Block::Kind::conditional && !block.has_else) {
      out_ += " else yes(" + branch("no else", block.line) + ") ";
    }
    take(3);
  }

  std::string_view rest_;
  std::string out_;
  std::size_t line_ = 1;
  std::vector<Block> blocks_;
  std::vector<LuaBranch> branches_;
};

}  // namespace

InstrumentedScript instrument(std::string_view script, std::string_view hits) { return Instrumenter(script).run(hits); }

}  // namespace sluice::test
