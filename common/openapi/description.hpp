// Assembles the OpenAPI document of a program from its route table and from fragments of JSON.
//
// The frame is an OpenAPI document without operations: info, servers, tags, components. Its schemas may refer to tables
// of fields (schema.hpp). A fragment has the prose and the examples of the operations of one tag (README.md shows its
// members). What the program can derive from a route, it passes as an Operation, so that fragments need not repeat it.
//
// Thread safety: none; the program assembles the document once and then only reads its text.
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

// A successful answer, as derived from a route. If the answer of the fragment has a description, that one is used
// instead. The headers of the fragment are added to these.
struct Success {
  std::string_view description;
  std::vector<std::string_view> headers;  // names in components/headers
};

// An operation, as derived from a route.
struct Operation {
  std::string_view method;
  std::string_view path;                                    // "/v1/admin/plans/{id}"
  bool open = false;                                        // needs no credential
  bool head = false;                                        // HEAD is answered too
  std::string needs = {};                                   // "Needs the permission …", added to the description
  std::map<std::string_view, std::string> extensions = {};  // "x-level": "tenant"
  std::vector<std::string_view> parameters = {};            // names in components/parameters; follow the fragment's
  std::vector<std::string_view> media = {};                 // media types of the request body; empty: no body
  std::map<std::string_view, Success> successes = {};       // by status; ignored if the fragment lacks the status
  // Error answers: from a status to a name in components/responses. If the fragment has an answer of the same status,
  // that one is used instead.
  std::map<std::string_view, std::string_view> problems = {};
};

class Description {
 public:
  // `tables`: those that the frame's schemas refer to (schema.hpp). Texts and tables must outlive the description.
  // Throws std::logic_error if the frame or a fragment is not JSON.
  Description(std::string_view frame, std::span<const std::string_view> fragments,
              std::span<const json::FieldTable> tables);

  // The JSON of an operation in its fragment. Throws std::logic_error if no fragment has the operation.
  const json::Value& fragment(std::string_view method, std::string_view path) const;
  // Whether the operation has an answer of this status in its fragment. Throws as fragment().
  bool answers(std::string_view method, std::string_view path, std::string_view status) const;

  // Adds the operation to the document. Throws std::logic_error if no fragment has the operation, or if only one of
  // route and fragment has a request body.
  void add(const Operation& operation);

  // The document's text. The same routes and fragments always give the same text. Throws std::logic_error if a fragment
  // has an operation that was not added.
  std::string text() const;

 private:
  struct Prose {
    std::string_view tag;  // "": none
    json::Value value;     // the operation in the fragment
  };
  const Prose& prose_of(std::string_view method, std::string_view path) const;
  std::string& path_item(std::string_view path);

  json::Tree frame_tree_;
  json::Value frame_;
  std::span<const json::FieldTable> tables_;
  std::vector<json::Tree> trees_;
  std::map<std::string, Prose, std::less<>> fragments_;          // by "GET /v1/admin/plans"
  std::vector<std::pair<std::string_view, std::string>> paths_;  // path -> its operations, in the order of the routes
  std::set<std::string> added_;
};

}  // namespace sluice::openapi
