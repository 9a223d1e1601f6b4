// Evaluation of operators that are graphs of others.
#include "onnx/normalize/formulas.h"

#include <memory>
#include <string>
#include <utility>

#include "constants.h"
#include "operators.h"

namespace octet::io::run {
namespace {

using formula::GraphValue;
using formula::Integers;

/// Evaluates each node as soon as it is added. Values without uses are freed.
class Evaluation final : public formula::FormulaGraph {
 public:
  explicit Evaluation(const NodeContext& context)
      : FormulaGraph(context.node(), context.opset()), context_(context) {}

  GraphValue input(size_t i) override {
    if (!context_.has_input(i)) return {};
    return constant(context_.input(i));
  }
  Integers dims(const GraphValue& value) const override {
    return sizes_of(*value.tensor);
  }
  int64_t type(const GraphValue& value) const override {
    return onnx_type_of(value.tensor->dtype());
  }
  GraphValue constant(const Tensor& value) override {
    return {"", std::make_shared<const Tensor>(value)};
  }
  [[noreturn]] void refuse(const std::string& problem) const override {
    context_.refuse(problem);
  }
  [[noreturn]] void unsupported(const std::string& problem) const override {
    context_.unsupported(problem);
  }

  GraphValue add(onnx::NodeProto node, const formula::GraphValues& inputs,
                 int64_t opset) override {
    std::vector<Tensor> tensors;
    for (const GraphValue& value : inputs) {
      tensors.push_back(value ? *value.tensor : Tensor());
    }
    node.add_output("y");
    const Operator run = find_operator(node);
    Tensor y = run(context_.inner(node, opset, tensors)).at(0);
    Budget& budget = context_.budget();
    if (budget.taken() == 0) return constant(y);  // elements of an input
    budget.hold(y);
    budget.settle();
    return {"", std::shared_ptr<const Tensor>(new Tensor(std::move(y)),
                                              [&budget](const Tensor* tensor) {
                                                budget.release(*tensor);
                                                delete tensor;
                                              })};
  }

 private:
  const NodeContext& context_;
};

}  // namespace

Values run_formula(const NodeContext& context, const formula::Formula& found) {
  Evaluation evaluation(context);
  Values outputs;
  for (const GraphValue& value : formula::outputs_of(evaluation, found)) {
    outputs.push_back(value ? *value.tensor : Tensor());
  }
  return outputs;
}

}  // namespace octet::io::run
