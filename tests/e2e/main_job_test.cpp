// The main job as a program: its results and its errors.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <octet/io/json.h>
#include <octet/runtime/file.h>

#include "command.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

const std::string kJob = quoted(OCTET_BIN "/fashion_mnist_qat");
// Enough to run every stage; the whole job has a separate test.
const std::string kSmall = " --limit 300 --epochs 1 --qat-epochs 1 --batch 50";
// For a DataFolder with few images.
const std::string kTiny = " --epochs 1 --qat-epochs 1";

CommandResult job(const std::string& arguments) {
  return run_command(kJob + " " + arguments);
}

std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename());
  }
  return names;
}

void write_gz(const fs::path& path, const std::string& bytes) {
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
}

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

// A temporary data folder, valid until a test damages a file.
class DataFolder {
 public:
  explicit DataFolder(int images = 20) {
    for (const char* part : {"train", "t10k"}) {
      write_images(part, images);
      write_labels(part, images, 9);
    }
  }

  void write_images(const std::string& part, int count) {
    std::string bytes = big_endian(0x803) +
                        big_endian(static_cast<uint32_t>(count)) +
                        big_endian(28) + big_endian(28);
    for (int i = 0; i < count * 28 * 28; ++i) {
      bytes += static_cast<char>(i * 7 % 251);
    }
    write_gz(folder_ / (part + "-images-idx3-ubyte.gz"), bytes);
  }
  void write_labels(const std::string& part, int count, int last) {
    std::string bytes =
        big_endian(0x801) + big_endian(static_cast<uint32_t>(count));
    for (int i = 0; i < count; ++i) {
      bytes += static_cast<char>(i + 1 == count ? last : i % 10);
    }
    write_gz(folder_ / (part + "-labels-idx1-ubyte.gz"), bytes);
  }
  fs::path file(const char* name) const { return folder_ / name; }
  std::string argument() const { return " --data " + quoted(folder_.path()); }

 private:
  TempFolder folder_;
};

// Runs on damaged data; expects exit code 1, the given words, and no results.
void expect_refused(const DataFolder& data,
                    const std::vector<std::string>& words) {
  const TempFolder out;
  const CommandResult r =
      job(data.argument() + kSmall + " --out " + quoted(out.path()));
  EXPECT_EQ(r.exit_code, 1) << r.output;
  EXPECT_NE(r.output.find("error: "), std::string::npos) << r.output;
  for (const std::string& word : words) {
    EXPECT_NE(r.output.find(word), std::string::npos) << word << "\n"
                                                      << r.output;
  }
  EXPECT_TRUE(files_in(out.path()).empty());
}

TEST(MainJob, WritesItsResultsAndASummary) {
  const DataFolder data(120);
  const TempFolder out;
  const CommandResult r =
      job(data.argument() + kSmall + " --seed 3 --out " + quoted(out.path()));
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_EQ(files_in(out.path()),
            (std::set<std::string>{"fp32.onnx", "int8.onnx", "summary.json",
                                   "test_inputs.f32", "test_labels.i64",
                                   "fp32_logits.f32", "int8_logits.f32"}));
  const Config summary = io::from_json(read_file(out / "summary.json"));
  for (const char* name : {"fp32_accuracy", "ptq_accuracy", "qat_accuracy"}) {
    EXPECT_GE(summary.at(name).as_number(), 0.0) << name;
    EXPECT_LE(summary.at(name).as_number(), 100.0) << name;
  }
  EXPECT_GT(summary.at("train_seconds").as_number(), 0.0);
  EXPECT_GT(summary.at("qat_seconds").as_number(), 0.0);
  EXPECT_GT(summary.at("images_per_second").as_number(), 0.0);
  EXPECT_EQ(summary.at("qdq_pairs").as_int(), 8);
  EXPECT_EQ(summary.at("seed").as_int(), 3);
  EXPECT_GE(summary.at("threads").as_int(), 1);
}

TEST(MainJob, HasTheSameResultsForAnyNumberOfThreads) {
  const DataFolder data(150);
  const TempFolder out;
  for (const int threads : {1, 2, 3}) {
    const CommandResult r =
        job(fmt::format("{}{} --threads {} --out {}", data.argument(), kSmall,
                        threads, quoted(out / std::to_string(threads))));
    ASSERT_EQ(r.exit_code, 0) << r.output;
  }
  for (const char* name : {"int8.onnx", "fp32.onnx", "int8_logits.f32"}) {
    EXPECT_EQ(read_file(out / "1" / name), read_file(out / "2" / name)) << name;
    EXPECT_EQ(read_file(out / "1" / name), read_file(out / "3" / name)) << name;
  }
}

TEST(MainJob, ResumesFromItsCheckpoints) {
  const DataFolder data(150);
  const TempFolder folder;
  const std::string small = data.argument() + kSmall;
  const auto run = [&](const std::string& out, const std::string& more) {
    return job(small + " --out " + quoted(folder / out) + more);
  };
  const std::string kept = " --checkpoint " + quoted(folder / "kept");
  ASSERT_EQ(run("expected", "").exit_code, 0);
  ASSERT_EQ(run("first", kept).exit_code, 0);
  const auto expect_same = [&](const std::string& out) {
    for (const char* name : {"int8.onnx", "fp32.onnx", "int8_logits.f32"}) {
      EXPECT_EQ(read_file(folder / out / name),
                read_file(folder / "expected" / name))
          << out << " " << name;
    }
  };
  expect_same("first");
  // Both phases are complete.
  const CommandResult second = run("second", kept + " --resume");
  ASSERT_EQ(second.exit_code, 0) << second.output;
  EXPECT_EQ(second.output.find("epoch"), std::string::npos) << second.output;
  expect_same("second");
  // Only the first phase is complete; the checkpoint of the second is damaged.
  for (const auto& entry : fs::directory_iterator(folder / "kept" / "qat")) {
    fs::resize_file(entry.path(), 3000);
  }
  const CommandResult third = run("third", kept + " --resume");
  ASSERT_EQ(third.exit_code, 0) << third.output;
  EXPECT_EQ(third.output.find("fp32  epoch"), std::string::npos);
  EXPECT_NE(third.output.find("qat  epoch 1/1"), std::string::npos);
  EXPECT_NE(third.output.find("damaged checkpoint"), std::string::npos);
  expect_same("third");
}

TEST(MainJob, RejectsForeignCheckpoints) {
  const DataFolder data(150);
  const TempFolder folder;
  const std::string kept = " --checkpoint " + quoted(folder / "kept");
  const auto run = [&](const std::string& more) {
    return job(data.argument() + kSmall + " --out " + quoted(folder / "out") +
               more);
  };
  ASSERT_EQ(run(kept).exit_code, 0);
  const auto expect_refused = [&](const std::string& more, int code,
                                  const std::string& words) {
    const CommandResult r = run(more);
    EXPECT_EQ(r.exit_code, code) << r.output;
    EXPECT_NE(r.output.find(words), std::string::npos) << r.output;
    EXPECT_EQ(r.output.find("epoch 1/1"), std::string::npos) << r.output;
  };
  expect_refused(kept, 1, "--resume");
  expect_refused(" --resume", 2, "--checkpoint");
  expect_refused(" --checkpoint ''", 2, "--checkpoint");
  expect_refused(kept + " --resume --seed 4", 1, "seed");
}

TEST(MainJob, PrintsPlainLinesWithoutATerminal) {
  const DataFolder data;
  const TempFolder out;
  const CommandResult r =
      job(data.argument() + kTiny + " --out " + quoted(out.path()));
  EXPECT_EQ(r.output.find('\r'), std::string::npos);
  EXPECT_NE(r.output.find("fp32  epoch 1/1"), std::string::npos) << r.output;
  EXPECT_NE(r.output.find("QAT INT8"), std::string::npos) << r.output;
}

TEST(MainJob, NamesThePackageOfMissingData) {
  const CommandResult r = job("--data /nowhere/at/all");
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_NE(r.output.find("/nowhere/at/all"), std::string::npos) << r.output;
  EXPECT_NE(r.output.find("dataset-fashion-mnist"), std::string::npos)
      << r.output;
}

TEST(MainJob, RejectsTruncatedData) {
  DataFolder data;
  const fs::path file = data.file("train-images-idx3-ubyte.gz");
  fs::resize_file(file, fs::file_size(file) / 2);
  expect_refused(data, {"train-images-idx3-ubyte.gz"});
}

TEST(MainJob, RejectsCorruptData) {
  DataFolder data;
  const fs::path file = data.file("t10k-images-idx3-ubyte.gz");
  std::string bytes = read_file(file);
  bytes[bytes.size() / 2] = static_cast<char>(~bytes[bytes.size() / 2]);
  write_file(file, bytes);
  expect_refused(data, {"t10k-images-idx3-ubyte.gz"});
}

TEST(MainJob, RejectsAWrongMagicNumber) {
  DataFolder data;
  write_gz(data.file("train-labels-idx1-ubyte.gz"), big_endian(0x901));
  expect_refused(data, {"train-labels-idx1-ubyte.gz"});
}

TEST(MainJob, RejectsDifferentCounts) {
  DataFolder data(20);
  data.write_labels("train", 19, 9);
  expect_refused(data, {"20", "19"});
}

TEST(MainJob, RejectsALabelOutOfRange) {
  DataFolder data(20);
  data.write_labels("t10k", 20, 10);
  expect_refused(data, {"10"});
}

TEST(MainJob, RejectsAnUnwritableOutputFolder) {
  const DataFolder data;
  const TempFolder folder;
  write_file(folder / "file", "not a folder");
  const CommandResult r =
      job(data.argument() + " --out " + quoted(folder / "file"));
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_NE(r.output.find("error: "), std::string::npos) << r.output;
  EXPECT_EQ(read_file(folder / "file"), "not a folder");
}

// Returns the names and contents of all files.
std::map<std::string, std::string> contents_of(const fs::path& folder) {
  std::map<std::string, std::string> contents;
  for (const std::string& name : files_in(folder)) {
    contents[name] = read_file(folder / name);
  }
  return contents;
}

TEST(MainJob, KeepsEarlierResultsWhenTheDiskIsFull) {
  const DataFolder data(200);
  const TempFolder out;
  const std::string arguments =
      data.argument() + kSmall + " --out " + quoted(out.path());
  ASSERT_EQ(job(arguments).exit_code, 0);
  const auto before = contents_of(out.path());
  // A file size limit emulates a full disk: writing fails within the first
  // file, or within the test images (627 kB), after the models are written.
  // Shells count in 512 or 1024 bytes.
  for (const int limit : {16, 600}) {
    const CommandResult r =
        run_command(fmt::format("(trap '' XFSZ; ulimit -f {}; {} {} --seed 99)",
                                limit, kJob, arguments));
    EXPECT_EQ(r.exit_code, 1) << r.output;
    EXPECT_NE(r.output.find(limit == 16 ? "fp32.onnx" : "test_inputs.f32"),
              std::string::npos)
        << r.output;
    EXPECT_EQ(contents_of(out.path()), before) << limit;
  }
}

TEST(MainJob, LocksItsOutputFolder) {
  const DataFolder data;
  const TempFolder out;
  const FolderLock lock(out.path());
  const CommandResult r =
      job(data.argument() + kSmall + " --out " + quoted(out.path()));
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_NE(r.output.find(out.path().string()), std::string::npos) << r.output;
  EXPECT_TRUE(files_in(out.path()).empty());
}

// A process killed while it replaces results leaves no summary.
TEST(MainJob, IsNotComparedWithoutASummary) {
  const TempFolder out;
  write_file(out / "test_labels.i64", "");
  const CommandResult r =
      run_command(quoted(OCTET_SOURCE_DIR "/tests/oracle/run_compare.sh") +
                  " " + quoted(out.path()) + " fp32");
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_NE(r.output.find("summary.json"), std::string::npos) << r.output;
}

TEST(MainJob, ContinuesAfterItsOutputIsClosed) {
  const DataFolder data;
  const TempFolder out;
  run_command(fmt::format("{} {} {} --out {} | head -1", kJob, data.argument(),
                          kTiny, quoted(out.path())));
  EXPECT_TRUE(fs::exists(out / "summary.json"));
}

TEST(MainJob, KeepsEarlierResultsWhenInterrupted) {
  const DataFolder data(2000);
  const TempFolder out;
  const std::string arguments =
      data.argument() + " --out " + quoted(out.path());
  ASSERT_EQ(job(arguments + kSmall).exit_code, 0);
  const std::string before = read_file(out / "int8.onnx");
  const auto files = files_in(out.path());
  const CommandResult r = run_command(
      fmt::format("timeout -s INT 2 {} {} --epochs 100000", kJob, arguments));
  EXPECT_NE(r.exit_code, 0);
  EXPECT_EQ(read_file(out / "int8.onnx"), before);
  EXPECT_EQ(files_in(out.path()), files);
}

class NonsenseOption : public testing::TestWithParam<const char*> {};

TEST_P(NonsenseOption, IsAUsageError) {
  const TempFolder out;
  const CommandResult r =
      job(std::string(GetParam()) + " --out " + quoted(out.path()));
  EXPECT_EQ(r.exit_code, 2) << r.output;
  EXPECT_FALSE(r.output.empty());
  EXPECT_TRUE(files_in(out.path()).empty());
}

INSTANTIATE_TEST_SUITE_P(MainJob, NonsenseOption,
                         testing::Values("--epochs 0", "--epochs -1",
                                         "--epochs two", "--qat-epochs 0",
                                         "--batch 0", "--limit 0", "--limit -5",
                                         "--threads 0", "--threads 100000",
                                         "--seed -1",
                                         "--epochs 99999999999999999999",
                                         "--unknown", "extra", "--epochs"));

TEST(MainJob, ExplainsItself) {
  const CommandResult r = job("--help");
  EXPECT_EQ(r.exit_code, 0);
  for (const char* option : {"--epochs", "--qat-epochs", "--batch", "--limit",
                             "--seed", "--threads", "--data", "--out"}) {
    EXPECT_NE(r.output.find(option), std::string::npos) << option;
  }
}

}  // namespace
}  // namespace octet
