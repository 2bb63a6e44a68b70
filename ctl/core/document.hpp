// A JSON document together with the memory of its values.
//
// Thread safety: none.
#pragma once

#include <expected>
#include <memory>
#include <string_view>

#include "common/json/tree.hpp"

namespace sluice::ctl {

class Document {
 public:
  static std::expected<Document, Fault> parse(std::string_view text) {
    Document document;
    auto root = document.tree_->parse(text);
    if (!root) return std::unexpected(std::move(root).error());
    document.root_ = *root;
    return document;
  }

  json::Value root() const { return root_; }
  json::Tree& tree() { return *tree_; }

 private:
  std::unique_ptr<json::Tree> tree_ = std::make_unique<json::Tree>();
  json::Value root_;
};

}  // namespace sluice::ctl
