#include "server/admin/runbook_page.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "server/admin/runbooks_embedded.hpp"

namespace sluice::server::admin {
namespace {

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '<':
      out += "&lt;";
      return;
    case '&':
      out += "&amp;";
      return;
    case '"':
      out += "&quot;";
      return;
    default:
      out += c;
  }
}

// The anchor of a heading: lower case, blanks as '-', no other punctuation.
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper) {
      anchor += static_cast<char>(c - 'A' + 'a');
    } else if (c == ' ') {
      anchor += '-';
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_') {
      anchor += c;
    }
  }
  return anchor;
}

// Code, bold text and links of one line.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}

  std::string to_html() && {
    while (!rest_.empty()) step();
    if (code_) out_ += "</code>";
    if (bold_) out_ += "</strong>";
    return std::move(out_);
  }

 private:
  void step() {
    if (!code_ && rest_.starts_with('[') && link()) return;
    if (!code_ && rest_.starts_with("**")) {
      out_ += (bold_ = !bold_) ? "<strong>" : "</strong>";
      return rest_.remove_prefix(2);
    }
    if (rest_.front() == '`') {
      out_ += (code_ = !code_) ? "<code>" : "</code>";
    } else {
      append_escaped(out_, rest_.front());
    }
    rest_.remove_prefix(1);
  }

  // False if there is no link here.
  bool link() {
    const std::size_t middle = rest_.find("](");
    const std::size_t end = middle == std::string_view::npos ? middle : rest_.find(')', middle);
    if (end == std::string_view::npos) return false;
    const std::string text = Line(rest_.substr(1, middle - 1)).to_html();
    const std::string_view target = rest_.substr(middle + 2, end - middle - 2);
    out_ += target.starts_with('#') ? fmt::format("<a href=\"{}\">{}</a>", target, text) : text;
    rest_.remove_prefix(end + 1);
    return true;
  }

  std::string_view rest_;
  std::string out_;
  bool code_ = false;
  bool bold_ = false;
};

std::string heading(std::string_view line) {
  const std::size_t level = line.find_first_not_of('#');
  const std::string_view text = line.substr(level + 1);
  return fmt::format("<h{0} id=\"{1}\">{2}</h{0}>\n<p>", level, anchor_of(text), Line(text).to_html());
}

// A step of a list, a part in bold, or a row of a table begins a line of its own.
bool begins_a_line(std::string_view line) {
  return line.starts_with("**") || line.starts_with('|') || (line.size() > 1 && line[1] == '.');
}

}  // namespace

std::string runbook_page(std::string_view markdown) {
  std::string body = "<p>";
  bool code = false;
  while (!markdown.empty()) {
    const std::size_t end = std::min(markdown.find('\n'), markdown.size());
    const std::string_view line = markdown.substr(0, end);
    markdown.remove_prefix(std::min(end + 1, markdown.size()));
    if (line.starts_with("```")) {
      body += (code = !code) ? "<pre>" : "</pre>\n<p>";
    } else if (code) {
      for (const char c : line) append_escaped(body, c);
      body += '\n';
    } else if (line.starts_with('#')) {
      body += heading(line);
    } else if (line.empty()) {
      body += "\n<p>";
    } else if (!line.starts_with("<!--")) {
      if (begins_a_line(line)) body += "<br>";
      body += Line(line).to_html() + '\n';
    }
  }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>Runbooks · Sluice</title>\n{}\n</html>\n",
      body);
}

const std::string& runbooks() {
  static const std::string page = runbook_page(guide::operating);
  return page;
}

}  // namespace sluice::server::admin
