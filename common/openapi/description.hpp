// Assembles the OpenAPI document of a program from its route table and from fragments of JSON.
//
// The frame is an OpenAPI document without operations: info, servers, tags, components. Its schemas may refer to tables
// of fields (schema.hpp). A fragment has the prose and the examples of the operations of one tag (README.md shows its
// members). A fragment does not repeat what follows from a route's properties: the program states that in an Operation.
//
// Thread safety: none; the document is assembled once, and its text is read only.
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

// What a route says of a successful answer. If the fragment has a description for the answer, that one is used instead.
// Headers of the fragment are added to `headers`.
struct Success {
  std::string_view description;
  std::vector<std::string_view> headers;  // components/headers
};

// What a route says of its operation.
struct Operation {
  std::string_view method;
  std::string_view path;                                    // "/v1/admin/plans/{id}"
  bool open = false;                                        // needs no credential
  bool head = false;                                        // HEAD is answered too
  std::string needs = {};                                   // a sentence, added to the fragment's description
  std::map<std::string_view, std::string> extensions = {};  // "x-level": "tenant"
  std::vector<std::string_view> parameters = {};            // components/parameters, after the fragment's
  std::vector<std::string_view> media = {};                 // types of the request body; empty: no body
  std::map<std::string_view, Success> successes = {};       // by status; only those that the fragment names are used
  std::map<std::string_view, std::string_view> problems =
      {};  // status -> components/responses; not used if the fragment has this status
};

class Description {
 public:
  // `tables`: those that the frame's schemas refer to (schema.hpp). Texts and tables must outlive the description.
  // Throws std::logic_error where a text is not JSON.
  Description(std::string_view frame, std::span<const std::string_view> fragments,
              std::span<const json::FieldTable> tables);

  // What the fragments say of an operation. Throws std::logic_error where they say nothing.
  const json::Value& fragment(std::string_view method, std::string_view path) const;
  // Whether the fragment of the operation itself names an answer of this status.
  bool answers(std::string_view method, std::string_view path, std::string_view status) const;

  void add(const Operation& operation);

  // The document's text, the same for the same routes. Throws std::logic_error where a fragment has an operation that
  // was not added.
  std::string text() const;

 private:
  struct Prose {
    std::string_view tag;  // "": none
    json::Value value;
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
