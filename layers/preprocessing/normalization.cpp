#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/preprocessing.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "base/checks.h"
#include "base/fields.h"
#include "base/keras_lists.h"
#include "base/make_layer.h"

namespace octet {

template <class Visitor>
static void fields(Visitor& v, NormalizationOptions& o) {
  v("axis", o.axis);
  v("mean", o.mean);
  v("variance", o.variance);
  v("invert", o.invert);
}

namespace {

// Source: Keras, backend.epsilon().
constexpr float kLeastDeviation = 1e-7f;
// Samples per batch of adapt().
constexpr int64_t kBatch = 256;

using Batches = std::function<Tensor(int64_t first, int64_t count)>;

class NormalizationLayer final : public Layer {
 public:
  explicit NormalizationLayer(const NormalizationOptions& options)
      : o_(options) {
    if (o_.mean.size() != o_.variance.size()) {
      throw ValueError(
          "count_mismatch", "mean, variance",
          fmt::format("must have equal lengths, got {} and {} numbers",
                      o_.mean.size(), o_.variance.size()));
    }
    for (size_t i = 0; i < o_.mean.size(); ++i) {
      if (!std::isfinite(o_.mean[i]) || !std::isfinite(o_.variance[i]) ||
          o_.variance[i] < 0) {
        throw ValueError(
            "out_of_range", "mean, variance",
            fmt::format(
                "must be finite, with variances of at least 0, got {} and {}",
                o_.mean[i], o_.variance[i]));
      }
    }
  }

  std::string class_name() const override { return "Normalization"; }
  Config config() const override { return write_fields(o_); }

  Shape output_shape(std::span<const Shape> inputs) const override {
    const Shape& x = single_input(inputs);
    const int64_t size = kept(x).size();
    const auto count = static_cast<int64_t>(o_.mean.size());
    if (count > 1 && count != size) {
      throw ShapeError(
          "count_mismatch", "mean",
          fmt::format("must have 1 number or {} for the axes of {}, got {}",
                      size, x.to_string(), count));
    }
    if (built() && (x.rank() != input_.rank() || kept(x) != kept(input_))) {
      throw ShapeError("shape_mismatch", "input",
                       fmt::format("must agree with {} of the first call in "
                                   "rank and in the axes with "
                                   "statistics, got {}",
                                   input_.to_string(), x.to_string()));
    }
    return x;
  }

  void build(std::span<const Shape> inputs) override {
    input_ = inputs[0];
    if (given()) return;
    const Shape shape = kept(input_);
    mean_ = add_parameter("mean", shape, {.trainable = false});
    variance_ = add_parameter("variance", shape,
                              {.initializer = ones(), .trainable = false});
    // Stored by Keras, so files and parameter counts include it.
    count_ = add_parameter("count", {}, {.trainable = false});
  }

  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    const Variable m(mean());
    const Variable d(deviation());
    if (o_.invert) return add(multiply(inputs[0], d), m);
    return divide(subtract(inputs[0], m), d);
  }

  OnnxValue emit(EmitContext& context,
                 std::span<const OnnxValue> inputs) const override {
    OnnxValue y = inputs[0];
    const auto constant = [&](const char* name, const Tensor& value) {
      return context.builder().add_initializer(context.layer() + "/" + name,
                                               value);
    };
    const std::string m = constant("mean", mean());
    const std::string d = constant("deviation", deviation());
    y.name =
        context.node(o_.invert ? "Mul" : "Sub", {y.name, o_.invert ? d : m});
    y.name =
        context.node(o_.invert ? "Add" : "Div", {y.name, o_.invert ? m : d});
    return y;
  }

  void initialize_once(const Rng& rng) override {
    Layer::initialize_once(rng);
    initialized_ = true;
    if (adapted_.empty()) return;
    assign(adapted_);
    adapted_.clear();
  }

  void adapt(const Shape& data, const Batches& batches) {
    if (given()) {
      throw ValueError("conflicting_options", "adapt",
                       "the layer has given statistics");
    }
    if (data[0] < 1) {
      throw ValueError("missing_value", "adapt", "the data has no samples");
    }
    const Shape sample = data.with(0, Shape::kAnySize);
    (void)output_shape(std::span(&sample, 1));
    build_once(std::span(&sample, 1));
    if (sample != input_) {
      throw ShapeError("shape_mismatch", "adapt",
                       fmt::format("data must be {}, got {}",
                                   input_.to_string(), data.to_string()));
    }
    std::vector<Tensor> statistics = statistics_of(data, batches);
    assign(statistics);
    // Model construction initializes the layers later.
    if (!initialized_) adapted_ = std::move(statistics);
  }

 private:
  void assign(const std::vector<Tensor>& statistics) {
    at(mean_).variable.assign(statistics[0]);
    at(variance_).variable.assign(statistics[1]);
    at(count_).variable.assign(statistics[2]);
  }

  bool given() const { return !o_.mean.empty(); }

  bool keeps(const Shape& x, int axis) const {
    return std::ranges::any_of(o_.axis, [&](int64_t kept_axis) {
      return (kept_axis + x.rank()) % x.rank() == axis;
    });
  }

  // Returns the sizes of the axes with separate statistics.
  Shape kept(const Shape& x) const {
    for (const int64_t axis : o_.axis) {
      if (axis < -x.rank() || axis >= x.rank() || axis == 0 ||
          axis == -x.rank()) {
        throw ValueError(
            "out_of_range", "axis",
            fmt::format("must be an axis of {} other than the batch, got {}",
                        x.to_string(), axis));
      }
    }
    std::vector<int64_t> dims;
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (keeps(x, axis)) dims.push_back(x[axis]);
    }
    return Shape(dims);
  }

  // Returns `values` in the shape that broadcasts to the input.
  Tensor placed(const Tensor& values) const {
    Shape shape = input_;
    for (int axis = 0; axis < input_.rank(); ++axis) {
      if (values.size() == 1 || !keeps(input_, axis)) {
        shape = shape.with(axis, 1);
      }
    }
    return values.reshaped(shape);
  }

  Tensor statistic(const std::vector<float>& numbers, size_t index) const {
    if (!given()) return placed(at(index).variable.value());
    return placed(
        Tensor::of<float>({static_cast<int64_t>(numbers.size())}, numbers));
  }
  Tensor mean() const { return statistic(o_.mean, mean_); }
  Tensor deviation() const {
    Tensor result = statistic(o_.variance, variance_).clone();
    for (float& v : result.f32()) v = std::max(std::sqrt(v), kLeastDeviation);
    return result;
  }

  // In two passes, mean first, so that the variance is no difference of large
  // numbers.
  std::vector<Tensor> statistics_of(const Shape& data,
                                    const Batches& batches) const {
    const Shape shape = kept(data);
    const Shape sample = data.slice(1, data.rank());
    const size_t size = static_cast<size_t>(sample.size());
    // Index of the statistic of each element of a sample.
    std::vector<size_t> slot(size, 0);
    for (size_t i = 0; i < size; ++i) {
      auto rest = static_cast<int64_t>(i);
      int64_t step = 1;
      for (int axis = data.rank() - 1; axis > 0; --axis) {
        if (keeps(data, axis)) {
          slot[i] += static_cast<size_t>(rest % data[axis] * step);
          step *= data[axis];
        }
        rest /= data[axis];
      }
    }
    const size_t slots = static_cast<size_t>(shape.size());
    const double count =
        static_cast<double>(data[0]) *
        (static_cast<double>(size) / static_cast<double>(slots));
    std::vector<double> means(slots, 0.0);
    std::vector<double> variances(slots, 0.0);
    const auto each = [&](const auto& take) {
      for (int64_t first = 0; first < data[0]; first += kBatch) {
        const Tensor batch = batches(first, std::min(kBatch, data[0] - first));
        const auto values = batch.f32();
        for (size_t i = 0; i < values.size(); ++i) {
          take(slot[i % size], values[i]);
        }
      }
    };
    each([&](size_t k, float v) { means[k] += v; });
    for (double& m : means) m /= count;
    each([&](size_t k, float v) {
      variances[k] += (v - means[k]) * (v - means[k]);
    });
    Tensor mean(shape);
    Tensor variance(shape);
    for (size_t k = 0; k < slots; ++k) {
      mean.f32()[k] = static_cast<float>(means[k]);
      variance.f32()[k] = static_cast<float>(variances[k] / count);
    }
    return {mean, variance, Tensor::scalar(static_cast<float>(data[0]))};
  }

  NormalizationOptions o_;
  Shape input_;
  size_t mean_ = 0;
  size_t variance_ = 0;
  size_t count_ = 0;
  bool initialized_ = false;
  std::vector<Tensor> adapted_;  // mean, variance, count until initialized
};

}  // namespace

Normalization::Normalization(const NormalizationOptions& options)
    : LayerHandle(make_layer<NormalizationLayer>("Normalization", options)) {}

void Normalization::adapt(const Dataset& data) const {
  std::vector<int64_t> dims{data.size()};
  const Shape sample = data.input_shape();
  dims.insert(dims.end(), sample.dims().begin(), sample.dims().end());
  with_context([&] { return layer()->describe(); },
               [&] {
                 static_cast<NormalizationLayer&>(**this).adapt(
                     Shape(dims), [&](int64_t first, int64_t count) {
                       return data.batch(first, count).input();
                     });
               });
}

void Normalization::adapt(const Tensor& data) const {
  with_context(
      [&] { return layer()->describe(); },
      [&] {
        if (data.empty() || data.shape().rank() < 2) {
          throw ShapeError(
              "invalid_shape", "adapt",
              fmt::format("data must be [n,...,c], got {}",
                          data.empty() ? "none" : data.shape().to_string()));
        }
        static_cast<NormalizationLayer&>(**this).adapt(
            data.shape(), [&](int64_t first, int64_t count) {
              return data.slice(first, count);
            });
      });
}

static void upgrade_normalization(Config& config) {
  flatten_list(config, "mean");
  flatten_list(config, "variance");
}

extern const LayerDef normalization_def;
const LayerDef normalization_def{
    .class_name = "Normalization",
    .create = [](const Config& config) -> std::shared_ptr<Layer> {
      return std::make_shared<NormalizationLayer>(
          read_fields<NormalizationOptions>(config));
    },
    .keras = {.layout = KerasLayout::statistics,
              .upgrade = upgrade_normalization},
};

}  // namespace octet
