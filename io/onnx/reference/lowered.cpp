// Evaluation of operators that are graphs of others.
#include <memory>
#include <string>
#include <utility>

#include "constants.h"
#include "onnx/normalize/lowering.h"
#include "operators.h"

namespace octet::io::run {
namespace {

using lowering::Integers;
using lowering::Value;

/// Evaluates each node as soon as it is added. Values without uses are freed.
class Evaluation final : public lowering::Builder {
 public:
  explicit Evaluation(const NodeContext& context)
      : Builder(context.node(), context.opset()), context_(context) {}

  Value input(size_t i) override {
    if (!context_.has_input(i)) return {};
    return constant(context_.input(i));
  }
  Integers dims(const Value& value) const override {
    return dims_of(*value.tensor);
  }
  int64_t type(const Value& value) const override {
    return onnx_type_of(value.tensor->dtype());
  }
  Value constant(const Tensor& value) override {
    return {"", std::make_shared<const Tensor>(value)};
  }
  [[noreturn]] void refuse(const std::string& problem) const override {
    context_.refuse(problem);
  }
  [[noreturn]] void unsupported(const std::string& problem) const override {
    context_.unsupported(problem);
  }

  Value add(onnx::NodeProto node, const lowering::Values& inputs,
            int64_t opset) override {
    std::vector<Tensor> tensors;
    for (const Value& value : inputs) {
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

Values run_lowered(const NodeContext& context, const lowering::Row& row) {
  Evaluation evaluation(context);
  Values outputs;
  for (const Value& value : lowering::lowered(evaluation, row)) {
    outputs.push_back(value ? *value.tensor : Tensor());
  }
  return outputs;
}

}  // namespace octet::io::run
