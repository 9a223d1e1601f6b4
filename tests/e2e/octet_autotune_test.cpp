// octet autotune: runners, state, files, errors.
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/data.h>
#include <octet/io/json.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/runtime/file.h>
#include <octet/runtime/rng.h>

#include "command.h"

namespace octet {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

/// Two equal residual blocks and a head.
Model blocks() {
  const SymbolicTensor image = input({8, 8, 4}, "image");
  SymbolicTensor x = image;
  for (const char* name : {"a", "b"}) {
    const std::string n = name;
    SymbolicTensor y = Conv2D({.filters = 4,
                               .kernel_size = 3,
                               .padding = Padding::same,
                               .activation = "relu",
                               .name = n + "_1"})(x);
    y = Conv2D({.filters = 4,
                .kernel_size = 3,
                .padding = Padding::same,
                .name = n + "_2"})(y);
    x = ReLU({.name = n + "_relu"})(Add({.name = n + "_add"})({x, y}));
  }
  x = Dense({.units = 3, .activation = "softmax", .name = "head"})(
      Flatten({.name = "flatten"})(x));
  return Model(image, x, {.seed = 2});
}

/// Two layers without a choice but Q/DQ or none.
Model chain() {
  const SymbolicTensor image = input({8, 8, 4}, "image");
  SymbolicTensor x = Conv2D(
      {.filters = 4, .kernel_size = 3, .activation = "relu", .name = "conv"})(
      image);
  x = Flatten({.name = "flatten"})(x);
  return Model(image, Dense({.units = 3, .name = "head"})(x), {.seed = 2});
}

/// A stand-in for trtexec. Its latency depends on the number Q of pairs in the
/// file: `milliseconds` is an expression of awk in q. Engines store q. All
/// calls are logged.
std::string trtexec_of(const std::string& milliseconds) {
  return R"(#!/bin/sh
echo "$@" >> "$(dirname "$0")/calls.txt"
for a in "$@"; do
  case "$a" in
    --onnx=*) q=$(grep -ao QuantizeLinear "${a#--onnx=}" | wc -l) ;;
    --saveEngine=*) engine="${a#--saveEngine=}" ;;
    --loadEngine=*) q=$(cat "${a#--loadEngine=}") || exit 1 ;;
  esac
done
if [ -n "$engine" ]; then echo "$q" > "$engine"; fi
t=$(awk "BEGIN { q = $q; printf \"%.4f\", ()" +
         milliseconds + R"() }")
echo "[01/02/2026-03:04:05] [I] === Performance summary ==="
echo "[I] Latency: min = 9 ms, max = 9 ms, mean = 9 ms, median = 9 ms"
echo "[I] GPU Compute Time: min = $t ms, max = 99 ms, mean = 50 ms, median = $t ms, percentile(90%) = 99 ms"
echo "&&&& PASSED TensorRT.trtexec [TensorRT v100300]"
)";
}

class OctetAutotune : public ::testing::Test {
 protected:
  OctetAutotune() {
    io::save_model(blocks(), folder_ / "in.h5");
    io::save_model(chain(), folder_ / "chain.h5");
    Tensor x({40, 8, 8, 4});
    Rng(1).fill_uniform(x, -1, 1);
    io::write_npy(folder_ / "x.npy", x);
  }
  void script(const char* name, const std::string& text) const {
    write_file(folder_ / name, text);
    fs::permissions(folder_ / name, fs::perms::owner_all);
  }
  CommandResult run(const std::string& arguments) const {
    return run_command(
        fmt::format("cd {0} && PATH={0}:$PATH {1}/octet {2} 2>&1",
                    quoted(folder_.path()), OCTET_BIN, arguments));
  }
  CommandResult tune(const std::string& options,
                     const char* target = "tensorrt10",
                     const char* model = "in.h5") const {
    return run(fmt::format(
        "autotune {} --data x.npy --method max --accept --target {} -o "
        "out.onnx {}",
        model, target, options));
  }
  /// Runs with an error, before anything is written.
  Failure refusal(const std::string& options,
                  const char* target = "tensorrt10") const {
    const CommandResult r = tune(options, target);
    EXPECT_EQ(r.exit_code, 1) << r.output;
    EXPECT_FALSE(fs::exists(folder_ / "out.onnx"));
    return r.failure;
  }
  std::string bytes(const char* file) const {
    return read_file(folder_ / file);
  }
  size_t pairs(const char* file) const {
    return io::inspect_onnx(folder_ / file).qdq_pairs.size();
  }

  TempFolder folder_;
};

TEST_F(OctetAutotune, SelectsByTheClockOfTrtexec) {
  ASSERT_EQ(run("quantize chain.h5 --data x.npy --method max --accept --target "
                "tensorrt10 -o default.onnx")
                .exit_code,
            0);
  script("trtexec", trtexec_of("2 - 0.1 * q"));
  CommandResult r = tune("--runner trtexec", "tensorrt10", "chain.h5");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("selected: planned"));
  EXPECT_TRUE(bytes("out.onnx") == bytes("default.onnx"));
  EXPECT_THAT(bytes("out.plan.json"), HasSubstr(" -> "));
  EXPECT_THAT(bytes("calls.txt"),
              AllOf(HasSubstr("--stronglyTyped"), HasSubstr("--loadEngine=")));

  script("trtexec", trtexec_of("2 + 0.02 * q"));
  r = tune("--runner trtexec --restart");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("selected: float"));
  EXPECT_EQ(pairs("out.onnx"), 0u);

  // More than 11 pairs cost, fewer gain.
  script("trtexec", trtexec_of("q > 11 ? 5 : 2 - 0.1 * q"));
  r = tune("--runner ./trtexec --restart --json");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  const Config json = r.json();
  EXPECT_LE(json.at("latency_ms").as_number(),
            json.at("planned_latency_ms").as_number());
  EXPECT_LE(json.at("latency_ms").as_number(),
            json.at("float_latency_ms").as_number());
}

TEST_F(OctetAutotune, RunsOnAnotherMachine) {
  script("trtexec", trtexec_of("2 - 0.1 * q"));
  script("ssh", R"(#!/bin/sh
echo "ssh $@" >> "$(dirname "$0")/remote.txt"
[ "$1" = -p ] && shift 2
[ "$1" = jetson ] || { echo "ssh: unknown host $1" >&2; exit 255; }
shift
exec sh -c "$*"
)");
  script("scp", R"(#!/bin/sh
echo "scp $@" >> "$(dirname "$0")/remote.txt"
while [ $# -gt 2 ]; do shift; done
case "$2" in
  jetson:*) cp "$1" "${2#jetson:}" ;;
  *) echo "scp: unknown host" >&2; exit 1 ;;
esac
)");
  const CommandResult r = tune("--runner 'ssh -p 2222 jetson trtexec --fp16'",
                               "tensorrt10", "chain.h5");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("selected: planned"));
  const std::string log = bytes("remote.txt");
  EXPECT_THAT(log, AllOf(HasSubstr("scp -q -P 2222 "),
                         HasSubstr("ssh -p 2222 jetson trtexec --fp16 --onnx="),
                         HasSubstr("ssh -p 2222 jetson rm -f /tmp/")));
  // Nothing is left on the other machine.
  for (size_t at = log.find("jetson:/tmp/"); at != log.npos;
       at = log.find("jetson:/tmp/", at + 1)) {
    const size_t from = at + 7;
    EXPECT_FALSE(fs::exists(log.substr(from, log.find('\n', from) - from)));
  }
  fs::remove(folder_ / "out.onnx");
  const Failure unknown = refusal("--runner 'ssh orin trtexec' --state o.json");
  EXPECT_EQ(unknown.code, "ssh_failed");
  EXPECT_THAT(unknown.message, HasSubstr("orin"));
  EXPECT_EQ(refusal("--runner 'ssh jetson'").code, "invalid_value");
  EXPECT_EQ(refusal("--runner 'ssh jetson no_trtexec' --state n.json").code,
            "unknown_program");
}

TEST_F(OctetAutotune, RefusesRunnersThatDoNotMeasure) {
  EXPECT_EQ(refusal("--runner no_trtexec").code, "unknown_program");
  script("trtexec", "#!/bin/sh\nexit 0\n");
  EXPECT_EQ(refusal("--runner trtexec").code, "runner_without_latency");
  script("trtexec", "#!/bin/sh\necho 'GPU Compute Time: median = nan ms'\n");
  EXPECT_EQ(refusal("--runner trtexec").code, "runner_without_latency");
  script("trtexec", "#!/bin/sh\necho '[E] no kernel image'\nexit 3\n");
  const Failure failed = refusal("--runner trtexec");
  EXPECT_EQ(failed.code, "runner_rejected_file");
  EXPECT_THAT(failed.message,
              AllOf(HasSubstr("no kernel image"), HasSubstr("3")));
  EXPECT_EQ(refusal("--runner ''").code, "missing_value");
  EXPECT_EQ(refusal("--runner onnxruntime").code, "conflicting_options");
  EXPECT_EQ(refusal("--runner openvino", "onnxruntime").code,
            "conflicting_options");
  EXPECT_EQ(refusal("--runner trtexec", "openvino").code,
            "conflicting_options");
  EXPECT_EQ(
      refusal("--runner onnxruntime --python no_python", "onnxruntime").subject,
      "--python");
  script("python", "#!/bin/sh\necho \"No module named 'openvino'\"\nexit 4\n");
  const Failure missing =
      refusal("--runner openvino --python ./python", "openvino");
  EXPECT_EQ(missing.code, "missing_package");
  EXPECT_THAT(missing.message, HasSubstr("pip install openvino"));
  EXPECT_FALSE(fs::exists(folder_ / "out.autotune.json"));
}

TEST_F(OctetAutotune, RefusesModelsAndOptions) {
  script("trtexec", trtexec_of("2 - 0.02 * q"));
  ASSERT_EQ(run("quantize in.h5 --data x.npy --method max --target tensorrt10 "
                "-o int8.onnx")
                .exit_code,
            0);
  const CommandResult quantized =
      run("autotune int8.onnx --data x.npy --target tensorrt10 --runner "
          "trtexec -o out.onnx");
  EXPECT_EQ(quantized.failure.code, "already_quantized") << quantized.output;
  const CommandResult no_target =
      run("autotune in.h5 --data x.npy --runner session -o out.onnx");
  EXPECT_EQ(no_target.failure.subject, "--target");
  EXPECT_EQ(refusal("--runner trtexec --format fp8").subject, "--format");
  EXPECT_EQ(refusal("--runner trtexec --state out.plan.json").subject,
            "--state");
  EXPECT_EQ(run("autotune in.h5 --data x.npy --target any --runner session -o "
                "out.tflite")
                .exit_code,
            2);
}

TEST_F(OctetAutotune, ContinuesAndRefusesOtherStates) {
  script("trtexec", trtexec_of("q > 11 ? 5 : 2 - 0.1 * q"));
  ASSERT_EQ(tune("--runner trtexec").exit_code, 0);
  const std::string first = bytes("out.onnx"), plan = bytes("out.plan.json");
  const std::string state = bytes("out.autotune.json");
  // Interrupted after two measurements: the rest is measured.
  Config config = io::from_json(state);
  Config inner = config.at("state");
  Config::List measurements = inner.at("measurements").as_list();
  ASSERT_GT(measurements.size(), 3u);
  measurements.resize(2);
  inner.set("measurements", measurements);
  config.set("state", inner);
  write_file(folder_ / "out.autotune.json", io::to_json(config));
  CommandResult r = tune("--runner trtexec");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, HasSubstr("continues after 2 measurements"));
  EXPECT_TRUE(bytes("out.onnx") == first);
  EXPECT_EQ(bytes("out.plan.json"), plan);
  // Complete: nothing is measured.
  fs::remove(folder_ / "trtexec");
  ASSERT_EQ(tune("--runner trtexec").exit_code, 0);
  EXPECT_EQ(bytes("out.plan.json"), plan);

  const auto code = [&](const std::string& options,
                        const char* target = "tensorrt10") {
    const CommandResult refused = tune(options, target);
    EXPECT_EQ(refused.exit_code, 1) << refused.output;
    EXPECT_THAT(refused.failure.message, HasSubstr("--restart"));
    EXPECT_TRUE(bytes("out.onnx") == first);
    return refused.failure.code;
  };
  EXPECT_EQ(code("--runner trtexec", "tensorrt11"), "state_mismatch");
  EXPECT_EQ(code("--runner 'trtexec --fp16'"), "state_mismatch");
  EXPECT_EQ(code("--runner trtexec --rounds 9"), "state_mismatch");
  for (const std::string& damaged :
       {state.substr(0, state.size() / 2), std::string("{\"version\": 1}"),
        std::string("{\"version\": 7}"), std::string("[]"), std::string()}) {
    write_file(folder_ / "out.autotune.json", damaged);
    EXPECT_EQ(code("--runner trtexec"), "invalid_state")
        << damaged.substr(0, 20);
    EXPECT_EQ(bytes("out.autotune.json"), damaged);
  }
}

TEST_F(OctetAutotune, SensitivityListsLatenciesOfAnEngine) {
  write_file(folder_ / "p.json", R"([{"count": 9}
, {"name": "conv", "timeMs": 9, "averageMs": 1, "medianMs": 0.75}
, {"name": "head", "timeMs": 9, "averageMs": 1, "medianMs": 0.25}])");
  const std::string command =
      "sensitivity chain.h5 --data x.npy --method max --profile ";
  const CommandResult r = run(command + "p.json");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_THAT(r.output, AllOf(HasSubstr("75.0 %"), HasSubstr("engine: 1 ms")));
  const Config json = run(command + "p.json --json").json();
  EXPECT_EQ(json.at("latency").at("layers").as_list().size(), 2u);
  write_file(folder_ / "l.json", "{}");
  EXPECT_EQ(run(command + "p.json --layers l.json").failure.code,
            "invalid_profile");
  EXPECT_EQ(run(command + "none.json").exit_code, 1);
  EXPECT_EQ(run("sensitivity chain.h5 --data x.npy --layers l.json").exit_code,
            2);
}

TEST_F(OctetAutotune, MeasuresSessionsAndPythonPackages) {
  const CommandResult r =
      tune("--runner session --rounds 3 --json", "any", "chain.h5");
  ASSERT_EQ(r.exit_code, 0) << r.output;
  EXPECT_GT(r.json().at("latency_ms").as_number(), 0);
  const fs::path python =
      fs::path(OCTET_SOURCE_DIR) / "build" / "venv" / "bin" / "python";
  if (!fs::exists(python)) GTEST_SKIP() << "no build/venv";
  for (const char* runner : {"onnxruntime", "openvino"}) {
    const CommandResult found =
        run_command(fmt::format("{} -c 'import {}'", quoted(python), runner));
    if (found.exit_code != 0) continue;
    const CommandResult measured =
        tune(fmt::format("--runner {} --python {} --rounds 3 --restart", runner,
                         quoted(python)),
             runner);
    ASSERT_EQ(measured.exit_code, 0) << measured.output;
    EXPECT_THAT(measured.output, HasSubstr("selected: "));
  }
}

}  // namespace
}  // namespace octet
