// The C API: results, errors, threads.
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/c/octet_session.h>
#include <octet/runtime/system.h>
#include <octet/session/detail/session_file.h>

#include "session_files.h"

namespace octet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CApi : public testing::Test {
 protected:
  CApi() : model_(calibrated(two_branches())) {
    const std::string bytes = session::session_file_bytes(model_);
    EXPECT_EQ(octet_session_load_bytes(bytes.data(), bytes.size(), nullptr,
                                       &session_),
              OCTET_OK)
        << octet_last_error();
  }
  ~CApi() override { octet_session_free(session_); }

  // Inputs and outputs of `samples` samples.
  struct Memory {
    Memory(const CApi& api, int64_t samples)
        : right(noise({samples, 7, 5, 3}, 7)),
          left(noise({samples, 7, 5, 3}, 8)) {
      inputs = {buffer(right), buffer(left)};
      for (const TensorSpec& y : api.outputs()) {
        outputs.emplace_back(static_cast<size_t>(samples * y.shape.size()),
                             std::numeric_limits<float>::quiet_NaN());
      }
      for (auto& y : outputs) {
        output_buffers.push_back({y.data(), y.size() * sizeof(float)});
      }
    }
    static octet_buffer buffer(Tensor& t) {
      return {t.raw(), static_cast<size_t>(t.bytes())};
    }
    std::vector<std::vector<uint32_t>> bits_of_outputs() const {
      std::vector<std::vector<uint32_t>> result;
      for (const auto& y : outputs) {
        std::memcpy(result.emplace_back(y.size()).data(), y.data(),
                    y.size() * sizeof(float));
      }
      return result;
    }
    Tensor right, left;
    std::vector<octet_buffer> inputs, output_buffers;
    std::vector<std::vector<float>> outputs;
  };
  static std::vector<TensorSpec> outputs() {
    return InferenceSession(two_branches()).outputs();
  }
  octet_status run_into(int64_t samples, const Memory& memory) const {
    return octet_session_run_into(session_, samples, memory.inputs.data(), 2,
                                  memory.output_buffers.data(), 2);
  }

  Model model_;
  octet_session* session_ = nullptr;
};

TEST_F(CApi, NamesItsVersion) {
  EXPECT_STREQ(octet_version(), version());
  EXPECT_EQ(octet_api_version(), OCTET_API_VERSION);
}

TEST_F(CApi, DescribesInputsAndOutputs) {
  EXPECT_EQ(octet_session_input_count(session_), 2u);
  EXPECT_EQ(octet_session_output_count(session_), 2u);
  octet_tensor_info info{};
  info.size = sizeof(info);
  ASSERT_EQ(octet_session_input(session_, 0, &info), OCTET_OK);
  EXPECT_STREQ(info.name, "right");
  EXPECT_EQ(info.dtype, OCTET_F32);
  ASSERT_EQ(info.rank, 4);
  EXPECT_THAT(std::vector(info.shape, info.shape + 4),
              ElementsAre(-1, 7, 5, 3));
  EXPECT_EQ(info.sample_bytes, 7u * 5 * 3 * 4);
  ASSERT_EQ(octet_session_output(session_, 0, &info), OCTET_OK);
  EXPECT_STREQ(info.name, "logits");
  EXPECT_EQ(octet_session_output(session_, 2, &info), OCTET_ERROR_NOT_FOUND);
}

TEST_F(CApi, ComputesTheBitsOfTheModel) {
  for (const int64_t samples : {1, 3}) {
    Memory memory(*this, samples);
    ASSERT_EQ(run_into(samples, memory), OCTET_OK) << octet_last_error();
    EXPECT_EQ(memory.bits_of_outputs(), forward_bits(model_, samples));

    octet_result* result = nullptr;
    ASSERT_EQ(
        octet_session_run(session_, samples, memory.inputs.data(), 2, &result),
        OCTET_OK);
    for (size_t i = 0; i < 2; ++i) {
      const octet_buffer y = octet_result_output(result, i);
      ASSERT_EQ(y.bytes, memory.output_buffers[i].bytes);
      EXPECT_EQ(std::memcmp(y.data, memory.output_buffers[i].data, y.bytes), 0);
    }
    EXPECT_EQ(octet_result_output(result, 2).data, nullptr);
    octet_result_free(result);
  }
}

TEST_F(CApi, ServesSeveralThreads) {
  const auto expected = forward_bits(model_, 2);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int run = 0; run < 20; ++run) {
        Memory memory(*this, 2);
        ASSERT_EQ(run_into(2, memory), OCTET_OK);
        EXPECT_EQ(memory.bits_of_outputs(), expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CApi, ReportsWrongBuffers) {
  Memory memory(*this, 2);
  EXPECT_EQ(run_into(3, memory), OCTET_ERROR_SHAPE);
  EXPECT_STREQ(octet_last_error_code(), "shape_mismatch");
  EXPECT_THAT(octet_last_error(), HasSubstr("'logits'"));
  EXPECT_EQ(run_into(0, memory), OCTET_ERROR_VALUE);
  EXPECT_EQ(run_into(std::numeric_limits<int64_t>::max(), memory),
            OCTET_ERROR_SHAPE);
  memory.inputs[1].bytes -= 4;
  EXPECT_EQ(run_into(2, memory), OCTET_ERROR_SHAPE);
  memory.inputs[1] = {nullptr, 2 * 7 * 5 * 3 * 4};
  EXPECT_EQ(run_into(2, memory), OCTET_ERROR_VALUE);
  EXPECT_EQ(octet_session_run_into(session_, 2, memory.inputs.data(), 1,
                                   memory.output_buffers.data(), 2),
            OCTET_ERROR_VALUE);
}

TEST_F(CApi, ReportsNaN) {
  Memory memory(*this, 1);
  memory.right.f32()[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(run_into(1, memory), OCTET_ERROR_VALUE);
  EXPECT_STREQ(octet_last_error_code(), "not_finite");
}

TEST_F(CApi, ReportsWrongArguments) {
  octet_session* session = nullptr;
  EXPECT_EQ(octet_session_load(nullptr, nullptr, &session), OCTET_ERROR_VALUE);
  EXPECT_EQ(octet_session_load("/nowhere.octet", nullptr, &session),
            OCTET_ERROR_IO);
  EXPECT_THAT(octet_last_error(), HasSubstr("/nowhere.octet"));
  EXPECT_EQ(octet_session_load_bytes("abc", 3, nullptr, &session),
            OCTET_ERROR_FORMAT);
  octet_session_options options{};
  EXPECT_EQ(octet_session_load_bytes("abc", 3, &options, &session),
            OCTET_ERROR_VALUE);
  EXPECT_THAT(octet_last_error(), HasSubstr("sizeof(octet_session_options)"));
  EXPECT_EQ(session, nullptr);
  octet_tensor_info info{};
  info.size = sizeof(info);
  EXPECT_EQ(octet_session_input(nullptr, 0, &info), OCTET_ERROR_VALUE);
  EXPECT_EQ(octet_session_input(session_, 0, nullptr), OCTET_ERROR_VALUE);
  EXPECT_EQ(octet_session_input_count(nullptr), 0u);
  octet_session_free(nullptr);
  octet_result_free(nullptr);
}

// Programs of an earlier version have shorter structures.
TEST_F(CApi, AcceptsShorterStructures) {
  octet_tensor_info info{};
  info.size = sizeof(size_t) + sizeof(char*);
  info.rank = 77;
  ASSERT_EQ(octet_session_input(session_, 1, &info), OCTET_OK);
  EXPECT_STREQ(info.name, "left");
  EXPECT_EQ(info.rank, 77);

  const std::string bytes = session::session_file_bytes(model_);
  octet_session_options options{};
  options.size = 2 * sizeof(size_t);
  options.max_batch = 1;
  options.memory_limit = 1;  // beyond the size
  octet_session* session = nullptr;
  ASSERT_EQ(
      octet_session_load_bytes(bytes.data(), bytes.size(), &options, &session),
      OCTET_OK);
  Memory memory(*this, 2);
  EXPECT_EQ(octet_session_run_into(session, 2, memory.inputs.data(), 2,
                                   memory.output_buffers.data(), 2),
            OCTET_ERROR_VALUE);
  octet_session_free(session);
}

}  // namespace
}  // namespace octet
