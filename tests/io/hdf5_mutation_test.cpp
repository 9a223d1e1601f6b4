// Damaged files: the reader returns values or an error, whatever libhdf5 does
// in its worker.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "../testdata.h"
#include "hdf5/reader.h"
#include "hdf5/writer.h"
#include "hdf5_files.h"
#include "mutator.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::Contains;

/// The readable part of a file.
struct Visit {
  int values = 0;
  int errors = 0;
  int failures = 0;  ///< crashes and timeouts of the worker
};

class Visitor {
 public:
  explicit Visitor(const Hdf5Reader& file) : file_(file) {}

  Visit visit() {
    group("", 0);
    return seen_;
  }

 private:
  template <class Body>
  void attempt(Body body) {
    if (seen_.failures > 0) return;
    try {
      body();
      ++seen_.values;
    } catch (const FormatError& error) {
      const std::string_view text = error.what();
      const bool failed = text.find("crashed on it") != text.npos ||
                          text.find("took more than") != text.npos ||
                          text.find("gave up on it") != text.npos;
      ++(failed ? seen_.failures : seen_.errors);
    } catch (const UnsupportedError&) {
      ++seen_.errors;
    }
  }

  void object(const std::string& path) {
    for (const char* name :
         {"model_config", "keras_version", "training_config", "number"}) {
      attempt([&] { file_.attribute(path, name); });
    }
    for (const char* name : {"layer_names", "weight_names"}) {
      attempt([&] { file_.strings(path, name); });
    }
  }

  void group(const std::string& path, int depth) {
    object(path);
    if (depth == 8) return;
    attempt([&] {
      std::vector<std::string> names = file_.children(path);
      names.resize(std::min<size_t>(names.size(), 50));
      for (const std::string& name : names) child(path + "/" + name, depth + 1);
    });
  }

  void child(const std::string& path, int depth) {
    attempt([&] {
      if (file_.kind(path) == Hdf5Kind::group) {
        group(path, depth);
        return;
      }
      const Shape shape = file_.shape(path);
      if (shape.size() > (1 << 22)) return;
      attempt([&] { (void)file_.f32(path, shape); });
      attempt([&] { (void)file_.i64(path, shape); });
    });
  }

  const Hdf5Reader& file_;
  Visit seen_;
};

/// Throws: FormatError if it cannot be opened.
Visit visit(const std::string& bytes, const std::string& name,
            double time_limit = 120) {
  const Hdf5Reader file(bytes, name, {.time_limit = time_limit});
  return Visitor(file).visit();
}

/// All features of Keras' files, and of repacked files.
std::string own_file() {
  Hdf5Image image;
  std::vector<float> values(500);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const Handle packed = chunked({64});
  H5Pset_shuffle(packed.get());
  H5Pset_deflate(packed.get(), 6);
  H5Pset_fletcher32(packed.get());
  image.dataset("model_weights/conv/packed", H5T_IEEE_F32LE, {500},
                values.data(), packed.get());
  image.dataset("model_weights/conv/kernel:0", H5T_IEEE_F32BE, {10, 50},
                values.data());
  image.dataset("optimizer_weights/steps", H5T_STD_I64LE, {1}, {int64_t{99}});
  image.texts("/", "model_config", {}, {std::string(3000, '{').c_str()});
  image.texts("model_weights", "layer_names", {2}, {"conv", "relu"});
  image.attribute<double>("model_weights", "weight_names", H5T_IEEE_F64LE, {0},
                          {});
  image.attribute<double>("/", "number", H5T_IEEE_F64LE, {}, {0.5});
  const Handle fixed = fixed_string(8, H5T_STR_NULLPAD);
  const hsize_t two = 2;
  const Handle space(H5Screate_simple(1, &two, nullptr), H5Sclose);
  image.attribute("model_weights/conv", "weight_names", fixed.get(),
                  space.get(), "kernel:0bias:0\0\0");
  return image.finish();
}

std::vector<std::string> seeds() {
  std::vector<std::string> files = {own_file()};
  for (const char* name :
       {"bad_inputs/ok_plain.h5", "models/pretrainedResnet.h5",
        "models/kws_ref_model_converted.h5"}) {
    if (std::filesystem::exists(testdata(name))) {
      files.push_back(read_file(testdata(name)));
    }
  }
  return files;
}

TEST(Hdf5Mutation, ReturnsValuesOrErrors) {
  const std::vector<std::string> files = seeds();
  for (const std::string& file : files) {
    const Visit whole = visit(file, "whole");
    EXPECT_GT(whole.values, 10);
    EXPECT_EQ(whole.failures, 0);
  }
  Visit all;
  int refused = 0;
  uint64_t seed = 0;
  for (const FuzzRuns runs(100); runs.more(seed); ++seed) {
    const std::string name = fmt::format("mutant {}", seed);
    SCOPED_TRACE(name);
    // Real models take ten times as long.
    const size_t file = seed % 8 < 6 ? seed % 2 : seed / 8;
    try {
      const Visit one =
          visit(Mutator(seed).damage(files[file % files.size()]), name, 2);
      all.values += one.values;
      all.errors += one.errors;
      all.failures += one.failures;
    } catch (const FormatError& error) {
      ++refused;
      ASSERT_THAT(error.context(), Contains("in file '" + name + "'"));
    }
  }
  std::cout << fmt::format(
      "{} mutants of {} files: {} not opened, {} values, {} errors, {} crashes "
      "or timeouts of libhdf5\n",
      seed, files.size(), refused, all.values, all.errors, all.failures);
  EXPECT_GT(all.values, 0);
  EXPECT_GT(all.errors + refused, 0);
}

TEST(Hdf5Corpus, ReturnsValuesOrErrors) {
  const std::filesystem::path folder = testdata("bad_inputs");
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder << ": expected the hostile files, got no folder";
  }
  int fuzzed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() != ".h5") continue;
    SCOPED_TRACE(name);
    fuzzed += name.starts_with("fuzz_");
    const std::string bytes = read_file(entry.path());
    if (name.starts_with("ok_")) {
      const Visit whole = visit(bytes, name);
      EXPECT_GT(whole.values, 10);
      EXPECT_EQ(whole.failures, 0);
      continue;
    }
    try {
      visit(bytes, name);
    } catch (const FormatError& error) {
      EXPECT_THAT(error.context(), Contains("in file '" + name + "'"));
    }
  }
  EXPECT_EQ(fuzzed, 10);
}

}  // namespace
}  // namespace octet::io
