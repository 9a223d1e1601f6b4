// Files generated from rows of the pattern table: the nodes of a term in a
// choice of order, nesting and alternatives, with constants and inputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/rng.h>

#include "onnx/import/pattern.h"
#include "onnx_models.h"

namespace octet::io {

using importing::Pattern;
using importing::pattern::Term;

/// A sequence of choices: all sequences in turn, or random ones.
class Choices {
 public:
  int next(int count) {
    if (random_ != nullptr) {
      return static_cast<int>(random_->next() % static_cast<uint32_t>(count));
    }
    if (at_ == taken_.size()) taken_.push_back({0, count});
    return taken_[at_++].first;
  }
  /// Goes on to the next sequence; returns false after the last.
  bool advance() {
    at_ = 0;
    while (!taken_.empty() && ++taken_.back().first == taken_.back().second) {
      taken_.pop_back();
    }
    return !taken_.empty();
  }
  void draw_from(Rng& rng) { random_ = &rng; }

 private:
  std::vector<std::pair<int, int>> taken_;  // choice, count
  size_t at_ = 0;
  Rng* random_ = nullptr;
};

/// Shapes and values of a row's variables.
struct PatternSample {
  std::map<std::string, std::vector<int64_t>> inputs = {};  ///< with a batch
  std::map<std::string, onnx::TensorProto> constants = {};
  std::map<std::string, float> scalars = {};
  std::string shape_of = {};  ///< variable that is the shape of x
  std::vector<int64_t> axes = {-1};
};

inline const Pattern& pattern_row(const std::string& name) {
  for (const Pattern& row : importing::patterns()) {
    if (row.name == name) return row;
  }
  throw std::runtime_error("no row " + name);
}

/// Writes a term as nodes.
class PatternFile {
 public:
  PatternFile(const PatternSample& sample, Choices& choices)
      : sample_(sample), choices_(choices) {}

  /// Factor of the number with that index in the order of writing.
  int changed_number = -1;

  /// Returns a file whose output is the term; an intermediate value may be a
  /// second output, or be consumed by a Relu that is one.
  onnx::ModelProto write(const Term& term, int exposed = -1,
                         bool consumed = false) {
    model_ = model_of("g (float[N] none) => (float[N] y) { y = Relu (none) }");
    auto& graph = *model_.mutable_graph();
    graph.clear_node();
    graph.clear_input();
    graph.clear_output();
    std::string y = emit(term);
    count_ = graph.node_size();
    if (has_old_clip_) use_opset_10();
    if (graph.node(count_ - 1).op_type() == "Not") y = cast(y);
    add_output(y);
    if (exposed >= 0) {
      std::string value = graph.node(exposed).output(0);
      const std::string& op = graph.node(exposed).op_type();
      if (op == "Equal" || op == "Not") value = cast(value);
      if (consumed) value = add_node("Relu", {value}).output(0);
      add_output(value);
    }
    return model_;
  }
  /// Returns the number of nodes of the term, in the file before all others.
  int nodes() const { return count_; }
  int numbers() const { return numbers_; }

 private:
  onnx::NodeProto& add_node(const std::string& op,
                            const std::vector<std::string>& inputs) {
    auto& node = *model_.mutable_graph()->add_node();
    node.set_op_type(op);
    node.set_name(fmt::format("{}_{}", op, model_.graph().node_size()));
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(node.name() + "_out");
    return node;
  }
  void add_axes(onnx::NodeProto& node) const {
    auto& axes = *node.add_attribute();
    axes.set_name("axes");
    axes.set_type(onnx::AttributeProto::INTS);
    for (const int64_t axis : sample_.axes) axes.add_ints(axis);
  }
  /// Clip has its bounds as attributes, and ReduceSum its axes.
  void use_opset_10() {
    model_.mutable_opset_import(0)->set_version(10);
    for (auto& node : *model_.mutable_graph()->mutable_node()) {
      if (node.op_type() != "ReduceSum") continue;
      node.mutable_input()->RemoveLast();
      add_axes(node);
    }
  }
  std::string cast(const std::string& value) {
    auto& node = add_node("Cast", {value});
    auto& to = *node.add_attribute();
    to.set_name("to");
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(onnx::TensorProto::FLOAT);
    return node.output(0);
  }
  void add_output(const std::string& name) {
    auto& output = *model_.mutable_graph()->add_output();
    output.set_name(name);
    output.mutable_type()->mutable_tensor_type()->set_elem_type(
        onnx::TensorProto::FLOAT);
  }
  std::string number(double value) {
    if (numbers_++ == changed_number) {
      value = value == 0 ? 0.01 : value * 1.01;
    }
    const std::string name = fmt::format("k{}", numbers_);
    *model_.mutable_graph()->add_initializer() =
        float_tensor(name, {}, {static_cast<float>(value)});
    return name;
  }
  bool has(const std::string& initializer) const {
    return std::ranges::any_of(
        model_.graph().initializer(),
        [&](const auto& each) { return each.name() == initializer; });
  }

  std::string variable(const std::string& name) {
    auto& graph = *model_.mutable_graph();
    const auto constant = sample_.constants.find(name);
    if (constant != sample_.constants.end()) {
      if (!has(name)) {
        *graph.add_initializer() = constant->second;
        graph.mutable_initializer()->rbegin()->set_name(name);
      }
      return name;
    }
    if (name == sample_.shape_of) return add_node("Shape", {"x"}).output(0);
    for (const auto& input : graph.input()) {
      if (input.name() == name) return name;
    }
    auto& input = *graph.add_input();
    input.set_name(name);
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_param("N");
    for (const int64_t size : sample_.inputs.at(name)) {
      type.mutable_shape()->add_dim()->set_dim_value(size);
    }
    return name;
  }

  std::string emit(const Term& term) {
    switch (term.kind) {
      case Term::Kind::value:
      case Term::Kind::any:
      case Term::Kind::tensor:
        return variable(term.name);
      case Term::Kind::number:
        return number(term.number);
      case Term::Kind::scalar:
        if (!has(term.name)) {
          *model_.mutable_graph()->add_initializer() =
              float_tensor(term.name, {}, {sample_.scalars.at(term.name)});
        }
        return term.name;
      case Term::Kind::either:
        return emit(term.operands()[static_cast<size_t>(
            choices_.next(static_cast<int>(term.operands().size())))]);
      case Term::Kind::sum:
      case Term::Kind::product:
        return emit_all(term, (1U << term.operands().size()) - 1);
      case Term::Kind::node:
        return emit_node(term);
    }
    return "";
  }

  // A pair in a choice of order and nesting, or the inverse operator of a
  // number.
  std::string emit_all(const Term& term, unsigned operands) {
    std::vector<size_t> members;
    for (size_t i = 0; i < term.operands().size(); ++i) {
      if ((operands >> i & 1U) != 0) members.push_back(i);
    }
    if (members.size() == 1) return emit(term.operands()[members[0]]);
    const bool sum = term.kind == Term::Kind::sum;
    std::vector<size_t> inverses;
    for (const size_t i : members) {
      if (term.operands()[i].kind == Term::Kind::number) inverses.push_back(i);
    }
    const int splits = (1 << members.size()) - 2;
    const int choice =
        choices_.next(splits + static_cast<int>(inverses.size()));
    if (choice >= splits) {
      const size_t i = inverses[static_cast<size_t>(choice - splits)];
      const double k = term.operands()[i].number;
      const std::string rest = emit_all(term, operands & ~(1U << i));
      return add_node(sum ? "Sub" : "Div", {rest, number(sum ? -k : 1 / k)})
          .output(0);
    }
    unsigned left = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      if (((choice + 1) >> i & 1) != 0) left |= 1U << members[i];
    }
    const std::string a = emit_all(term, left);
    const std::string b = emit_all(term, operands & ~left);
    return add_node(sum ? "Add" : "Mul", {a, b}).output(0);
  }

  // Operators that other rows make are written as the terms of those rows.
  std::string emit_node(const Term& term) {
    const auto known = written_.find(key(term));
    if (known != written_.end()) return known->second;
    const size_t count = term.operands().size();
    std::string value;
    if (term.name == "LayerNormalization" && count <= 2) {
      value = emit(count == 1 ? pattern_row("LayerNorm").term
                              : pattern_row("scale of LayerNorm").term);
    } else if (term.name == "GroupNormalization") {
      value = emit(count == 1 ? pattern_row("GroupNorm").term
                              : pattern_row("scale of GroupNorm").term);
    } else {
      value = emit_operator(term);
    }
    written_[key(term)] = value;
    return value;
  }

  std::string emit_operator(const Term& term) {
    std::vector<std::string> inputs;
    for (const Term& operand : term.operands()) inputs.push_back(emit(operand));
    const bool commutes =
        term.name == "Max" || term.name == "Min" || term.name == "Equal";
    if (commutes && choices_.next(2) == 1) std::swap(inputs[0], inputs[1]);
    const bool reduces = term.name.starts_with("Reduce");
    if (reduces && term.name == "ReduceSum") {  // axes are an input
      onnx::TensorProto axes;
      axes.set_name("axes");
      axes.set_data_type(onnx::TensorProto::INT64);
      axes.add_dims(static_cast<int64_t>(sample_.axes.size()));
      for (const int64_t axis : sample_.axes) axes.add_int64_data(axis);
      if (!has("axes")) *model_.mutable_graph()->add_initializer() = axes;
      inputs.emplace_back("axes");
    }
    auto& node = add_node(term.name, inputs);
    if (reduces && term.name != "ReduceSum") add_axes(node);
    has_old_clip_ |= term.name == "Clip" && !term.attributes.empty();
    for (const auto& wanted : term.attributes) {
      auto& attribute = *node.add_attribute();
      attribute.set_name(wanted.name);
      attribute.set_type(onnx::AttributeProto::FLOAT);
      attribute.set_f(static_cast<float>(wanted.value));
    }
    return node.output(0);
  }

  /// Equal terms become one node.
  static std::string key(const Term& term) {
    std::string text = fmt::format("{}:{}:{}(", static_cast<int>(term.kind),
                                   term.name, term.number);
    for (const Term& operand : term.operands()) text += key(operand) + ",";
    return text + ")";
  }

  const PatternSample& sample_;
  Choices& choices_;
  onnx::ModelProto model_;
  std::map<std::string, std::string> written_;
  bool has_old_clip_ = false;
  int numbers_ = 0;
  int count_ = 0;
};

}  // namespace octet::io
