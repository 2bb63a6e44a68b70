// The page /runbooks: what each alert means and what to do, for the `runbook_url` of the alerts. It is
// docs/guide/operating.md of this version, so that whoever is on call needs neither the repository nor the internet.
#pragma once

#include <string>
#include <string_view>

namespace sluice::server::admin {

inline constexpr std::string_view kRunbooks = "/runbooks";

// HTML of the guide's Markdown: headings with the anchors that Git hosts give them, paragraphs, code, and links within
// the page. Of other links only the text is left, because the other pages are not served.
std::string runbook_page(std::string_view markdown);

// The page of docs/guide/operating.md.
const std::string& runbooks();

}  // namespace sluice::server::admin
