#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include <fmt/format.h>

#include <octet/io/npy.h>
#include <octet/runtime/error.h>

#include "../program.h"
#include "commands.h"
#include "read_model.h"

namespace octet::program {
namespace {

struct Options {
  ModelSource model;
  std::string input;
  std::string output;
  int64_t batch = 256;
};

Shape sample(const Shape& shape) { return shape.slice(1, shape.rank()); }

/// What a wrong shape might have come from, or nothing.
std::string hint(const Shape& wanted, const Shape& x) {
  const Shape s = sample(wanted);
  if (x == s) return "; add the axis of the samples: x[None]";
  if (x.rank() != wanted.rank()) return "";
  const Shape given = sample(x);
  if (s.rank() == 3 && given == Shape{s[2], s[0], s[1]}) {
    return "; these are images with the channels first (NCHW), Octet takes "
           "them last (NHWC): x.transpose(0, 2, 3, 1)";
  }
  std::vector<int64_t> a(s.dims().begin(), s.dims().end());
  std::vector<int64_t> b(given.dims().begin(), given.dims().end());
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b ? "; these are the same sizes in another order" : "";
}

void check_input(const Tensor& x, const Model& model, const std::string& path) {
  if (model.inputs().size() != 1 || model.outputs().size() != 1) {
    throw UnsupportedError(fmt::format(
        "predict: expected a model of one input and one output, got {} and {}",
        model.inputs().size(), model.outputs().size()));
  }
  if (x.dtype() != DType::f32) {
    throw FormatError(fmt::format("'{}': expected float32, got {}", path,
                                  to_string(x.dtype())));
  }
  const Shape& wanted = model.inputs()[0].shape();
  const bool fits = x.shape().rank() == wanted.rank() &&
                    x.shape().with(0, Shape::kAnySize) == wanted;
  if (!fits) {
    throw ShapeError(fmt::format("'{}': expected shape {}, got {}{}", path,
                                 wanted.to_string(), x.shape().to_string(),
                                 hint(wanted, x.shape())));
  }
  if (x.shape()[0] < 1) {
    throw ShapeError(
        fmt::format("'{}': expected at least one sample, got none", path));
  }
}

void predict(const Options& options) {
  const Model model = read_model(options.model);
  const Tensor x = io::read_npy(options.input);
  check_input(x, model, options.input);
  const int64_t n = x.shape()[0];
  Tensor y(model.outputs()[0].shape().with(0, n));
  for (int64_t first = 0; first < n; first += options.batch) {
    const int64_t count = std::min(options.batch, n - first);
    const Tensor part = model.predict(x.slice(first, count));
    std::memcpy(y.slice(first, count).raw(), part.raw(),
                static_cast<size_t>(part.bytes()));
  }
  io::write_npy(options.output, y);
  print(fmt::format("{}: {}\n", options.output, y.shape().to_string()));
}

}  // namespace

void add_predict(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "predict", "Run a model on the samples of a .npy file");
  add_model(*command, options->model, kModelHelp);
  command
      ->add_option("--input", options->input,
                   "X.npy: float32 [N,...], images NHWC")
      ->required();
  command->add_option("--output", options->output, "Y.npy: what to write")
      ->required();
  add_number(*command, "--batch", options->batch, 1, 1 << 20,
             "samples at a time [256]");
  command->callback([options] { predict(*options); });
}

}  // namespace octet::program
