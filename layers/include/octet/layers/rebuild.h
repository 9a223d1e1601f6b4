// Rebuild: a new model in the making, node by node, beside the one it is made
// of. Rewriters say what takes the place of a node; the rest is copied, with
// its weights, names and flags, when somebody asks for it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include <octet/layers/model.h>

namespace octet {

class Rebuild {
 public:
  /// The model that is being copied.
  const Model& model() const { return model_; }

  /// What stands in the new model for a tensor that the node being rewritten
  /// comes after. Throws: ValueError for another tensor.
  SymbolicTensor at(const SymbolicTensor& old);
  /// Calls the copy of the node's layer on tensors of the new model.
  SymbolicTensor call(const GraphNode& node,
                      std::vector<SymbolicTensor> inputs);

  /// Of the copies made so far, for a layer that shares objects with them.
  CloneContext& context() { return context_; }

  /// How often the old model reads the output of a node: in other nodes and
  /// as its own output.
  int64_t uses(const GraphNode& node) const;
  /// Whether the old model calls the layer once, and no other layer has a
  /// parameter of it: nothing else changes where it is replaced.
  bool stands_alone(const Layer& layer) const;

 private:
  friend class Model;
  Rebuild(const Model& model, const Model::Rewriter& rewrite, CopyOf weights)
      : model_(model), rewrite_(rewrite), weights_(weights), counts_(model) {}

  // What the old model has, counted once.
  struct Counts {
    explicit Counts(const Model& model);
    std::unordered_map<const GraphNode*, int64_t> uses;  // of every node
    std::unordered_map<const Layer*, int64_t> calls;
    std::unordered_map<uint64_t, int64_t> owners;  // layers of each parameter
  };

  // The layer's copy, whose parameters finish() fills unless they are shared.
  const std::shared_ptr<Layer>& copy_of(const Layer& layer);
  void copy_before(size_t index);
  void replace(size_t index, SymbolicTensor replacement);
  void copy_parameters();
  Model finish();

  const Model& model_;
  const Model::Rewriter& rewrite_;
  const CopyOf weights_;
  CloneContext context_;
  std::map<const Layer*, std::shared_ptr<Layer>> copies_;
  std::unordered_map<const GraphNode*, SymbolicTensor> made_;
  const Counts counts_;
  size_t next_ = 0;   // the first node that is not made
  size_t limit_ = 0;  // the node being rewritten
};

}  // namespace octet
