#include "server/admin/runbook_page.hpp"

#include <doctest/doctest.h>

#include <string>

namespace sluice::server::admin {
namespace {

bool has(const std::string& page, std::string_view text) { return page.find(text) != std::string::npos; }

}  // namespace

TEST_CASE("a heading has the anchor that a Git host gives it") {
  const std::string page = runbook_page("<!-- a note -->\n# Stop refusing, now\n### SluiceServerDown\n");
  CHECK(has(page, "<h1 id=\"stop-refusing-now\">Stop refusing, now</h1>"));
  CHECK(has(page, "<h3 id=\"sluiceserverdown\">SluiceServerDown</h3>"));
  CHECK_FALSE(has(page, "a note"));
}

TEST_CASE("code, bold text and links within the page are marked up, other links are text") {
  const std::string page = runbook_page("**Do** `a < b` as [there](#sluiceserverdown), not [here](other.md).\n");
  CHECK(has(page, "<br><strong>Do</strong> <code>a &lt; b</code>"));
  CHECK(has(page, "<a href=\"#sluiceserverdown\">there</a>, not here."));
}

TEST_CASE("a block of code keeps its lines, and nothing of it is markup") {
  CHECK(has(runbook_page("```sh\n# **a** [b](#c)\n'{\"d\":1}' & e\n```\n"),
            "<pre># **a** [b](#c)\n'{&quot;d&quot;:1}' &amp; e\n</pre>"));
}

TEST_CASE("what is not closed is closed at the end of its line") {
  CHECK(has(runbook_page("a `b **c\n"), "a <code>b **c</code>"));
  CHECK(has(runbook_page("a **b [c](d\n"), "a <strong>b [c](d</strong>"));
}

TEST_CASE("the page has the guide's alerts") {
  CHECK(has(runbooks(), "<h3 id=\"sluiceserverdown\">"));
  CHECK(has(runbooks(), "<a href=\"#sluiceserverdown\">ServerDown</a>"));
}

}  // namespace sluice::server::admin
