#include "latency_runner.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/parallel.h>

#include "random_samples.h"
#include "runner_script.h"
#include "shell.h"

namespace octet::program {
namespace {

namespace fs = std::filesystem;

constexpr double kSecondsPerRound = 0.02;
constexpr int kNotFound = 127;

/// A new folder, removed with its contents.
class RunnerFolder {
 public:
  RunnerFolder() {
    std::string pattern =
        (fs::temp_directory_path() / "octet_autotune.XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw IoError("cannot_write", fs::temp_directory_path().string(),
                    "cannot create a folder for the runner. Hint: set TMPDIR");
    }
    path_ = pattern;
  }
  ~RunnerFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  RunnerFolder(const RunnerFolder&) = delete;
  RunnerFolder& operator=(const RunnerFolder&) = delete;

  std::string file(size_t number, const char* extension) const {
    return (path_ / fmt::format("{}{}", number, extension)).string();
  }
  std::string name() const { return path_.filename().string(); }

 private:
  fs::path path_;
};

double seconds_of(const InferenceSession& session,
                  const std::vector<Tensor>& x) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  (void)session.run(x);
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

quant::LatencyRounds in_sessions(const std::vector<const Model*>& models,
                                 int64_t rounds,
                                 const SessionOptions& options) {
  constexpr int64_t kMostRuns = 1000;
  struct Timed {
    std::unique_ptr<InferenceSession> session;
    std::vector<Tensor> x;
    int64_t runs = 1;
  };
  std::vector<Timed> all;
  for (const Model* model : models) {
    Timed& timed = all.emplace_back();
    timed.session = std::make_unique<InferenceSession>(*model, options);
    timed.x = random_samples(*model, 1);
    (void)timed.session->run(timed.x);
    double once = seconds_of(*timed.session, timed.x);
    once = std::min(once, seconds_of(*timed.session, timed.x));
    timed.runs = std::clamp(std::llround(kSecondsPerRound / once), 1LL,
                            static_cast<long long>(kMostRuns));
  }
  quant::LatencyRounds rows;
  for (int64_t round = 0; round < rounds; ++round) {
    std::vector<double>& row = rows.emplace_back(models.size());
    for (size_t k = 0; k < models.size(); ++k) {
      const size_t i = round % 2 == 0 ? k : models.size() - 1 - k;
      std::vector<double> times;
      (void)all[i].session->run(all[i].x);
      for (int64_t run = 0; run < all[i].runs; ++run) {
        times.push_back(seconds_of(*all[i].session, all[i].x));
      }
      std::ranges::sort(times);
      row[i] = 1e3 * times[times.size() / 2];
    }
  }
  return rows;
}

/// Python with a runtime.
class PythonRunner {
 public:
  PythonRunner(RunnerOptions options, ExportForRunner export_model)
      : o_(std::move(options)), export_(std::move(export_model)) {}

  quant::LatencyRounds operator()(
      const std::vector<const Model*>& models) const {
    const RunnerFolder folder;
    const std::string script = folder.file(0, ".py");
    write_file(script, kRunnerScript);
    std::string command =
        fmt::format("{} {} {} {} {} {}", shell_word(o_.python), script,
                    o_.runner, rounds_of(o_), kSecondsPerRound, num_threads());
    for (size_t i = 0; i < models.size(); ++i) {
      export_(*models[i], folder.file(i, ".onnx"));
      command += ' ' + folder.file(i, ".onnx");
    }
    return rows_of(run_shell(command));
  }

 private:
  quant::LatencyRounds rows_of(const ShellResult& result) const {
    constexpr int kMissingPackage = 4, kRejected = 5;
    if (result.exit_code == kNotFound) {
      throw NotFoundError("unknown_program", "--python",
                          fmt::format("'{}' not found. Hint: --python PATH of "
                                      "a Python with {}",
                                      o_.python, o_.runner));
    }
    if (result.exit_code == kMissingPackage) {
      throw NotFoundError(
          "missing_package", "--runner",
          fmt::format("'{}' lacks a package: {}. Hint: {} -m pip install {}, "
                      "or --python PATH of a Python with {}",
                      o_.python, last_lines(result.output, 1), o_.python,
                      o_.runner, o_.runner));
    }
    if (result.exit_code == kRejected) {
      throw UnsupportedError("runner_rejected_file", o_.runner,
                             last_lines(result.output, 1));
    }
    const size_t begin = result.output.rfind("{\"milliseconds\"");
    if (result.exit_code != 0 || begin == std::string::npos) {
      throw IoError("runner_failed", o_.runner,
                    fmt::format("exit code {}: {}", result.exit_code,
                                last_lines(result.output)));
    }
    const Config printed = io::from_json(
        result.output.substr(begin, result.output.find('\n', begin) - begin));
    quant::LatencyRounds rows;
    for (const Config& row : printed.at("milliseconds").as_list()) {
      std::vector<double>& values = rows.emplace_back();
      for (const Config& value : row.as_list()) {
        values.push_back(value.as_number());
      }
    }
    return rows;
  }

  RunnerOptions o_;
  ExportForRunner export_;
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// A host that ssh reaches.
struct Remote {
  std::string host;
  std::string ssh;  ///< "ssh -p 2222"
  std::string scp;  ///< "scp -P 2222"
};

/// Returns the host of "ssh [OPTIONS] HOST COMMAND", or nothing for another
/// command line.
std::optional<Remote> remote_of(const std::string& runner) {
  // Options of ssh(1) with an argument.
  constexpr std::string_view kWithValue = "BbcDEeFIiJLlmOopQRSWw";
  const std::vector<std::string> words = words_of(runner);
  if (words.empty() || fs::path(words[0]).filename() != "ssh") return {};
  Remote remote{
      .host = "",
      .ssh = words[0],
      .scp = (fs::path(words[0]).parent_path() / "scp").string() + " -q"};
  size_t i = 1;
  for (; i < words.size() && words[i].starts_with('-'); ++i) {
    const std::string& option = words[i];
    remote.ssh += ' ' + option;
    const bool is_port = option.starts_with("-p");
    std::string copied = is_port ? "-P" + option.substr(2) : option;
    if (option == "-l" && i + 1 < words.size()) copied = "-o User=";
    const bool has_value = option.size() == 2 &&
                           kWithValue.find(option[1]) != std::string_view::npos;
    if (has_value && i + 1 < words.size()) {
      remote.ssh += ' ' + words[++i];
      copied += (option == "-l" ? "" : " ") + words[i];
    }
    // Terminal and forwarding switches do not apply to scp.
    if (is_port || has_value) remote.scp += ' ' + copied;
  }
  if (i + 1 >= words.size()) {
    throw ValueError(
        "invalid_value", "--runner",
        fmt::format("ssh needs a host and a command, such as \"ssh "
                    "jetson trtexec\", got \"{}\"",
                    runner));
  }
  remote.host = words[i];
  return remote;
}

/// A command line of trtexec, on this machine or another.
class TrtexecRunner {
 public:
  TrtexecRunner(RunnerOptions options, ExportForRunner export_model)
      : o_(std::move(options)),
        export_(std::move(export_model)),
        remote_(remote_of(o_.runner)) {}

  quant::LatencyRounds operator()(
      const std::vector<const Model*>& models) const {
    const RunnerFolder folder;
    std::vector<std::string> built, loaded;
    std::vector<std::string> copies;
    const Cleanup cleanup{remote_, copies};
    for (size_t i = 0; i < models.size(); ++i) {
      const std::string onnx = folder.file(i, ".onnx");
      export_(*models[i], onnx);
      const std::string there =
          remote_ ? fmt::format("/tmp/{}.{}", folder.name(), i)
                  : folder.file(i, "");
      if (remote_) {
        copies.push_back(there);
        expect_success(run_shell(fmt::format(
                           "{} {} {}", remote_->scp, onnx,
                           shell_word(remote_->host + ":" + there + ".onnx"))),
                       "scp");
      }
      const std::string flags = precision(quant::is_quantized(*models[i]));
      built.push_back(fmt::format("{} --onnx={}.onnx --saveEngine={}.engine{}",
                                  o_.runner, there, there, flags));
      loaded.push_back(
          fmt::format("{} --loadEngine={}.engine", o_.runner, there));
    }
    quant::LatencyRounds rows;
    for (int64_t round = 0; round < rounds_of(o_); ++round) {
      std::vector<double>& row = rows.emplace_back();
      for (size_t i = 0; i < models.size(); ++i) {
        const ShellResult result = run_shell(round == 0 ? built[i] : loaded[i]);
        expect_success(result, o_.runner);
        row.push_back(trtexec_median(result.output, o_.runner));
      }
    }
    return rows;
  }

 private:
  /// Removes the files on the other machine.
  struct Cleanup {
    const std::optional<Remote>& remote;
    const std::vector<std::string>& files;
    ~Cleanup() {
      if (!remote || files.empty()) return;
      std::string command =
          fmt::format("{} {} rm -f", remote->ssh, remote->host);
      for (const std::string& file : files) {
        command += fmt::format(" {0}.onnx {0}.engine", file);
      }
      try {
        (void)run_shell(command);
      } catch (const Error&) {
        // The folder is temporary.
      }
    }
  };

  std::string precision(bool quantized) const {
    if (o_.target == "tensorrt8") {
      return quantized ? " --int8 --fp16" : " --fp16";
    }
    return o_.target == "tensorrt10" ? " --stronglyTyped" : "";
  }

  void expect_success(const ShellResult& result,
                      const std::string& program) const {
    constexpr int kSshFailed = 255;
    if (result.exit_code == 0) return;
    if (result.exit_code == kNotFound) {
      throw NotFoundError(
          "unknown_program", "--runner",
          fmt::format("\"{}\" not found: {}. Hint: give its path, such as "
                      "/usr/src/tensorrt/bin/trtexec, or session, onnxruntime, "
                      "openvino",
                      program, last_lines(result.output, 1)));
    }
    if (remote_ && (program == "scp" || result.exit_code == kSshFailed)) {
      throw IoError("ssh_failed", "--runner",
                    fmt::format("cannot reach '{}': {}. Hint: \"{} {} true\" "
                                "must work without a password",
                                remote_->host, last_lines(result.output),
                                remote_->ssh, remote_->host));
    }
    throw UnsupportedError("runner_rejected_file", program,
                           fmt::format("exit code {}: {}", result.exit_code,
                                       last_lines(result.output)));
  }

  RunnerOptions o_;
  ExportForRunner export_;
  std::optional<Remote> remote_;
};

bool is_python(const std::string& runner) {
  return runner == "onnxruntime" || runner == "openvino";
}

/// Throws: ValueError for a runner of another runtime than the target.
void check_runner(const RunnerOptions& o) {
  if (words_of(o.runner).empty()) {
    throw ValueError("missing_value", "--runner",
                     "needs a program. Hint: session, onnxruntime, openvino, "
                     "trtexec or \"ssh HOST trtexec\"");
  }
  const bool tensorrt = o.target.starts_with("tensorrt");
  const bool matches = o.runner == "session" || o.target == "any" ||
                       (is_python(o.runner) ? o.target == o.runner : true);
  const bool is_trtexec = o.runner.find("trtexec") != std::string::npos;
  if (matches && (!is_trtexec || tensorrt || o.target == "any")) return;
  throw ValueError(
      "conflicting_options", "--runner",
      fmt::format("\"{}\" does not measure --target {}. Hint: {}", o.runner,
                  o.target,
                  tensorrt ? "--runner trtexec or \"ssh HOST trtexec\""
                           : fmt::format("--runner {}", o.target)));
}

}  // namespace

int64_t rounds_of(const RunnerOptions& o) {
  // Each round of a command line starts a program.
  constexpr int64_t kInProcess = 15, kByCommand = 5;
  if (o.rounds > 0) return o.rounds;
  return o.runner == "session" || is_python(o.runner) ? kInProcess : kByCommand;
}

double trtexec_median(const std::string& output, const std::string& runner) {
  constexpr std::string_view kLine = "GPU Compute Time:", kMedian = "median = ";
  const size_t line = output.rfind(kLine);
  const size_t end = std::min(output.find('\n', line), output.size());
  const size_t at = line == std::string::npos ? std::string::npos
                                              : output.find(kMedian, line);
  double median = 0;
  if (at < end) {
    const char* const begin = output.data() + at + kMedian.size();
    const auto [rest, error] =
        std::from_chars(begin, output.data() + end, median);
    if (error == std::errc() && median > 0 &&
        std::string_view(rest, output.data() + end).starts_with(" ms")) {
      return median;
    }
  }
  throw IoError(
      "runner_without_latency", runner,
      fmt::format(
          "printed no line \"GPU Compute Time: ..., median = N ms\"{}",
          output.empty() ? "" : "; it ends with: " + last_lines(output)));
}

quant::MeasureLatencies latency_runner(const RunnerOptions& o,
                                       ExportForRunner export_model) {
  check_runner(o);
  if (o.runner == "session") {
    return [o](const std::vector<const Model*>& models) {
      return in_sessions(models, rounds_of(o), o.session);
    };
  }
  if (is_python(o.runner)) return PythonRunner(o, std::move(export_model));
  return TrtexecRunner(o, std::move(export_model));
}

}  // namespace octet::program
