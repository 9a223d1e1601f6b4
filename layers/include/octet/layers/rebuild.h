// Rebuild: state of Model::rebuild(), which builds a new model node by node.
// Rewriters replace nodes; all other nodes are copied with weights, names and
// flags, on demand.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include <octet/layers/model.h>

namespace octet {

/// State of Model::rebuild(), passed to its rewriter.
class Rebuild {
 public:
  /// The original model.
  const Model& model() const { return model_; }

  /// Returns the counterpart in the new model of a tensor computed before the
  /// node being rewritten. Throws: ValueError for another tensor.
  SymbolicTensor at(const SymbolicTensor& old);
  /// Calls the copy of the node's layer on tensors of the new model.
  SymbolicTensor call(const GraphNode& node,
                      std::vector<SymbolicTensor> inputs);

  /// The copies made so far, for a layer that shares objects with them.
  CloneContext& context() { return context_; }

  /// Returns the number of uses of a node's output: inputs of other nodes, and
  /// outputs of the model.
  int64_t uses(const GraphNode& node) const;
  /// Returns whether the original model calls the layer once and no other layer
  /// shares its parameters, so that replacing it affects nothing else.
  bool stands_alone(const Layer& layer) const;

 private:
  friend class Model;
  Rebuild(const Model& model, const Model::Rewriter& rewrite, Weights weights)
      : model_(model), rewrite_(rewrite), weights_(weights), counts_(model) {}

  // Usage counts in the original model.
  struct Counts {
    explicit Counts(const Model& model);
    std::unordered_map<const GraphNode*, int64_t> uses;  // of every node
    std::unordered_map<const Layer*, int64_t> calls;
    std::unordered_map<uint64_t, int64_t> owners;  // layers per parameter
  };

  // Returns the layer's copy. finish() copies its parameters unless they are
  // shared.
  const std::shared_ptr<Layer>& copy_of(const Layer& layer);
  void copy_before(size_t index);
  void replace(size_t index, SymbolicTensor replacement);
  void copy_parameters();
  Model finish();

  const Model& model_;
  const Model::Rewriter& rewrite_;
  const Weights weights_;
  CloneContext context_;
  std::map<const Layer*, std::shared_ptr<Layer>> copies_;
  std::unordered_map<const GraphNode*, SymbolicTensor> made_;
  const Counts counts_;
  size_t next_ = 0;   // first node without a counterpart
  size_t limit_ = 0;  // the node being rewritten
};

}  // namespace octet
