#include <cstdint>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/detail/load_limits.h>
#include <octet/layers/parameter.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/quantization.h>
#include <octet/runtime/system.h>
#include <octet/session/detail/session_file.h>

#include "check_outputs.h"
#include "container.h"
#include "int8_weights.h"
#include "little_endian.h"

namespace octet::session {
namespace {

constexpr int64_t kLargestFile = int64_t{1} << 38;

// ---- writing

Config dims_of(const Shape& shape) {
  return Config::List(shape.dims().begin(), shape.dims().end());
}

// Appends the elements, aligned, and returns their position.
int64_t append_elements(std::string& to, const Tensor& tensor) {
  to.resize((to.size() + kAlignment - 1) / kAlignment * kAlignment);
  const auto at = static_cast<int64_t>(to.size());
  to.append(static_cast<const char*>(tensor.raw()),
            static_cast<size_t>(tensor.bytes()));
  return at;
}

Config append_weight(std::string& to, const quant::NamedWeight& weight,
                     const Int8Weight* int8) {
  Config entry;
  entry.set("layer", weight.layer)
      .set("name", weight.name)
      .set("trainable", weight.trainable)
      .set("type", int8 != nullptr ? "i8" : "f32")
      .set("shape", dims_of(weight.value.shape()));
  if (int8 == nullptr) {
    return entry.set("offset", append_elements(to, weight.value));
  }
  if (int8->axis >= 0) entry.set("axis", int8->axis);
  return entry.set("scale_offset", append_elements(to, int8->scale))
      .set("offset", append_elements(to, int8->values));
}

// ---- reading

Shape shape_of(const Config& dims) {
  std::vector<int64_t> sizes;
  for (const Config& dim : dims.as_list()) sizes.push_back(dim.as_int());
  const Shape shape(sizes);
  for (const int64_t size : sizes) {
    if (size >= 0) continue;
    throw ShapeError(
        "out_of_range", "shape",
        fmt::format("sizes must not be negative, got {}", shape.to_string()));
  }
  return shape;
}

// Reads the weights in the order of the file, in which they may not overlap:
// otherwise a small file could need any amount of memory.
class WeightReader {
 public:
  explicit WeightReader(std::string_view bytes) : bytes_(bytes) {}

  quant::NamedWeight read(const Config& entry) {
    quant::NamedWeight weight{.layer = entry.at("layer").as_string(),
                              .name = entry.at("name").as_string(),
                              .trainable = entry.at("trainable").as_bool(),
                              .value = {}};
    const Shape shape = shape_of(entry.at("shape"));
    const std::string& type = entry.at("type").as_string();
    if (type == "f32") {
      weight.value = elements(entry.at("offset"), shape, DType::f32);
    } else if (type == "i8") {
      weight.value = dequantized(entry, shape);
    } else {
      throw FormatError("unsupported_type", "weight",
                        fmt::format("type must be f32 or i8, got '{}'", type));
    }
    return weight;
  }

 private:
  Tensor dequantized(const Config& entry, const Shape& shape) {
    const Config* axis = entry.find("axis");
    QuantParams qparams;
    Shape scales(std::initializer_list<int64_t>{});
    if (axis != nullptr) {
      const int64_t index = axis->as_int();
      if (index < 0 || index >= shape.rank()) {
        throw FormatError(
            "out_of_range", "weight",
            fmt::format("axis must be in [0,{}), got {}", shape.rank(), index));
      }
      qparams.axis = static_cast<int>(index);
      scales = Shape({shape[qparams.axis]});
    }
    qparams.scale = elements(entry.at("scale_offset"), scales, DType::f32);
    return dequantize(elements(entry.at("offset"), shape, DType::i8), qparams);
  }

  Tensor elements(const Config& offset, const Shape& shape, DType type) {
    const int64_t at = offset.as_int();
    const auto end = static_cast<int64_t>(bytes_.size());
    const int64_t count = shape.size();
    if (at < next_ || at > end || at % static_cast<int64_t>(kAlignment) != 0 ||
        count > (end - at) / size_of(type)) {
      throw FormatError(
          "malformed_file", "weight",
          fmt::format("{} {} at {} is not between {} and {}, the end of the "
                      "weights, or not a multiple of {}",
                      to_string(type), shape.to_string(), at, next_, end,
                      kAlignment));
    }
    Tensor tensor(shape, type);
    std::memcpy(tensor.raw(), bytes_.data() + at,
                static_cast<size_t>(tensor.bytes()));
    next_ = at + tensor.bytes();
    return tensor;
  }

  std::string_view bytes_;
  int64_t next_ = 0;  // end of the previous weight
};

// As the file caused errors of values, they are FormatErrors.
template <class Body>
decltype(auto) from_file(const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::value || error.kind() == ErrorKind::shape ||
        error.kind() == ErrorKind::not_found) {
      throw FormatError(error);
    }
    throw;
  }
}

}  // namespace

bool has_session_magic(std::string_view bytes) {
  return bytes.starts_with(kMagic);
}

bool is_session_file(const std::filesystem::path& path) {
  return has_session_magic(
      read_part(path, 0, static_cast<int64_t>(kMagic.size())));
}

std::string session_file_bytes(const Model& model, const Config& info) {
  expect_calibrated(model);
  const quant::ModelState state = quant::state_of(model);
  const std::map<WeightName, Int8Weight> int8 = int8_weights(model);
  std::string bytes;
  Config::List weights;
  for (const quant::NamedWeight& weight : state.weights) {
    const auto found = int8.find({weight.layer, weight.name});
    weights.push_back(append_weight(
        bytes, weight, found == int8.end() ? nullptr : &found->second));
  }
  Config configuration;
  configuration.set("octet", version()).set("graph", state.graph);
  if (!state.plan.is_null()) configuration.set("plan", state.plan);
  configuration.set("status", state.status).set("weights", std::move(weights));
  if (!info.is_null()) configuration.set("info", info);
  std::string file = container_bytes(configuration, bytes);
  expect_equal_outputs(model, model_of(parse_session_file(file)));
  return file;
}

SessionFile parse_session_file(std::string_view bytes) {
  return from_file([&] {
    const Container file = parse_container(bytes);
    const Config& all = file.configuration;
    const Config* plan = all.find("plan");
    const Config* info = all.find("info");
    SessionFile result{.model = {.graph = all.at("graph"),
                                 .plan = plan != nullptr ? *plan : Config(),
                                 .status = all.at("status"),
                                 .weights = {}},
                       .info = info != nullptr ? *info : Config()};
    WeightReader reader(file.weights);
    for (const Config& entry : all.at("weights").as_list()) {
      result.model.weights.push_back(reader.read(entry));
    }
    return result;
  });
}

Model model_of(SessionFile file) {
  return from_file([&] {
    int64_t elements = 0;
    for (const quant::NamedWeight& weight : file.model.weights) {
      elements += weight.value.size();
    }
    // apply() creates each layer again.
    const ParameterLimit limit(elements * (file.model.plan.is_null() ? 1 : 2));
    return quant::model_from_state(std::move(file.model));
  });
}

Model load_session_model(const std::filesystem::path& path) {
  return with_context(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] {
        SessionFile file = parse_session_file(read_file(path, kLargestFile));
        return model_of(std::move(file));
      });
}

}  // namespace octet::session
