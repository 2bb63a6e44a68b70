// The page of each type of problem, at the path that is its type: what the problem means and what to do.
//
// Both programs serve all pages, on every port that answers problems: a type is a relative reference, so it leads to
// the program that sent it.
#pragma once

#include <string>
#include <string_view>

#include "common/http/server.hpp"

namespace sluice::http {

inline constexpr std::string_view kProblemPageType = "text/html; charset=utf-8";
// The page is text alone: no script, no style, no frame.
inline constexpr std::string_view kProblemPageHeaders =
    "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n";

// HTML, or "" if no problem has this type.
std::string problem_page(std::string_view type);

// Answers GET and HEAD of a page. Returns false, and leaves `reply` alone, for everything else.
bool send_problem_page(const Request& request, Reply& reply, std::string_view headers = {});

}  // namespace sluice::http
