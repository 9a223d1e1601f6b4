// The main job: train a small CNN on Fashion-MNIST in FP32, quantize it,
// calibrate, fine-tune with QAT, export both as ONNX and look at the files.
#include <chrono>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <octet/octet.h>

using namespace octet;

namespace {

struct Options {
  int64_t epochs = 4;
  int64_t qat_epochs = 1;
  int64_t batch = 64;
  int64_t limit = 0;  // training images; 0: all
  int64_t seed = 1;
  int threads = 0;  // 0: all cores
  std::string data = std::string(io::kFashionMnistFolder);
  std::string out = "build/out";
};

// Parses the command line; the exit code if the program should end.
std::optional<int> parse(int argc, char** argv, Options& o) {
  CLI::App app(
      "Trains a CNN on Fashion-MNIST, quantizes it to INT8, fine-tunes it with "
      "quantization-aware training and exports both as ONNX.");
  const auto positive = CLI::Range(int64_t{1}, int64_t{1} << 31);
  app.add_option("--epochs", o.epochs, "FP32 training epochs")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--qat-epochs", o.qat_epochs, "fine-tuning epochs")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--batch", o.batch, "images per step")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--limit", o.limit, "train on the first N images only")
      ->check(positive)
      ->type_name("N");
  app.add_option("--seed", o.seed, "of weights and shuffling")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--threads", o.threads, "threads (default: all cores)")
      ->check(CLI::Range(1, 1024));
  app.add_option("--data", o.data, "folder of the four IDX files")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_option("--out", o.out, "folder for the results")
      ->type_name("DIR")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return std::nullopt;
}

SymbolicTensor block(SymbolicTensor x, int64_t filters) {
  x = Conv2D({.filters = filters, .padding = Padding::same, .use_bias = false})(
      x);
  x = BatchNormalization({.momentum = 0.9f})(x);
  return ReLU()(x);
}

Model build_model(uint64_t seed) {
  auto image = input({28, 28, 1}, "image");
  auto x = block(image, 16);
  x = MaxPooling2D()(x);
  x = block(x, 32);
  x = MaxPooling2D()(x);
  x = block(x, 64);
  x = Flatten()(x);
  return Model(image, Dense({.units = 10})(x),
               {.name = "fashion_mnist", .seed = seed});
}

double percent(double share) { return 100 * share; }

double total_seconds(const train::History& history) {
  double seconds = 0;
  for (const auto& epoch : history) seconds += epoch.seconds;
  return seconds;
}

struct Calibrated {
  std::string method;
  train::Evaluation test;
};

// Calibrates with both methods and keeps the one that does better on training
// images that were not calibrated on; the test set has no say.
Calibrated calibrate(const Model& qat, const io::TrainTest& data) {
  const int64_t count = std::min<int64_t>(2048, data.train.size());
  const Dataset samples = data.train.take(count);
  const Dataset judge = data.train.take(std::min(2 * count, data.train.size()));
  const std::pair<std::string, quant::CalibrationOptions> methods[] = {
      {"max", {.method = quant::Calibration::max}},
      {"percentile 99.99",
       {.method = quant::Calibration::percentile, .percentile = 99.99f}}};
  size_t best = 0;
  double best_loss = INFINITY;
  for (size_t i = 0; i < std::size(methods); ++i) {
    quant::calibrate(qat, samples, methods[i].second);
    const double loss = train::evaluate(qat, judge).loss;
    std::cout << fmt::format("calibrated with {:<16}  training loss {:.4f}\n",
                             methods[i].first, loss);
    if (loss < best_loss) {
      best_loss = loss;
      best = i;
    }
  }
  quant::calibrate(qat, samples, methods[best].second);
  return {methods[best].first, train::evaluate(qat, data.test)};
}

std::string_view bytes_of(const Tensor& t) {
  return {static_cast<const char*>(t.raw()), static_cast<size_t>(t.bytes())};
}

int run(const Options& o) {
  if (o.threads > 0) set_num_threads(o.threads);
  const std::filesystem::path out = o.out;
  const auto seed = static_cast<uint64_t>(o.seed);
  ensure_writable_folder(out);
  io::TrainTest data = io::fashion_mnist(o.data);
  if (o.limit > 0) data.train = data.train.take(o.limit);
  std::cout << fmt::format(
      "Fashion-MNIST: {} training and {} test images; {} threads, {}\n",
      data.train.size(), data.test.size(), num_threads(),
      to_string(active_isa()));

  const Model model = build_model(seed);
  std::cout << '\n' << model.summary() << '\n';
  const train::History fp32_history =
      train::fit(model, data.train,
                 {.epochs = o.epochs,
                  .batch_size = o.batch,
                  .optimizer = train::Adam({.learning_rate = 2e-3f}),
                  .schedule = train::cosine({.floor = 0.01f}),
                  .seed = seed,
                  .validation = &data.test,
                  .callbacks = {train::progress_bar("fp32")}});
  const train::Evaluation fp32 = train::evaluate(model, data.test);

  const Model qat = quant::quantize_model(model);
  const quant::QdqPlan plan = quant::plan_of(qat);
  std::cout << '\n' << plan.to_string() << '\n';
  const Calibrated ptq = calibrate(qat, data);

  std::cout << '\n';
  quant::prepare_qat(qat);
  quant::freeze_bn_stats(qat);
  const train::History qat_history = train::fit(
      qat, data.train,
      {.epochs = o.qat_epochs,
       .batch_size = o.batch,
       .optimizer = train::SGD({.learning_rate = 1e-3f, .momentum = 0.9f}),
       .schedule = train::cosine({.floor = 0.01f}),
       .seed = seed + 1,
       .validation = &data.test,
       .callbacks = {train::progress_bar("qat")}});
  const train::Evaluation int8 = train::evaluate(qat, data.test);

  // Results are written at the end, one after another: until here, those of
  // an earlier run are untouched.
  const io::OnnxReport fp32_file = io::export_onnx(
      model, out / "fp32.onnx", {.description = "Fashion-MNIST CNN, FP32"});
  const io::OnnxReport int8_file = io::export_onnx(
      qat, out / "int8.onnx", {.description = "Fashion-MNIST CNN, INT8 QAT"});
  const io::OnnxSummary reread = io::inspect_onnx(out / "int8.onnx");
  (void)io::inspect_onnx(out / "fp32.onnx");

  // What an independent runtime is compared on; see tests/oracle.
  const Batch test = data.test.batch(0, data.test.size());
  write_file(out / "test_inputs.f32",
             bytes_of(test.inputs.transposed({0, 3, 1, 2})));
  write_file(out / "test_labels.i64", bytes_of(test.labels));
  write_file(out / "fp32_logits.f32", bytes_of(model.predict(test.inputs)));
  write_file(out / "int8_logits.f32", bytes_of(qat.predict(test.inputs)));

  const double train_seconds = total_seconds(fp32_history);
  const double images =
      static_cast<double>(data.train.size()) * static_cast<double>(o.epochs);
  Config summary;
  summary.set("fp32_accuracy", percent(fp32.accuracy))
      .set("ptq_accuracy", percent(ptq.test.accuracy))
      .set("qat_accuracy", percent(int8.accuracy))
      .set("calibration", ptq.method)
      .set("train_seconds", train_seconds)
      .set("qat_seconds", total_seconds(qat_history))
      .set("images_per_second", images / train_seconds)
      .set("qdq_pairs", static_cast<int64_t>(reread.qdq_pairs.size()))
      .set("fp32_bytes", fp32_file.bytes)
      .set("int8_bytes", int8_file.bytes)
      .set("epochs", o.epochs)
      .set("qat_epochs", o.qat_epochs)
      .set("batch", o.batch)
      .set("training_images", data.train.size())
      .set("seed", o.seed)
      .set("threads", num_threads());
  write_file(out / "summary.json", io::to_json(summary) + "\n");

  const auto row = [](std::string_view name, const train::Evaluation& e,
                      std::string_view file, int64_t size) {
    std::cout << fmt::format(
        "{:<16}  {:>7.2f} %  {:>7.4f}  {}\n", name, percent(e.accuracy), e.loss,
        file.empty() ? "" : fmt::format("{} ({} bytes)", file, size));
  };
  std::cout << fmt::format("\n{:<16}  {:>9}  {:>7}  {}\n", "", "accuracy",
                           "loss", "file");
  row("FP32", fp32, "fp32.onnx", fp32_file.bytes);
  row("calibrated INT8", ptq.test, "", 0);
  row("QAT INT8", int8, "int8.onnx", int8_file.bytes);
  std::cout << fmt::format(
      "\n{} Q/DQ pairs; trained at {:.0f} images/s in {:.1f} s, fine-tuned in "
      "{:.1f} s\nresults in {}\n",
      reread.qdq_pairs.size(), images / train_seconds, train_seconds,
      total_seconds(qat_history), out.string());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const std::optional<int> code = parse(argc, argv, options)) return *code;
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cout << std::flush;
    std::cerr << "error: " << error.what() << '\n';
    return 1;
  }
}
