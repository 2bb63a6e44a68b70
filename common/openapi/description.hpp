// Assembles the OpenAPI document of a program from its route table and from fragments of JSON.
//
// The frame is an OpenAPI document without operations. A fragment has the prose and the examples of the operations of
// one tag (README.md). An Operation has what the program derives from a route.
//
// Thread safety: none.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/json/field.hpp"
#include "common/json/tree.hpp"

namespace sluice::openapi {

// A successful answer.
struct Success {
  std::string_view description;           // used if the fragment's answer has none
  std::vector<std::string_view> headers;  // names in components/headers, added to the fragment's
};

struct Operation {
  std::string_view method;
  std::string_view path;  // "/v1/admin/plans/{id}"
  bool open = false;      // needs no credential
  // A name in components/securitySchemes; "": the document's own.
  std::string_view credential = {};
  bool head = false;                                        // HEAD is answered too
  std::string needs = {};                                   // "Needs the permission …", added to the description
  std::map<std::string_view, std::string> extensions = {};  // "x-level": "tenant"
  std::vector<std::string_view> parameters = {};            // names in components/parameters, after the fragment's
  std::vector<std::string_view> media = {};                 // media types of the request body, if there is one
  std::map<std::string_view, Success> successes = {};       // by status; ignored if the fragment lacks the status
  // Names in components/responses, by status. An answer of the fragment replaces one of the same status.
  std::map<std::string_view, std::string_view> problems = {};
};

class Description {
 public:
  // Texts and tables must outlive the description. Throws std::logic_error if the frame or a fragment is not JSON.
  Description(std::string_view frame, std::span<const std::string_view> fragments,
              std::span<const json::FieldTable> tables);

  // The JSON of an operation in its fragment. Throws std::logic_error if no fragment has the operation.
  const json::Value& fragment(std::string_view method, std::string_view path) const;
  // Whether the fragment has an answer of this status. Throws as fragment().
  bool answers(std::string_view method, std::string_view path, std::string_view status) const;

  // Throws std::logic_error as fragment() does, or if only one of route and fragment has a request body.
  void add(const Operation& operation);

  // Throws std::logic_error if a fragment has an operation that was not added.
  std::string text() const;

 private:
  struct Prose {
    std::string_view tag;
    json::Value value;  // the operation in the fragment
  };
  const Prose& prose_of(std::string_view method, std::string_view path) const;
  std::string& path_item(std::string_view path);

  json::Tree frame_tree_;
  json::Value frame_;
  std::span<const json::FieldTable> tables_;
  std::vector<json::Tree> trees_;
  std::map<std::string, Prose, std::less<>> fragments_;          // by "GET /v1/admin/plans"
  std::vector<std::pair<std::string_view, std::string>> paths_;  // the operations of each path
  std::set<std::string> added_;
};

}  // namespace sluice::openapi
