// The table of patterns. Nodes are visited in graph order, so that a row may
// contain the result of another row.
#include <cmath>
#include <numbers>

#include "pattern.h"
#include "pattern_conditions.h"

namespace octet::io::importing {
namespace pattern {
namespace {

Term power(const Term& t, int exponent) {
  const std::vector<Term> factors(static_cast<size_t>(exponent), t);
  return either(
      {Term(Term::Kind::product, "", factors), node("Pow", t, exponent)});
}
Term square(const Term& t) { return power(t, 2); }
Term square_root(const Term& t) {
  return either({node("Sqrt", t), node("Pow", t, 0.5)});
}
Term inverse(const Term& t) {
  return either({node("Reciprocal", t), node("Div", 1, t), node("Pow", t, -1)});
}
Term inverse_root(const Term& t) {
  return either({inverse(square_root(t)), node("Pow", t, -0.5)});
}
/// a / sqrt(b).
Term over_root(const Term& a, const Term& b) {
  return either({node("Div", a, square_root(b)), a * inverse_root(b)});
}
Term negative(const Term& t) { return either({node("Neg", t), t * -1}); }
Term mean(const Term& t) { return node("ReduceMean", t); }

/// max(t, low); `low` is an attribute of Clip in opsets before 11.
Term at_least(const Term& t, double low) {
  return either({node("Max", t, low), node("Clip", t, low),
                 node("Clip", t).with("min", low, NAN)});
}
Term clipped(const Term& t, double low, double high) {
  return either({node("Clip", t, low, high),
                 node("Clip", t).with("min", low, NAN).with("max", high, NAN),
                 node("Min", at_least(t, low), high)});
}
Term relu6(const Term& t) {
  return either({clipped(t, 0, 6), node("Min", node("Relu", t), 6)});
}

/// t / 2 * (1 + f).
Term gated(const Term& t, const Term& f) {
  return either({t * 0.5 * (1 + f), t * (f * 0.5 + 0.5)});
}
Term gelu(const Term& x) {
  return gated(x, node("Erf", x / std::numbers::sqrt2));
}
Term gelu_by_tanh(const Term& x) {
  const double scale = std::sqrt(2 / std::numbers::pi), cubic = 0.044715;
  return gated(x, node("Tanh", either({(x + power(x, 3) * cubic) * scale,
                                       x * (1 + x * x * cubic) * scale,
                                       x * (1 + square(x) * cubic) * scale})));
}

Term variance(const Term& x) {
  return either({mean(square(x - mean(x))), mean(square(x)) - square(mean(x))});
}
Term standardized(const Term& x) {
  return over_root(x - mean(x), variance(x) + scalar("epsilon"));
}
/// standardized(x) * factor + offset, in which x and its mean are scaled
/// separately.
Term standardized_in_two_sums(const Term& x) {
  const Term scale =
      inverse_root(variance(x) + scalar("epsilon")) * tensor("factor");
  return x * scale + (tensor("offset") - mean(x) * scale);
}
Term l2_norm(const Term& x) {
  return either({node("ReduceL2", x), square_root(node("ReduceSum", square(x))),
                 square_root(node("ReduceSumSquare", x))});
}

Term attention() {
  const Term scores = node("MatMul", value("query"), value("key"));
  const Term factor = any("factor"), divisor = any("divisor");
  const Term divided = either({scores, node("Div", scores, divisor)});
  const Term scaled = either(
      {divided, node("Mul", divided, factor), node("Mul", factor, divided)});
  const Term masked =
      either({scaled, scaled + tensor("mask"),
              node("Where", any("visible"), scaled, tensor("low")),
              node("Where", any("hidden"), tensor("low"), scaled)});
  return node("MatMul", node("Softmax", masked), value("value"));
}

std::vector<Pattern> activations() {
  const Term x = value("x");
  const Term one_plus_exp = 1 + node("Exp", negative(x));
  const Term hard_sigmoid =
      node("HardSigmoid", x).with("alpha", 1.0 / 6, 0.2).with("beta", 0.5, 0.5);
  const Term line = x * scalar("alpha") + scalar("beta");
  return {
      {"Sigmoid", "Darknet", inverse(one_plus_exp), "Sigmoid(x)"},
      {"SiLU", "PyTorch, Keras", x * node("Sigmoid", x), "Swish(x)"},
      {"SiLU by Exp", "Darknet", node("Div", x, one_plus_exp), "Swish(x)"},
      {"Softplus", "Darknet", node("Log", 1 + node("Exp", x)), "Softplus(x)"},
      {"Mish", "PyTorch, YOLOv4", x * node("Tanh", node("Softplus", x)),
       "Mish(x)"},
      {"HardSigmoid", "PyTorch, Keras 3", relu6(x + 3) / 6, "HardSigmoid(x)",
       sets_alpha},
      {"HardSigmoid by a line", "Keras 2", clipped(line, 0, 1),
       "HardSigmoid(x)"},
      {"HardSwish", "PyTorch, Keras", x * relu6(x + 3) / 6, "HardSwish(x)"},
      {"HardSwish by HardSigmoid", "PyTorch before opset 14", x * hard_sigmoid,
       "HardSwish(x)"},
      {"LeakyReLU", "Darknet, tf2onnx", node("Max", x, x * scalar("alpha")),
       "LeakyRelu(x)", is_slope},
      {"GELU", "PyTorch before opset 20, Keras, tf2onnx", gelu(x), "Gelu(x)"},
      {"GELU by tanh", "PyTorch, Keras, Hugging Face", gelu_by_tanh(x),
       "Gelu(x)", sets_tanh},
  };
}

std::vector<Pattern> normalizations() {
  const Term x = value("x"), factor = tensor("factor"),
             offset = tensor("offset");
  const auto layer_norm = [&](auto... inputs) {
    return node("LayerNormalization", x, inputs...);
  };
  const auto group_norm = [&](auto... inputs) {
    return node("GroupNormalization", x, inputs...).with(kFromParts, 1, 0);
  };
  const Term scale = any("scale");
  const Term rms = over_root(x, mean(square(x)) + scalar("epsilon"));
  const Term split_groups =
      node("InstanceNormalization", node("Reshape", x, any("split")),
           tensor("ones"), tensor("zeros"));
  const Term norm = at_least(l2_norm(x), 1e-12);
  return {
      {"LayerNorm", "PyTorch before opset 17, Keras", standardized(x),
       "LayerNormalization(x)", is_over_one_axis},
      {"LayerNorm in two sums", "tf.nn.batch_normalization in Keras",
       standardized_in_two_sums(x), "LayerNormalization(x,factor,offset)",
       is_over_one_axis},
      {"scale of LayerNorm", "as LayerNorm", layer_norm() * factor,
       "LayerNormalization(x,factor)", is_along_normalized_axis},
      {"bias of LayerNorm", "as LayerNorm",
       either({layer_norm(), layer_norm(scale)}) + offset,
       "LayerNormalization(x,scale,offset)", is_along_normalized_axis},
      {"RMSNorm", "PyTorch, Hugging Face LLaMA", rms * factor,
       "RMSNormalization(x,factor)", is_over_the_last_axis},
      {"InstanceNorm", "tf2onnx", standardized(x), "GroupNormalization(x)",
       is_over_images},
      {"GroupNorm", "PyTorch", node("Reshape", split_groups, any("shape")),
       "GroupNormalization(x)", is_over_groups},
      {"scale of GroupNorm", "as GroupNorm", group_norm() * factor,
       "GroupNormalization(x,factor)", is_per_channel},
      {"bias of GroupNorm", "as GroupNorm",
       either({group_norm(), group_norm(scale)}) + offset,
       "GroupNormalization(x,scale,offset)", is_per_channel},
      {"L2 normalization", "PyTorch F.normalize",
       node("Div", x, either({norm, node("Expand", norm, any("sizes"))})),
       "UnitNormalization(x,sizes)", is_over_one_axis},
  };
}

std::vector<Pattern> products() {
  const Term x = value("x"), w = tensor("weight"), b = tensor("bias");
  const Term factor = tensor("factor"), offset = tensor("offset");
  return {
      {"attention", "PyTorch, Keras, Hugging Face", attention(),
       "ScaledDotProductAttention(query,key,value,factor,divisor,mask,visible,"
       "hidden,low)",
       is_attention},
      // Only Equal: the inverse of other comparisons differs for NaN.
      {"NotEqual", "PyTorch", node("Not", node("Equal", any("a"), any("b"))),
       "NotEqual(a,b)"},
      {"bias of Conv", "tf2onnx", node("Conv", x, w) + b, "Conv(x,weight,bias)",
       is_bias},
      {"bias of ConvTranspose", "tf2onnx", node("ConvTranspose", x, w) + b,
       "ConvTranspose(x,weight,bias)", is_bias},
      {"bias of MatMul", "PyTorch, tf2onnx", node("MatMul", x, w) + b,
       "MatMul(x,weight,bias)", is_bias},
      // Add with a factor as third input, an internal form.
      {"affine", "PyTorch, Keras", x * factor + offset, "Add(x,offset,factor)",
       nullptr, true},
  };
}

}  // namespace
}  // namespace pattern

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> kPatterns = [] {
    std::vector<Pattern> all = pattern::activations();
    for (auto rows : {pattern::normalizations(), pattern::products()}) {
      all.insert(all.end(), rows.begin(), rows.end());
    }
    return all;
  }();
  return kPatterns;
}

}  // namespace octet::io::importing
