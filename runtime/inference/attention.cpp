// Recognizes attention in a trace: matmul, pointwise ops, softmax, matmul.
#include "ops/attention.h"

#include <cmath>
#include <initializer_list>
#include <memory>
#include <optional>
#include <utility>

#include "axis_strides.h"
#include "passes.h"

namespace octet::inference {
namespace {

using Kind = ScoreOp::Kind;

// Returns the layout of an operand that is broadcast to `shape`: the rows of
// its last axis, in order, are the rows of `heads` matrices. Empty if the rows
// of a matrix are not equally spaced.
std::optional<MatrixLayout> layout_of(const AxisStrides& s, const Shape& shape,
                                      int64_t heads, int64_t rows) {
  const auto stride = [&](int axis) {
    const int own = static_cast<int>(s.rank()) - shape.rank() + axis;
    return own < 0 ? 0 : s.strides[static_cast<size_t>(own)];
  };
  const auto offset = [&](int64_t index) {
    int64_t at = 0;
    for (int axis = shape.rank() - 2; axis > 0; --axis) {
      at += index % shape[axis] * stride(axis);
      index /= shape[axis];
    }
    return at;
  };
  MatrixLayout layout{.offsets = {},
                      .sample = s.sample,
                      .row = rows > 1 ? offset(1) - offset(0) : 0,
                      .column = stride(shape.rank() - 1)};
  for (int64_t head = 0; head < heads; ++head) {
    const int64_t first = offset(head * rows);
    layout.offsets.push_back(first);
    for (int64_t row = 1; row < rows; ++row) {
      if (offset(head * rows + row) != first + row * layout.row) return {};
    }
  }
  return layout;
}

constexpr int kMostOps = 8;           // between scores and softmax
constexpr int64_t kMostPadding = 15;  // of keys to whole vectors

class Matcher {
 public:
  Matcher(const Trace& trace,
          const std::unordered_map<uint64_t, int>& consumers)
      : trace_(trace), consumers_(consumers) {}

  // Returns the node that replaces a product and, if possible, the transpose
  // after it; empty if the product is no attention.
  std::optional<TraceNode> match(const TraceNode& product,
                                 const TraceNode* transpose) {
    const auto& values = std::get<MatrixProduct>(product.attributes);
    const Shape& weights = trace_.node(product.inputs[0]).shape;
    const int rank = product.shape.rank();
    if (values.quantized || values.options.transpose_a || rank < 3 ||
        weights.rank() != rank ||
        weights.slice(0, rank - 2) != product.shape.slice(0, rank - 2)) {
      return {};
    }
    const TraceNode* scores = find_scores(product);
    if (scores == nullptr || scores->shape != weights) return {};
    const auto& keys = std::get<MatrixProduct>(scores->attributes);
    a_.heads = weights.slice(1, rank - 2).size();
    a_.queries = weights[-2];
    a_.keys = weights[-1];
    a_.channels = product.shape[-1];
    if (a_.heads * a_.queries * a_.keys * a_.channels == 0) return {};
    if (keys.quantized ||
        !add_matrix(scores->inputs[0], keys.options.transpose_a, weights, 0) ||
        !add_matrix(scores->inputs[1], !keys.options.transpose_b, weights, 1) ||
        !add_matrix(product.inputs[1], values.options.transpose_b, weights,
                    2) ||
        a_.depth == 0) {
      return {};
    }
    for (size_t i = ops_.size(); i-- > 0;) {
      if (!add_op(*ops_[i])) return {};
    }
    fold_scales();
    return node_of(product, set_output(product, transpose));
  }

 private:
  // Returns the producer of a value without other consumers, before reshapes
  // that keep the rows; or null.
  const TraceNode* producer_of(uint64_t id) const {
    for (;;) {
      const auto found = consumers_.find(id);
      const bool single = found != consumers_.end() && found->second == 1;
      if (!single || !trace_.is_traced(id)) return nullptr;
      const TraceNode& node = trace_.node(id);
      if (node.op != "reshape") return &node;
      id = node.inputs[0];
      const Shape& before = trace_.node(id).shape;
      if (before.rank() < 2 || node.shape.rank() < 2 ||
          before[-1] != node.shape[-1]) {
        return nullptr;
      }
    }
  }

  // Returns the product whose softmax is the left operand of `product`, or
  // null; appends the pointwise ops between, the last first.
  const TraceNode* find_scores(const TraceNode& product) {
    const TraceNode* node = producer_of(product.inputs[0]);
    if (node == nullptr) return nullptr;
    const auto* softmax = std::get_if<SoftmaxAxis>(&node->attributes);
    if (softmax == nullptr || softmax->axis != node->shape.rank() - 1) {
      return nullptr;
    }
    for (int operand = 0;;) {
      node = producer_of(node->inputs[static_cast<size_t>(operand)]);
      if (node == nullptr) return nullptr;
      if (std::holds_alternative<MatrixProduct>(node->attributes)) return node;
      operand = score_operand(*node);
      if (operand < 0) return nullptr;
      ops_.push_back(node);
    }
  }

  // Returns the input of a pointwise op that depends on scores, or -1. Other
  // inputs are masks. Follows up to `most` ops.
  int score_operand(const TraceNode& node, int most = kMostOps) const {
    const auto first_of = [&](std::initializer_list<int> operands) {
      for (const int i : operands) {
        if (depends_on_scores(node, i, most)) return i;
      }
      return -1;
    };
    if (std::holds_alternative<ScaleShift>(node.attributes)) {
      return first_of({0});
    }
    if (node.op == "add") {
      const auto* e = node.expression();
      return e != nullptr && is_plain_sum(*e) ? first_of({0, 1}) : -1;
    }
    if (node.op == "broadcast_add" || node.op == "multiply") {
      return first_of({0, 1});
    }
    if (node.op == "divide") return first_of({0});
    return node.op == "where" ? first_of({1, 2}) : -1;
  }

  bool depends_on_scores(const TraceNode& node, int input, int most) const {
    const uint64_t id = node.inputs[static_cast<size_t>(input)];
    // Broadcast values are no scores.
    if (most == 0 || trace_.node(id).shape != node.shape) return false;
    const TraceNode* producer = producer_of(id);
    if (producer == nullptr) return false;
    return std::holds_alternative<MatrixProduct>(producer->attributes) ||
           score_operand(*producer, most - 1) >= 0;
  }

  // Whether a deferred sum is that of two tensors; it may turn -0 into +0,
  // which softmax ignores.
  static bool is_plain_sum(const autograd::Expression& e) {
    const auto plain = [](const autograd::Term& t) {
      return !t.scaled() && t.low == -autograd::kInfinity &&
             t.high == autograd::kInfinity && t.qparams.empty();
    };
    return e.second && plain(e.first) && plain(*e.second) && !e.clipped() &&
           e.qparams.empty();
  }

  // Adds query (0), key (1) or value (2), possibly with exchanged rows and
  // columns.
  bool add_matrix(uint64_t id, bool exchanged, const Shape& weights,
                  int operand) {
    if (trace_.node(id).shape.rank() != weights.rank()) return false;
    const auto unit = [](const AxisStrides& s, size_t from_end) {
      const size_t axis = s.rank() - from_end;
      return s.strides[axis] == 1 || s.dims[axis] == 1;
    };
    // A view that the kernels read, or the value itself.
    for (AxisStrides s : {view_of(trace_, id), strides_of(trace_, id)}) {
      if (exchanged) s.transpose_matrices();
      if (!unit(s, 1) && (operand == 0 || !unit(s, 2))) continue;
      const int64_t rows = s.dims[s.rank() - 2];
      const int64_t columns = s.dims[s.rank() - 1];
      auto layout = layout_of(s, weights.with(-2, rows), a_.heads, rows);
      if (!layout) return false;
      // Of a single row or column, the stride is arbitrary.
      if (columns == 1) layout->column = 1;
      if (rows == 1 && layout->column != 1) layout->row = 1;
      if (operand == 0) a_.depth = columns;
      inputs_.push_back(s.id);
      a_.inputs.push_back(std::move(*layout));
      return true;
    }
    return false;
  }

  // Adds an operand of a pointwise op; returns its input, or -1.
  int add_mask(uint64_t id, const Shape& shape) {
    auto layout =
        layout_of(strides_of(trace_, id), shape, a_.heads, a_.queries);
    if (!layout) return -1;
    inputs_.push_back(id);
    a_.inputs.push_back(std::move(*layout));
    return static_cast<int>(inputs_.size()) - 1;
  }

  bool add_op(const TraceNode& node) {
    ScoreOp op;
    if (const auto* affine = std::get_if<ScaleShift>(&node.attributes)) {
      op.scale = affine->scale;
      op.shift = affine->shift;
      a_.ops.push_back(op);
      return true;
    }
    const int scores = score_operand(node);
    const auto mask = [&](int i) {
      return add_mask(node.inputs[static_cast<size_t>(i)], node.shape);
    };
    if (node.op == "where") {
      op.kind = scores == 1 ? Kind::where : Kind::where_not;
      op.condition = mask(0);
      op.operand = mask(3 - scores);
      if (op.condition < 0) return false;
    } else {
      op.kind = node.op == "multiply" ? Kind::multiply
                : node.op == "divide" ? Kind::divide
                                      : Kind::add;
      op.operand = mask(1 - scores);
    }
    a_.ops.push_back(op);
    return op.operand >= 0;
  }

  // Leaves a last multiplication by a positive number to the softmax, and a
  // first one to the product. Both may turn +0 into -0, which softmax ignores.
  void fold_scales() {
    fold_last_scale();
    if (a_.ops.empty()) return;
    const ScoreOp& first = a_.ops.front();
    if (first.kind != Kind::scale_shift || first.shift != 0) return;
    a_.rescale.assign(static_cast<size_t>(a_.keys + kMostPadding), first.scale);
    a_.ops.erase(a_.ops.begin());
  }

  void fold_last_scale() {
    if (a_.ops.empty()) return;
    const ScoreOp& last = a_.ops.back();
    float scale = last.scale;
    if (last.kind == Kind::multiply) {
      const Tensor* value =
          trace_.node(inputs_[static_cast<size_t>(last.operand)]).constant();
      if (value == nullptr || value->size() != 1) return;
      scale = value->f32()[0];
    } else if (last.kind != Kind::scale_shift || last.shift != 0) {
      return;
    }
    if (!(scale > 0) || !std::isfinite(scale)) return;
    a_.scale = scale;
    a_.ops.pop_back();
  }

  // Lays out the result as the output of the product, or of the transpose if
  // that writes contiguous channels. Returns that node.
  const TraceNode& set_output(const TraceNode& product,
                              const TraceNode* transpose) {
    const TraceNode* root = &product;
    AxisStrides out = strides_of(trace_, product.id);
    if (transpose != nullptr) {
      const auto& axes = std::get<AxisOrder>(transpose->attributes).axes;
      std::vector<int> back(axes.size());
      for (size_t k = 0; k < axes.size(); ++k) {
        back[static_cast<size_t>(axes[k])] = static_cast<int>(k);
      }
      AxisStrides moved = strides_of(trace_, transpose->id);
      moved.transpose(back);
      if (moved.strides.back() == 1 || a_.channels == 1) {
        out = std::move(moved);
        root = transpose;
      }
    }
    a_.output = *layout_of(out, product.shape, a_.heads, a_.queries);
    if (a_.queries == 1) a_.output.row = a_.channels;
    return *root;
  }

  TraceNode node_of(const TraceNode& product, const TraceNode& root) {
    auto attention = std::make_shared<const Attention>(std::move(a_));
    return {.layer = product.layer,
            .op = "attention",
            .inputs = inputs_,
            .attributes = {},
            .forward = [attention](std::span<const Tensor> in,
                                   Tensor& y) { attend(*attention, in, y); },
            .shape = root.shape,
            .qparams = {},
            .broadcasts = true,
            .id = root.id};
  }

  const Trace& trace_;
  const std::unordered_map<uint64_t, int>& consumers_;
  Attention a_;
  std::vector<uint64_t> inputs_;
  std::vector<const TraceNode*> ops_;  // pointwise, the last first
};

}  // namespace

void fuse_attention(Trace& trace) {
  std::unordered_map<uint64_t, int> consumers;
  std::unordered_map<uint64_t, const TraceNode*> transposes;  // by input
  for (const TraceNode& node : trace.nodes()) {
    for (const uint64_t id : node.inputs) ++consumers[id];
    if (std::holds_alternative<AxisOrder>(node.attributes)) {
      transposes[node.inputs[0]] = &node;
    }
  }
  for (const uint64_t id : trace.outputs) ++consumers[id];
  std::vector<TraceNode> fused;
  for (const TraceNode& node : trace.nodes()) {
    if (!std::holds_alternative<MatrixProduct>(node.attributes)) continue;
    const auto transpose = transposes.find(node.id);
    const bool follows =
        transpose != transposes.end() && consumers[node.id] == 1;
    auto match = Matcher(trace, consumers)
                     .match(node, follows ? transpose->second : nullptr);
    if (match) fused.push_back(std::move(*match));
  }
  for (TraceNode& node : fused) trace.replace(std::move(node));
}

}  // namespace octet::inference
